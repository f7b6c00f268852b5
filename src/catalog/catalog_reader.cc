// catalog/*.yaml -> Catalog. A file has `kind` and `entries`; an entry has a description and one cell
// {value, source, tag} for every field of its kind. `like: NAME` takes the cells that it does not have from an entry
// above it, as estimates. Read with the same strictness as a lab.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "catalog/catalog.h"
#include "catalog/front_ports.h"
#include "catalog/host_layout.h"
#include "catalog/link_rules.h"
#include "catalog/model_fields.h"
#include "text/problem.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr std::string_view kFileKeys[] = {"kind", "entries"};
constexpr std::string_view kCellKeys[] = {"value", "source", "tag"};
constexpr std::string_view kLayoutKeys[] = {"numa", "numa_links", "slots"};
constexpr std::string_view kCableKeys[] = {"description", "propagation", "max_length"};
constexpr std::string_view kTags[] = {"V", "S", "R", "E", "F"};

constexpr Word<CatalogKind> kKinds[] = {{"nic", CatalogKind::kNic},
                                        {"host", CatalogKind::kHost},
                                        {"gpu", CatalogKind::kGpu},
                                        {"switch", CatalogKind::kSwitch},
                                        {"cable", CatalogKind::kCable},
                                        {"fec", CatalogKind::kFec},
                                        {"forwarder", CatalogKind::kForwarder}};

// What the entries of a catalog that was read are views of.
struct CatalogText {
  std::deque<std::string> texts;
  std::deque<std::vector<CatalogRow>> rows;
  std::deque<std::vector<std::int64_t>> rates_bps;
  std::deque<std::vector<CatalogPorts>> ports;
  std::vector<CatalogEntry> entries;

  const CatalogEntry* find(std::string_view name) const {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
    return found == entries.end() ? nullptr : &*found;
  }
  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
};

class CatalogReader {
 public:
  CatalogReader(CatalogText& catalog, ProblemList& problems) : catalog_(catalog), problems_(problems) {}

  void read_file(const YamlNode& root) {
    const MapReader file(root, "a catalog file", kFileKeys, problems_);
    const YamlNode* kind_node = file.require("kind", "kind: nic");
    const YamlNode* entries = file.require("entries", "entries:");
    if (kind_node == nullptr || entries == nullptr) return;
    const auto kind = read_choice<CatalogKind>(*kind_node, "kind", kKinds, problems_);
    if (!kind || !entries->is_map()) return;
    YamlNode complete = *entries;
    for (std::size_t i = 0; i < complete.keys.size(); ++i) {
      if (add_cells_of_base(complete, i)) read_entry(*kind, complete.keys[i], complete.children[i]);
    }
  }

  // Every kind of cable and FEC that a lab can name is there.
  void check_complete() {
    for (const auto& word : cable_words()) check_there(CatalogKind::kCable, word.text);
    for (const auto& word : fec_words()) check_there(CatalogKind::kFec, word.text);
  }

 private:
  // False: it names no entry, which was reported.
  bool add_cells_of_base(YamlNode& entries, std::size_t index) {
    YamlNode& node = entries.children[index];
    const YamlNode* like = node.find("like");
    if (like == nullptr) return true;
    const auto end = entries.keys.begin() + static_cast<std::ptrdiff_t>(index);
    const auto base =
        std::find_if(entries.keys.begin(), end, [&](const YamlKey& key) { return key.text == like->text; });
    if (base == end) {
      problems_.add(like->place, fmt::format("like: there is no {} above", in_quotes(like->text)),
                    "name an entry of this file that comes first");
      return false;
    }
    const YamlNode& from = entries.children[static_cast<std::size_t>(base - entries.keys.begin())];
    const std::string source = fmt::format("as {}", like->text);
    const auto at = static_cast<std::size_t>(like - node.children.data());
    node.keys.erase(node.keys.begin() + static_cast<std::ptrdiff_t>(at));
    node.children.erase(node.children.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t i = 0; i < from.keys.size(); ++i) {
      if (node.find(from.keys[i].text) != nullptr || !from.children[i].is_map()) continue;
      YamlNode cell = from.children[i];
      if (YamlNode* tag = cell.find("tag")) tag->text = "E";
      if (YamlNode* text = cell.find("source")) text->text = source;
      node.keys.push_back(from.keys[i]);
      node.children.push_back(std::move(cell));
    }
    return true;
  }

