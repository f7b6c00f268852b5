// fabric: a template and its numbers. Expanded before nodes and links are read, which are added to it.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "model/topology_builder.h"
#include "wire/mtu.h"

namespace weft::lab {
namespace {

constexpr std::uint64_t kMostHosts = 65536, kMostFabricSwitches = 8192;

// Keys that not every template has.
struct ShapeKeys {
  FabricTemplate shape;
  std::vector<std::string_view> required;
  std::vector<std::string_view> optional;
};
const std::vector<ShapeKeys>& shape_keys() {
  static const std::vector<ShapeKeys> all = {
      {FabricTemplate::kDirect, {}, {}},
      {FabricTemplate::kRing, {"hosts"}, {}},
      {FabricTemplate::kSingleSwitch, {"hosts"}, {"switch"}},
      {FabricTemplate::kLeafSpine,
       {"hosts", "leaves", "spines"},
       {"switch", "leaf", "spine", "uplinks", "uplink_cable", "uplink_lag"}},
      {FabricTemplate::kRailOptimised,
       {"hosts", "rails"},
       {"leaves", "spines", "switch", "leaf", "spine", "uplinks", "uplink_cable", "uplink_lag"}},
      {FabricTemplate::kFatTree, {}, {"hosts", "k", "switch", "leaf", "spine", "uplink_cable"}},
      {FabricTemplate::kDragonfly, {"groups", "switches", "hosts_per_switch"}, {"switch", "uplink_cable"}}};
  return all;
}
constexpr std::string_view kEverywhere[] = {"template", "host", "cable", "rate"};

class FabricReader {
 public:
  FabricReader(const YamlNode& node, LabContext& context)
      : node_(node), context_(context), problems_(context.problems), map_(node, "fabric", kFabricKeys, problems_) {}

  void read() {
    const std::size_t problems_before = problems_.size();
    const YamlNode* name = map_.require("template");
    const auto shape = name == nullptr
                           ? std::nullopt
                           : read_choice<FabricTemplate>(*name, "template", std::span(kTemplateWords), problems_);
    if (!shape) return;
    spec_.shape = *shape;
    spec_.place = spec_.switch_place = name->place;
    check_keys(*name);
    read_counts();
    read_host();
    read_switches();
    read_cables();
    if (problems_.size() == problems_before && settle_counts()) build_fabric(spec_, context_);
  }

 private:
  void check_keys(const YamlNode& name) {
    const auto& all = shape_keys();
    const auto keys = std::find_if(all.begin(), all.end(), [&](const auto& k) { return k.shape == spec_.shape; });
    for (std::string_view key : keys->required) map_.require(key, fmt::format("{}: 4", key));
    for (const YamlKey& key : node_.keys) {
      if (contains(kEverywhere, key.text) || contains(keys->required, key.text) || contains(keys->optional, key.text) ||
          kFabricKeys.find(key.text) == nullptr)
        continue;
      problems_.add(key.place, fmt::format("{} does not go with template {}", key.text, name.text),
                    fmt::format("it takes {}", join_all(*keys)));
    }
  }

  static std::string join_all(const ShapeKeys& keys) {
    std::vector<std::string_view> words = keys.required;
    words.insert(words.end(), keys.optional.begin(), keys.optional.end());
    words.insert(words.end(), std::begin(kEverywhere), std::end(kEverywhere));
    return join(words);
  }

  void count(std::string_view key, Range<std::uint64_t> range, std::uint32_t& target) {
    if (const YamlNode* node = map_.get(key)) store(target, read_unsigned(*node, key, range, problems_));
  }

  void read_counts() {
    map_.read(kFabricKeys, spec_);
    count("hosts", {spec_.shape == FabricTemplate::kRing ? std::uint64_t{3} : 1, kMostHosts}, spec_.hosts);
    count("spines", {spec_.shape == FabricTemplate::kRailOptimised ? std::uint64_t{0} : 1, 1024}, spec_.spines);
  }

  bool settle_counts() {
    if (spec_.shape == FabricTemplate::kRailOptimised) spec_.leaves = std::max(spec_.leaves, 1U);
    // What a slip of the keyboard could ask for, and no memory could hold.
    const bool dragonfly = spec_.shape == FabricTemplate::kDragonfly;
    const std::uint64_t devices = dragonfly ? std::uint64_t{spec_.groups} * spec_.switches
                                            : std::uint64_t{spec_.leaves} * std::max(spec_.rails, 1U) + spec_.spines;
    const std::uint64_t ports =
        dragonfly ? devices * spec_.hosts_per_switch : std::uint64_t{spec_.hosts} * std::max(spec_.rails, 1U);
    if (devices > kMostFabricSwitches || ports > kMostHosts) {
      problems_.add(spec_.place, fmt::format("a fabric of {} switches and {} host ports", devices, ports),
                    fmt::format("at most {} and {}", kMostFabricSwitches, kMostHosts));
      return false;
    }
    if (spec_.shape != FabricTemplate::kFatTree) return true;
    const auto full = [](std::uint64_t k) { return k * k * k / 4; };
    if (spec_.k == 0 && spec_.hosts == 0) {
      problems_.add(spec_.place, "a fat-tree of which size?", "write k: 4 (16 hosts), or hosts: 16");
      return false;
    }
    if (spec_.k == 0) {
      for (spec_.k = 2; full(spec_.k) < spec_.hosts;) spec_.k += 2;
    }
    if (spec_.hosts == 0) spec_.hosts = static_cast<std::uint32_t>(full(spec_.k));
    if (spec_.k % 2 != 0 || spec_.hosts > full(spec_.k)) {
      problems_.add(map_.get("k")->place,
                    spec_.k % 2 != 0 ? fmt::format("k {} is odd", spec_.k)
                                     : fmt::format("k {} has room for {} hosts", spec_.k, full(spec_.k)),
                    "k is even, and k^3/4 hosts fit");
      return false;
    }
    return true;
  }

