#include "export/parquet_page.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "export/thrift.h"

namespace weft::exports {

namespace {

// parquet.thrift: PageType.
constexpr std::int32_t kDataPage = 0, kDictionaryPage = 2;
// A dictionary pays when values repeat: at most this share of distinct ones, and no more than fit a small index.
constexpr std::size_t kLeastRepeats = 4;
constexpr std::size_t kMostEntries = 1 << 15;

void append_little_endian(std::string& out, std::uint64_t value, unsigned size_B) {
  for (unsigned i = 0; i < size_B; ++i) out += static_cast<char>(value >> 8 * i);
}

// PLAIN: 8 bytes of a number, or a length of 4 bytes and the text.
std::string plain(const Cell& cell) {
  std::string out;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    append_little_endian(out, static_cast<std::uint64_t>(*integer), 8);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    append_little_endian(out, std::bit_cast<std::uint64_t>(*real), 8);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    append_little_endian(out, text->size(), 4);
    out += *text;
  }
  return out;
}

std::string page(std::int32_t type, const std::string& body, std::size_t values, std::int32_t encoding) {
  ThriftWriter header;
  header.field(1, type);
  header.field(2, static_cast<std::int32_t>(body.size()));
  header.field(3, static_cast<std::int32_t>(body.size()));
  header.begin_struct(type == kDataPage ? 5 : 7);
  header.field(1, static_cast<std::int32_t>(values));
  header.field(2, encoding);
  if (type == kDataPage) {
    header.field(3, kRle);
    header.field(4, kRle);
  }
  header.end_struct();
  return header.finish() + body;
}

struct Dictionary {
  std::vector<std::uint32_t> indices;
  std::string entries;
  std::size_t size = 0;
};

// Nothing when values repeat too little.
std::optional<Dictionary> dictionary_of(const std::vector<const Cell*>& present) {
  Dictionary dictionary;
  std::map<Cell, std::uint32_t> index;
  for (const Cell* cell : present) {
    const auto [at, is_new] = index.try_emplace(*cell, static_cast<std::uint32_t>(index.size()));
    if (is_new) dictionary.entries += plain(*cell);
    if (index.size() > kMostEntries) return std::nullopt;
    dictionary.indices.push_back(at->second);
  }
  dictionary.size = index.size();
  if (index.size() * kLeastRepeats > present.size()) return std::nullopt;
  return dictionary;
}

}  // namespace

std::string encode_hybrid(const std::vector<std::uint32_t>& values, unsigned width) {
  std::string out;
  std::vector<std::uint32_t> pending;
  const auto flush = [&] {
    if (pending.empty()) return;
    pending.resize((pending.size() + 7) / 8 * 8);
    append_varint(out, pending.size() / 8 << 1 | 1);
    std::uint64_t bits = 0;
    unsigned held = 0;
    for (std::uint32_t value : pending) {
      bits |= std::uint64_t{value} << held;
      for (held += width; held >= 8; held -= 8, bits >>= 8) out += static_cast<char>(bits);
    }
    pending.clear();
  };
  for (std::size_t i = 0; i < values.size();) {
    std::size_t run = 1;
    while (i + run < values.size() && values[i + run] == values[i]) ++run;
    if (pending.size() % 8 == 0 && run >= 8) {
      flush();
      append_varint(out, run << 1);
      append_little_endian(out, values[i], (width + 7) / 8);
      i += run;
    } else {
      pending.push_back(values[i++]);
    }
  }
  flush();
  return out;
}

ColumnPages encode_column(CellType type, const std::vector<Cell>& cells) {
  std::vector<const Cell*> present;
  std::vector<std::uint32_t> levels;
  for (const Cell& cell : cells) {
    const bool is_null = std::holds_alternative<std::monostate>(cell);
    levels.push_back(is_null ? 0 : 1);
    if (!is_null) present.push_back(&cell);
  }
  std::string body;
  const std::string defined = encode_hybrid(levels, 1);
  append_little_endian(body, defined.size(), 4);
  body += defined;
  ColumnPages pages;
  // Reals hardly ever repeat, and NaN would be no key.
  const std::optional<Dictionary> dictionary =
      type == CellType::kReal || present.empty() ? std::nullopt : dictionary_of(present);
  if (!dictionary) {
    for (const Cell* cell : present) body += plain(*cell);
    pages.bytes = page(kDataPage, body, cells.size(), kPlain);
    return pages;
  }
  pages.bytes = page(kDictionaryPage, dictionary->entries, dictionary->size, kPlain);
  pages.data_at = pages.bytes.size();
  const auto width = std::max(1u, static_cast<unsigned>(std::bit_width(dictionary->size - 1)));
  body += static_cast<char>(width);
  body += encode_hybrid(dictionary->indices, width);
  pages.bytes += page(kDataPage, body, cells.size(), kRleDictionary);
  return pages;
}

}  // namespace weft::exports