  void check_there(CatalogKind kind, std::string_view name) {
    const CatalogEntry* found = catalog_.find(name);
    if (found == nullptr || found->kind != kind) problems_.add({}, fmt::format("no {} {}", to_string(kind), name));
  }

  void read_entry(CatalogKind kind, const YamlKey& key, const YamlNode& node) {
    if (!check_name(key, "entry", problems_)) return;
    if (catalog_.find(key.text) != nullptr)
      problems_.add(key.place, fmt::format("{} is already in the catalog", key.text));
    entry_ = {kind, catalog_.keep(key.text), {}, {}, {}, {}};
    rows_.clear();
    switch (kind) {
      case CatalogKind::kNic:
        read_nic(node);
        break;
      case CatalogKind::kHost:
        read_host(node);
        break;
      case CatalogKind::kGpu:
        read_gpu(node);
        break;
      case CatalogKind::kSwitch:
        read_with_ports(node, switch_fields());
        break;
      case CatalogKind::kForwarder:
        read_with_ports(node, forwarder_fields());
        break;
      case CatalogKind::kCable:
        read_cable(node);
        break;
      case CatalogKind::kFec:
        read_fec(node);
        break;
    }
    entry_.rows = catalog_.rows.emplace_back(rows_);
    catalog_.entries.push_back(entry_);
  }

  // The value of a cell, after its source and tag became a row.
  const YamlNode* cell(const MapReader& map, std::string_view key) {
    const YamlNode* node = map.require(key, fmt::format("{}: {{value: …, source: …, tag: …}}", key));
    if (node == nullptr) return nullptr;
    const MapReader reader(*node, key, kCellKeys, problems_);
    const YamlNode* value = reader.require("value", "value: …");
    const YamlNode* source = reader.require("source", "source: …");
    const YamlNode* tag = reader.require("tag", "tag: V, S, R, E or F");
    if (value == nullptr || source == nullptr || tag == nullptr) return nullptr;
    std::string shown = value->text;
    for (const YamlNode& item : value->children) shown += (shown.empty() ? "" : ", ") + item.text;
    if (value->is_sequence() && value->children.empty()) shown = kNoLines;
    CatalogRow row;
    row.field = catalog_.keep(std::string(key));
    row.value = catalog_.keep(std::move(shown));
    row.source = catalog_.keep(read_text(*source, "source", problems_).value_or(""));
    if (row.source.empty()) problems_.add(source->place, "an empty source");
    if (const auto index = read_word(*tag, "tag", kTags, problems_)) row.tag = kTags[*index];
    rows_.push_back(row);
    return value;
  }

  // A cell whose value is a number with a unit.
  void quantity_cell(const MapReader& map, std::string_view key, Quantity quantity, Range<std::int64_t> range) {
    if (const YamlNode* value = cell(map, key))
      store(rows_.back().number, read_quantity(*value, key, quantity, range, problems_));
  }

  void read_description(const MapReader& map) {
    if (const YamlNode* node = map.require("description", "description: …"))
      entry_.description = catalog_.keep(read_text(*node, "description", problems_).value_or(""));
  }

  void read_fields(const MapReader& map, FieldList fields) {
    read_description(map);
    for (const FieldInfo& field : fields) {
      if (field.key == "description") continue;
      const YamlNode* value = cell(map, field.key);
      if (value == nullptr) continue;
      if (field.value.kind == FieldKind::kText) {
        read_text(*value, field.key, problems_);
      } else {
        store(rows_.back().number, read_value(*value, field, problems_));
      }
    }
  }

  static std::vector<std::string_view> keys_of(FieldList fields) {
    std::vector<std::string_view> keys;
    for (const auto& field : fields) keys.push_back(field.key);
    return keys;
  }

  void read_nic(const YamlNode& node) {
    auto keys = keys_of(nic_fields());
    keys.push_back("link_rates");
    const MapReader map(node, entry_.name, keys, problems_);
    read_fields(map, nic_fields());
    const auto line_rate = std::find_if(rows_.begin(), rows_.end(), [](auto& row) { return row.field == "line_rate"; });
    const std::int64_t line_rate_bps = line_rate == rows_.end() ? 0 : line_rate->number;
    const YamlNode* rates = cell(map, "link_rates");
    const auto* items = rates == nullptr ? nullptr : read_list(*rates, "link_rates", problems_);
    if (items == nullptr) return;
    auto& rates_bps = catalog_.rates_bps.emplace_back();
    for (const YamlNode& item : *items) {
      const auto rate_bps = read_quantity(item, "link rate", Quantity::kBitRate, {1, line_rate_bps}, problems_);
      if (rate_bps) rates_bps.push_back(*rate_bps);
    }
    std::sort(rates_bps.rbegin(), rates_bps.rend());
    if (rates_bps.empty() || rates_bps[0] != line_rate_bps)
      problems_.add(rates->place, fmt::format("the highest link rate of {} is not its line rate", entry_.name));
    entry_.link_rates_bps = rates_bps;
  }

