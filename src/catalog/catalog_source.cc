#include "catalog/catalog_source.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

namespace weft::lab {
namespace {

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\' || c == '?') out += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      out += fmt::format("\\{:03o}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string enumerator(CatalogKind kind) {
  std::string name(to_string(kind));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return "CatalogKind::k" + name;
}

// An array whose elements entries refer to by their place in it.
struct Array {
  std::string elements;
  std::size_t size = 0;

  void add(const std::string& element) {
    elements += "    " + element + ",\n";
    ++size;
  }
  std::string definition(std::string_view type, std::string_view name) const {
    return fmt::format("constexpr {} {}[] = {{\n{}}};\n", type, name, elements);
  }
};

std::string part(std::string_view array, std::size_t first, std::size_t count) {
  return count == 0 ? "{}" : fmt::format("{{{} + {}, {}}}", array, first, count);
}

class Writer {
 public:
  void add(const CatalogEntry& entry) {
    const std::size_t first_row = rows_.size;
    for (const CatalogRow& row : entry.rows) {
      rows_.add(fmt::format("{{{}, {}, {}, {}, {}}}", literal(row.field), literal(row.value), literal(row.source),
                            literal(row.tag), row.number));
    }
    const std::string link_rates = rates(entry.link_rates_bps);
    const std::size_t first_port = ports_.size;
    for (const CatalogPorts& ports : entry.ports)
      ports_.add(fmt::format("{{{}, {}, {}}}", ports.count, rates(ports.rates_bps), ports.lanes));
    entries_.add(fmt::format("{{{}, {}, {}, {}, {}, {}}}", enumerator(entry.kind), literal(entry.name),
                             literal(entry.description), part("kRows", first_row, entry.rows.size()), link_rates,
                             part("kPorts", first_port, entry.ports.size())));
  }

  std::string source() const {
    return "// Written by catalog_compiler from catalog/*.yaml.\n#include \"catalog/catalog.h\"\n\n"
           "namespace weft::lab {\nnamespace {\n\n" +
           rates_.definition("std::int64_t", "kRates_bps") + rows_.definition("CatalogRow", "kRows") +
           ports_.definition("CatalogPorts", "kPorts") + entries_.definition("CatalogEntry", "kEntries") +
           "\n}  // namespace\n\nconst Catalog& Catalog::built_in() {\n  static const Catalog catalog(kEntries);\n"
           "  return catalog;\n}\n\n}  // namespace weft::lab\n";
  }

 private:
  std::string rates(std::span<const std::int64_t> rates_bps) {
    const std::size_t first = rates_.size;
    for (std::int64_t rate_bps : rates_bps) rates_.add(std::to_string(rate_bps));
    return part("kRates_bps", first, rates_bps.size());
  }

  Array rates_, rows_, ports_, entries_;
};

}  // namespace

std::string catalog_source(const Catalog& catalog) {
  Writer writer;
  for (const CatalogEntry& entry : catalog.entries()) writer.add(entry);
  return writer.source();
}

}  // namespace weft::lab