  void read_host() {
    const YamlNode* node = map_.require("host");
    if (node == nullptr) return;
    const MapReader map(*node, "host", kFabricHostKeys, problems_);
    const YamlNode* nic = map.require("nic");
    const auto name = nic == nullptr ? std::nullopt : read_text(*nic, "nic", problems_);
    if (name) spec_.nic = context_.catalog.nic(*name);
    if (name && spec_.nic == nullptr) {
      problems_.add(nic->place, fmt::format("there is no NIC {} in the catalog", in_quotes(*name)),
                    did_you_mean(*name, context_.catalog.names(CatalogKind::kNic), "NICs"));
    }
    std::string profile = "generic-x86";
    const YamlNode* host = map.get("host");
    if (host != nullptr) store(profile, read_text(*host, "host", problems_));
    spec_.host = context_.catalog.host(profile);
    if (spec_.host == nullptr) {
      problems_.add(host->place, fmt::format("there is no host profile {} in the catalog", in_quotes(profile)),
                    did_you_mean(profile, context_.catalog.names(CatalogKind::kHost), "profiles"));
    }
    if (const YamlNode* gpus = map.get("gpus")) {
      const auto model = read_text(*gpus, "gpus", problems_);
      if (model) spec_.gpu = context_.catalog.gpu(*model);
      if (model && spec_.gpu == nullptr)
        problems_.add(gpus->place, fmt::format("there is no GPU {} in the catalog", in_quotes(*model)),
                      did_you_mean(*model, context_.catalog.names(CatalogKind::kGpu), "GPUs"));
    }
    if (spec_.nic == nullptr) return;
    if (spec_.shape == FabricTemplate::kRing && spec_.nic->ports < 2) {
      problems_.add(nic->place, fmt::format("{} has one port, a ring needs two", spec_.nic->name),
                    "take a NIC with two ports");
    }
    if (const YamlNode* mtu = map.get("mtu")) {
      store(spec_.mtu_B, read_bytes(*mtu, "mtu", {kMinRoceMtu_B, spec_.nic->max_netdev_mtu_B}, problems_));
    }
  }

  const fabric::SwitchModel* model_of(std::string_view key) {
    const YamlNode* node = map_.get(key);
    const auto name = node == nullptr ? std::nullopt : read_text(*node, key, problems_);
    if (!name) return nullptr;
    spec_.switch_place = node->place;
    const fabric::SwitchModel* model = context_.catalog.switch_model(*name);
    if (model == nullptr) {
      problems_.add(node->place, fmt::format("there is no switch {} in the catalog", in_quotes(*name)),
                    did_you_mean(*name, context_.catalog.names(CatalogKind::kSwitch), "switches"));
    }
    return model;
  }

  void read_switches() {
    if (spec_.shape == FabricTemplate::kDirect || spec_.shape == FabricTemplate::kRing) return;
    const std::size_t problems_before = problems_.size();
    spec_.leaf = spec_.spine = model_of("switch");
    if (const auto* model = model_of("leaf")) spec_.leaf = model;
    if (const auto* model = model_of("spine")) spec_.spine = model;
    if (problems_.size() != problems_before) return;
    const bool two_kinds = spec_.shape != FabricTemplate::kSingleSwitch && spec_.shape != FabricTemplate::kDragonfly;
    if (spec_.leaf == nullptr || (two_kinds && spec_.spine == nullptr)) {
      problems_.add(node_.place, "fabric has no \"switch\"",
                    two_kinds ? "add switch: sn3700c, or leaf and spine" : "add switch: sn3700c");
    }
  }

  void read_cables() {
    spec_.cable.place = spec_.place;
    if (const YamlNode* node = map_.get("cable")) spec_.cable = read_cable(*node, context_);
    spec_.uplink_cable = spec_.cable;
    if (const YamlNode* node = map_.get("uplink_cable")) spec_.uplink_cable = read_cable(*node, context_);
    if (const YamlNode* node = map_.get("uplink_lag")) {
      if (spec_.uplink_lag && spec_.uplinks < 2)
        problems_.add(node->place, "uplink_lag joins the cables between two switches, and there is one",
                      "write uplinks: 2 or more, or leave uplink_lag out");
    }
    const YamlNode* rate = map_.get("rate");
    const auto rate_bps =
        rate == nullptr ? std::nullopt : read_quantity(*rate, "rate", Quantity::kBitRate, {}, problems_);
    for (CableSpec* cable : {&spec_.cable, &spec_.uplink_cable}) {
      if (rate_bps && !cable->rate_bps) cable->rate_bps = {*rate_bps, rate->place};
    }
  }

  const YamlNode& node_;
  LabContext& context_;
  ProblemList& problems_;
  MapReader map_;
  FabricSpec spec_;
};

}  // namespace

void read_fabric(const YamlNode& node, LabContext& context) {
  FabricReader(node, context).read();
}

}  // namespace weft::lab