  void read_host(const YamlNode& node) {
    auto keys = keys_of(host_fields());
    keys.insert(keys.end(), std::begin(kLayoutKeys), std::end(kLayoutKeys));
    const MapReader map(node, entry_.name, keys, problems_);
    read_fields(map, host_fields());
    LayoutText text;
    const YamlNode* lists[3] = {};
    std::vector<std::string>* lines[] = {&text.numa, &text.links, &text.slots};
    for (std::size_t i = 0; i < 3; ++i) {
      lists[i] = cell(map, kLayoutKeys[i]);
      const auto* items = lists[i] == nullptr ? nullptr : read_list(*lists[i], kLayoutKeys[i], problems_);
      if (items == nullptr) return;
      for (const YamlNode& item : *items) lines[i]->push_back(item.text);
    }
    host::Layout layout;
    for (const LayoutProblem& problem : parse_layout(text, layout)) {
      const YamlNode& list = *lists[static_cast<std::size_t>(problem.list)];
      const Place& place = problem.index < list.children.size() ? list.children[problem.index].place : list.place;
      problems_.add(place, problem.error.message, problem.error.remedy);
    }
  }

  void read_with_ports(const YamlNode& node, FieldList fields) {
    auto keys = keys_of(fields);
    keys.push_back("ports");
    const MapReader map(node, entry_.name, keys, problems_);
    read_fields(map, fields);
    const YamlNode* ports = cell(map, "ports");
    const auto* items = ports == nullptr ? nullptr : read_list(*ports, "ports", problems_);
    if (items == nullptr) return;
    auto& groups = catalog_.ports.emplace_back();
    for (const YamlNode& item : *items) {
      if (auto front = parse_front_ports(item.text)) {
        groups.push_back({front->count, catalog_.rates_bps.emplace_back(std::move(front->rates_bps)), front->lanes});
      } else {
        problems_.add(item.place, front.error().message, front.error().remedy);
      }
    }
    entry_.ports = groups;
  }

  void read_gpu(const YamlNode& node) {
    const MapReader map(node, entry_.name, keys_of(gpu_fields()), problems_);
    read_fields(map, gpu_fields());
  }

  void read_cable(const YamlNode& node) {
    const MapReader map(node, entry_.name, kCableKeys, problems_);
    read_description(map);
    quantity_cell(map, "propagation", Quantity::kDelayPerLength, {3000, 10000});
    quantity_cell(map, "max_length", Quantity::kLength, {1, 1'000'000'000});
  }

  void read_fec(const YamlNode& node) {
    std::vector<std::string_view> keys(fec_latency_keys().begin(), fec_latency_keys().end());
    keys.push_back("description");
    const MapReader map(node, entry_.name, keys, problems_);
    read_description(map);
    for (std::string_view key : fec_latency_keys()) {
      // A rate that is missing: this FEC does not exist at it.
      if (map.get(key) != nullptr) quantity_cell(map, key, Quantity::kTime, {0, us(1)});
    }
  }

  CatalogText& catalog_;
  ProblemList& problems_;
  CatalogEntry entry_;  // that is being read, and its rows
  std::vector<CatalogRow> rows_;
};

}  // namespace

tl::expected<Catalog, std::vector<std::string>> Catalog::parse(std::span<const CatalogFile> files) {
  const auto text = std::make_shared<CatalogText>();
  std::vector<std::string> messages;
  const auto collect = [&](std::string_view file, ProblemList& problems) {
    for (const Problem& problem : problems.take()) messages.push_back(format_problem(file, problem));
  };
  for (const CatalogFile& file : files) {
    ProblemList problems;
    const std::optional<YamlNode> root = parse_yaml(file.text, problems);
    if (root) CatalogReader(*text, problems).read_file(*root);
    collect(file.name, problems);
  }
  ProblemList problems;
  CatalogReader(*text, problems).check_complete();
  collect("catalog", problems);
  if (!messages.empty()) return tl::unexpected(std::move(messages));
  return Catalog(text->entries, text);
}

}  // namespace weft::lab
