// catalog/*.yaml -> Catalog. A file has `kind` and `entries`; an entry has a description and one cell
// {value, source, tag} for every field of its kind. Read with the same strictness as a lab.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "catalog/catalog.h"
#include "catalog/front_ports.h"
#include "catalog/link_rules.h"
#include "catalog/model_fields.h"
#include "text/problem.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr std::string_view kFileKeys[] = {"kind", "entries"};
constexpr std::string_view kCellKeys[] = {"value", "source", "tag"};
constexpr std::string_view kGpuKeys[] = {"description", "memory", "memory_bandwidth", "pcie", "gpu_link", "gpudirect"};
constexpr std::string_view kCableKeys[] = {"description", "propagation", "max_length"};
constexpr std::string_view kTags[] = {"V", "S", "R", "E", "F"};

constexpr Word<CatalogKind> kKinds[] = {{"nic", CatalogKind::kNic},     {"host", CatalogKind::kHost},
                                        {"gpu", CatalogKind::kGpu},     {"switch", CatalogKind::kSwitch},
                                        {"cable", CatalogKind::kCable}, {"fec", CatalogKind::kFec}};

// "latency_25G" for each Ethernet rate.
std::vector<std::string> fec_latency_keys() {
  std::vector<std::string> keys;
  for (std::int64_t rate_bps : ethernet_rates_bps())
    keys.push_back(fmt::format("latency_{}G", rate_bps / 1'000'000'000));
  return keys;
}

}  // namespace

class CatalogReader {
 public:
  CatalogReader(Catalog& catalog, ProblemList& problems) : catalog_(catalog), problems_(problems) {}

  void read_file(const YamlNode& root) {
    const MapReader file(root, "a catalog file", kFileKeys, problems_);
    const YamlNode* kind_node = file.require("kind", "kind: nic");
    const YamlNode* entries = file.require("entries", "entries:");
    if (kind_node == nullptr || entries == nullptr) return;
    const auto kind = read_choice<CatalogKind>(*kind_node, "kind", kKinds, problems_);
    if (!kind || !entries->is_map()) return;
    for (std::size_t i = 0; i < entries->keys.size(); ++i) read_entry(*kind, entries->keys[i], entries->children[i]);
  }

  // Every kind of cable and FEC that a lab can name is there.
  void check_complete() {
    for (const auto& [name, kind] : cable_words()) {
      if (!catalog_.cables_.contains(kind)) problems_.add({}, fmt::format("no cable {}", name));
    }
    for (const auto& [name, fec] : fec_words()) {
      if (!catalog_.fec_latencies_ps_.contains(fec)) problems_.add({}, fmt::format("no fec {}", name));
    }
  }

 private:
  void read_entry(CatalogKind kind, const YamlKey& key, const YamlNode& node) {
    if (!check_name(key, "entry", problems_)) return;
    if (catalog_.entry(key.text) != nullptr)
      problems_.add(key.place, fmt::format("{} is already in the catalog", key.text));
    catalog_.entries_.push_back({kind, key.text, "", {}});
    switch (kind) {
      case CatalogKind::kNic:
        read_nic(key.text, node);
        break;
      case CatalogKind::kHost:
        read_host(key.text, node);
        break;
      case CatalogKind::kGpu:
        read_gpu(node);
        break;
      case CatalogKind::kSwitch:
        read_switch(key.text, node);
        break;
      case CatalogKind::kCable:
        read_cable(key, node);
        break;
      case CatalogKind::kFec:
        read_fec(key, node);
        break;
    }
  }

  CatalogEntry& entry() { return catalog_.entries_.back(); }

  // The value of a cell, after its source and tag became a row.
  const YamlNode* cell(const MapReader& map, std::string_view key) {
    const YamlNode* node = map.require(key, fmt::format("{}: {{value: …, source: …, tag: …}}", key));
    if (node == nullptr) return nullptr;
    const MapReader reader(*node, key, kCellKeys, problems_);
    const YamlNode* value = reader.require("value", "value: …");
    const YamlNode* source = reader.require("source", "source: …");
    const YamlNode* tag = reader.require("tag", "tag: V, S, R, E or F");
    if (value == nullptr || source == nullptr || tag == nullptr) return nullptr;
    CatalogRow row{std::string(key), value->text, "", ""};
    for (const YamlNode& item : value->children) row.value += (row.value.empty() ? "" : ", ") + item.text;
    store(row.source, read_text(*source, "source", problems_));
    if (row.source.empty()) problems_.add(source->place, "an empty source");
    if (const auto index = read_word(*tag, "tag", kTags, problems_)) row.tag = kTags[*index];
    entry().rows.push_back(std::move(row));
    return value;
  }

  void read_description(const MapReader& map) {
    if (const YamlNode* node = map.require("description", "description: …")) {
      store(entry().description, read_text(*node, "description", problems_));
    }
  }

  template <class Model>
  Model read_model(const MapReader& map, std::span<const ModelField<Model>> fields) {
    Model model;
    model.name = entry().name;
    read_description(map);
    model.description = entry().description;
    for (const ModelField<Model>& field : fields) {
      if (field.key == "description") continue;
      if (const YamlNode* value = cell(map, field.key)) read_field(*value, field, model, problems_);
    }
    return model;
  }

  template <class Model>
  static std::vector<std::string_view> keys_of(std::span<const ModelField<Model>> fields) {
    std::vector<std::string_view> keys;
    for (const auto& field : fields) keys.push_back(field.key);
    return keys;
  }

  void read_nic(const std::string& name, const YamlNode& node) {
    auto keys = keys_of(nic_fields());
    keys.push_back("link_rates");
    const MapReader map(node, name, keys, problems_);
    const nic::NicModel& model = catalog_.nics_[name] = read_model(map, nic_fields());
    const YamlNode* rates = cell(map, "link_rates");
    const auto* items = rates == nullptr ? nullptr : read_list(*rates, "link_rates", problems_);
    if (items == nullptr) return;
    for (const YamlNode& item : *items) {
      if (const auto rate_bps =
              read_quantity(item, "link rate", Quantity::kBitRate, {1, model.line_rate_bps}, problems_)) {
        catalog_.link_rates_bps_[name].push_back(*rate_bps);
      }
    }
    auto& rates_bps = catalog_.link_rates_bps_[name];
    std::sort(rates_bps.rbegin(), rates_bps.rend());
    if (rates_bps.empty() || rates_bps[0] != model.line_rate_bps) {
      problems_.add(rates->place, fmt::format("the highest link rate of {} is not its line rate", name));
    }
  }

  void read_host(const std::string& name, const YamlNode& node) {
    const MapReader map(node, name, keys_of(host_fields()), problems_);
    catalog_.hosts_[name] = read_model(map, host_fields());
  }

  void read_switch(const std::string& name, const YamlNode& node) {
    auto keys = keys_of(switch_fields());
    keys.push_back("ports");
    const MapReader map(node, name, keys, problems_);
    fabric::SwitchModel& model = catalog_.switches_[name] = read_model(map, switch_fields());
    const YamlNode* ports = cell(map, "ports");
    const auto* items = ports == nullptr ? nullptr : read_list(*ports, "ports", problems_);
    if (items == nullptr) return;
    for (const YamlNode& item : *items) {
      if (auto front = parse_front_ports(item.text)) {
        model.ports.push_back(*std::move(front));
      } else {
        problems_.add(item.place, front.error().message, front.error().remedy);
      }
    }
  }

  void read_gpu(const YamlNode& node) {
    const MapReader map(node, entry().name, kGpuKeys, problems_);
    read_description(map);
    for (std::string_view key : kGpuKeys) {
      if (key == "description") continue;
      if (const YamlNode* value = cell(map, key)) read_text(*value, key, problems_);
    }
  }

  void read_cable(const YamlKey& key, const YamlNode& node) {
    const MapReader map(node, key.text, kCableKeys, problems_);
    read_description(map);
    CableModel cable;
    if (const YamlNode* value = cell(map, "propagation")) {
      store(cable.propagation_ps_per_m,
            read_quantity(*value, "propagation", Quantity::kDelayPerLength, {3000, 10000}, problems_));
    }
    if (const YamlNode* value = cell(map, "max_length")) {
      store(cable.max_length_mm, read_quantity(*value, "max_length", Quantity::kLength, {1, 1'000'000'000}, problems_));
    }
    for (const auto& [name, kind] : cable_words()) {
      if (name == key.text) catalog_.cables_[kind] = cable;
    }
  }

  void read_fec(const YamlKey& key, const YamlNode& node) {
    const std::vector<std::string> latency_keys = fec_latency_keys();
    std::vector<std::string_view> keys(latency_keys.begin(), latency_keys.end());
    keys.push_back("description");
    const MapReader map(node, key.text, keys, problems_);
    read_description(map);
    std::map<std::int64_t, Time_ps> latencies_ps;
    for (std::size_t i = 0; i < latency_keys.size(); ++i) {
      if (map.get(latency_keys[i]) == nullptr) continue;  // this FEC does not exist at this rate
      const YamlNode* value = cell(map, latency_keys[i]);
      if (value == nullptr) continue;
      if (const auto latency_ps = read_quantity(*value, latency_keys[i], Quantity::kTime, {0, us(1)}, problems_)) {
        latencies_ps[ethernet_rates_bps()[i]] = *latency_ps;
      }
    }
    for (const auto& [name, fec] : fec_words()) {
      if (name == key.text) catalog_.fec_latencies_ps_[fec] = latencies_ps;
    }
  }

  Catalog& catalog_;
  ProblemList& problems_;
};

tl::expected<Catalog, std::vector<std::string>> Catalog::parse(std::span<const EmbeddedFile> files) {
  Catalog catalog;
  std::vector<std::string> messages;
  const auto collect = [&](std::string_view file, ProblemList& problems) {
    for (const Problem& problem : problems.take()) messages.push_back(format_problem(file, problem));
  };
  for (const EmbeddedFile& file : files) {
    ProblemList problems;
    const std::optional<YamlNode> root = parse_yaml(file.text, problems);
    if (root) CatalogReader(catalog, problems).read_file(*root);
    collect(file.name, problems);
  }
  ProblemList problems;
  CatalogReader(catalog, problems).check_complete();
  collect("catalog", problems);
  if (!messages.empty()) return tl::unexpected(std::move(messages));
  return catalog;
}

}  // namespace weft::lab
