#include "catalog/catalog.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/nearest.h"
#include "catalog/host_layout.h"
#include "catalog/model_fields.h"

namespace weft::lab {
namespace {

template <class Model>
const Model* find(const std::vector<Model>& models, std::string_view name) {
  const auto found = std::find_if(models.begin(), models.end(), [&](const Model& model) { return model.name == name; });
  return found == models.end() ? nullptr : &*found;
}

const CatalogRow* find_row(const CatalogEntry& entry, std::string_view field) {
  const auto found =
      std::find_if(entry.rows.begin(), entry.rows.end(), [&](const auto& r) { return r.field == field; });
  return found == entry.rows.end() ? nullptr : &*found;
}

template <class Model>
Model make_model(const CatalogEntry& entry, FieldList fields) {
  Model model;
  model.name = entry.name;
  model.description = entry.description;
  // The reader makes the rows in the order of the fields.
  auto row = entry.rows.begin();
  for (const FieldInfo& field : fields) {
    if (field.key == "description") continue;
    WEFT_CHECK(row != entry.rows.end() && row->field == field.key, "a field that the catalog does not have");
    if (field.value.kind == FieldKind::kText) {
      field.value.store_text(&model, row->value);
    } else {
      field.value.store(&model, row->number);
    }
    ++row;
  }
  return model;
}

template <class Model>
Model make_model_with_ports(const CatalogEntry& entry, FieldList fields) {
  auto model = make_model<Model>(entry, fields);
  for (const CatalogPorts& ports : entry.ports)
    model.ports.push_back({ports.count, {ports.rates_bps.begin(), ports.rates_bps.end()}, ports.lanes});
  return model;
}

// The lines of a list, which a row has with commas between them.
std::vector<std::string> lines_of(const CatalogRow* row) {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string> lines;
  std::string_view rest = row == nullptr || row->value == kNoLines ? "" : row->value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kBetween), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + kBetween.size(), rest.size()));
  }
  return lines;
}

host::HostModel make_host(const CatalogEntry& entry) {
  auto model = make_model<host::HostModel>(entry, host_fields());
  host::Layout layout;
  const LayoutText text{lines_of(find_row(entry, "numa")), lines_of(find_row(entry, "numa_links")),
                        lines_of(find_row(entry, "slots"))};
  WEFT_CHECK(parse_layout(text, layout).empty(), "a layout that the catalog's reader did not check");
  model.use_layout(std::make_shared<const host::Layout>(std::move(layout)));
  return model;
}

// The value that the word `name` stands for, as an index.
template <class Enum>
std::optional<std::size_t> index_of(std::span<const Word<Enum>> words, std::string_view name) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.text == name; });
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found->value);
}

}  // namespace

std::string_view to_string(CatalogKind kind) {
  switch (kind) {
    case CatalogKind::kNic:
      return "nic";
    case CatalogKind::kHost:
      return "host";
    case CatalogKind::kGpu:
      return "gpu";
    case CatalogKind::kSwitch:
      return "switch";
    case CatalogKind::kForwarder:
      return "forwarder";
    case CatalogKind::kCable:
      return "cable";
    case CatalogKind::kFec:
      return "fec";
  }
  return "";
}

Catalog::Catalog(std::span<const CatalogEntry> entries, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), entries_(entries) {
  for (const CatalogEntry& entry : entries_) {
    switch (entry.kind) {
      case CatalogKind::kNic:
        nics_.push_back(make_model<nic::NicModel>(entry, nic_fields()));
        break;
      case CatalogKind::kHost:
        hosts_.push_back(make_host(entry));
        break;
      case CatalogKind::kSwitch:
        switches_.push_back(make_model_with_ports<fabric::SwitchModel>(entry, switch_fields()));
        break;
      case CatalogKind::kForwarder:
        forwarders_.push_back(make_model_with_ports<fabric::ForwarderModel>(entry, forwarder_fields()));
        break;
      case CatalogKind::kCable:
        if (const auto index = index_of(cable_words(), entry.name))
          cables_[*index] = {find_row(entry, "propagation")->number, find_row(entry, "max_length")->number};
        break;
      case CatalogKind::kFec:
        if (const auto index = index_of(fec_words(), entry.name)) {
          for (std::size_t rate = 0; rate < kEthernetRateCount; ++rate) {
            const CatalogRow* row = find_row(entry, fec_latency_keys()[rate]);
            if (row != nullptr) fec_latencies_ps_[*index][rate] = row->number;
          }
        }
        break;
      case CatalogKind::kGpu:
        gpus_.push_back(make_model<host::GpuModel>(entry, gpu_fields()));
        break;
    }
  }
}

const nic::NicModel* Catalog::nic(std::string_view name) const {
  return find(nics_, name);
}
const host::HostModel* Catalog::host(std::string_view name) const {
  return find(hosts_, name);
}
const fabric::SwitchModel* Catalog::switch_model(std::string_view name) const {
  return find(switches_, name);
}

const host::GpuModel* Catalog::gpu(std::string_view name) const {
  return find(gpus_, name);
}

const fabric::ForwarderModel* Catalog::forwarder(std::string_view name) const {
  return find(forwarders_, name);
}

std::span<const std::int64_t> Catalog::link_rates_bps(std::string_view nic_name) const {
  const CatalogEntry* found = entry(nic_name);
  return found == nullptr ? std::span<const std::int64_t>() : found->link_rates_bps;
}

const CableModel& Catalog::cable(CableKind kind) const {
  return cables_[static_cast<std::size_t>(kind)];
}

std::optional<Time_ps> Catalog::fec_latency_ps(Fec fec, std::int64_t rate_bps) const {
  const auto rates_bps = ethernet_rates_bps();
  const auto found = std::find(rates_bps.begin(), rates_bps.end(), rate_bps);
  if (found == rates_bps.end()) return std::nullopt;
  return fec_latencies_ps_[static_cast<std::size_t>(fec)][static_cast<std::size_t>(found - rates_bps.begin())];
}

const CatalogEntry* Catalog::entry(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::string_view> Catalog::names(CatalogKind kind) const {
  std::vector<std::string_view> names;
  for (const CatalogEntry& entry : entries_) {
    if (entry.kind == kind) names.push_back(entry.name);
  }
  return names;
}

std::vector<std::string> Catalog::nearest(std::string_view name) const {
  std::vector<std::string_view> all;
  // A FEC is no device: "did you mean none?" would not help.
  for (const CatalogEntry& entry : entries_) {
    if (entry.kind != CatalogKind::kFec) all.push_back(entry.name);
  }
  return weft::nearest(name, all);
}

std::vector<std::string> Catalog::nearest(std::string_view name, CatalogKind kind) const {
  return weft::nearest(name, names(kind));
}

}  // namespace weft::lab
