#include "labfile/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/units.h"
#include "text/yaml_tree.h"

namespace weft::lab {

namespace {

// Of a lab with a template: shown where the file has this key of `fabric`; empty: always.
struct FabricKnob {
  const char* needs;
  const char* path;
  const char* title;
  KnobKind kind;
  const char* help;
};
constexpr FabricKnob kFabricKnobs[] = {
    {"hosts", "fabric.hosts", "Hosts", KnobKind::kNumber, "With an incast: senders and one receiver."},
    {"spines", "fabric.spines", "Spines", KnobKind::kNumber, "Fewer of them: oversubscription."},
    {"switch", "fabric.switch", "Switch", KnobKind::kSwitch, "A switch of the catalog."},
    {"host", "fabric.host.nic", "NIC", KnobKind::kNic, "A NIC of the catalog."},
    {"host", "fabric.host.mtu", "MTU of hosts", KnobKind::kSize,
     "The path MTU is the largest of 256 to 4096 that fits: 4200 B for 4096."},
    {"", "fabric.cable.length", "Cable length", KnobKind::kLength, "To hosts. Headroom grows with it."},
};

// Parameters of DCQCN by their names in the firmware.
struct DcqcnKnob {
  const char* name;
  std::uint32_t nic::DcqcnParameters::*value;
  const char* help;
};
constexpr DcqcnKnob kDcqcnKnobs[] = {
    {"RPG_AI_RATE", &nic::DcqcnParameters::rpg_ai_rate_Mbps, "Additive increase, Mb/s."},
    {"RPG_HAI_RATE", &nic::DcqcnParameters::rpg_hai_rate_Mbps, "Hyper increase, Mb/s."},
    {"RPG_TIME_RESET", &nic::DcqcnParameters::rpg_time_reset_us, "Time between increases, us."},
    {"RPG_MIN_DEC_FAC", &nic::DcqcnParameters::rpg_min_dec_fac_percent, "A cut leaves at least so many percent."},
    {"DCE_TCP_G", &nic::DcqcnParameters::dce_tcp_g, "(1 - g) times 1024: how fast alpha follows."},
    {"RATE_REDUCE_MONITOR_PERIOD", &nic::DcqcnParameters::rate_reduce_monitor_period_us,
     "At most one cut in so many us."},
};

constexpr const char* kWorkloadKeys[] = {"size", "load", "count", "messages", "args", "nccl", "iperf3", "start"};

// Gathers knobs that fit the lab, with what its file says.
class KnobList {
 public:
  KnobList(const Lab& lab, const YamlNode& root) : lab_(lab), root_(root) {}

  std::vector<Knob> take() {
    add_fabric();
    add_qos();
    add_congestion();
    add_workloads();
    group_ = "Run";
    add("seed", "Seed", KnobKind::kNumber, fmt::format("{}", lab_.seed), "Of every random choice.");
    return std::move(knobs_);
  }

 private:
  // The scalar at a path of plain keys and item names.
  std::string written(std::string_view path) const {
    const YamlNode* node = &root_;
    while (node != nullptr && !path.empty()) {
      if (path.front() == '[') {
        const std::string_view name = path.substr(1, path.find(']') - 1);
        const auto named = [&](const YamlNode& item) {
          const YamlNode* own = item.find("name");
          return own != nullptr && own->text == name;
        };
        const auto it = std::find_if(node->children.begin(), node->children.end(), named);
        node = it == node->children.end() ? nullptr : &*it;
        path.remove_prefix(std::min(name.size() + 2, path.size()));
      } else {
        const std::string_view key = path.substr(0, path.find_first_of(".["));
        node = node->find(key);
        path.remove_prefix(key.size());
      }
      if (path.starts_with('.')) path.remove_prefix(1);
    }
    return node != nullptr && node->is_scalar() ? node->text : "";
  }

  // In the present group; what is in force is what the file says where it is left empty.
  void add(std::string path, std::string title, KnobKind kind, std::string in_force, std::string help,
           std::vector<std::string> choices = {}) {
    std::string value = written(path);
    if (in_force.empty()) in_force = value;
    knobs_.push_back({std::move(path), group_, std::move(title), kind, std::move(value), std::move(in_force),
                      std::move(choices), std::move(help)});
  }

  void add_fabric() {
    const YamlNode* fabric = root_.find("fabric");
    if (fabric == nullptr || !fabric->is_map()) return;
    group_ = "Fabric";
    for (const FabricKnob& knob : kFabricKnobs) {
      if (*knob.needs != 0 && fabric->find(knob.needs) == nullptr) continue;
      const bool mtu = std::string_view(knob.path) == "fabric.host.mtu";
      add(knob.path, knob.title, knob.kind, mtu ? mtu_text() : "", knob.help);
    }
  }

  std::string mtu_text() const {
    if (lab_.hosts.empty() || lab_.hosts.front().nics.empty() || lab_.hosts.front().nics.front().ports.empty())
      return "";
    return format_quantity(lab_.hosts.front().nics.front().ports.front().netdev_mtu_B, Quantity::kSize);
  }

  void add_qos() {
    if (lab_.switches.empty()) return;
    group_ = "PFC";
    add("qos.profile", "QoS profile", KnobKind::kChoice, written("qos.profile").empty() ? "none" : "",
        "What the other keys of qos start from.", {"none", "roce-lossless", "roce-lossy", "sonic-default"});
    const auto hardware = std::find_if(lab_.switches.begin(), lab_.switches.end(),
                                       [](const SwitchConfig& node) { return !node.forwarder.has_value(); });
    if (hardware == lab_.switches.end()) return;
    const fabric::SwitchQos& qos = hardware->qos;
    const std::uint8_t priority = lab_.qos.priority;
    const std::uint8_t queue = qos.queue_of_priority[priority], group = qos.group_of_priority[priority];
    const fabric::EcnRamp& ecn = qos.queues[queue].ecn;
    const std::string at_queue = fmt::format("qos.queues.{}", queue), at_group = fmt::format("qos.groups.{}", group);
    const auto bytes = [](bool given, std::int64_t size_B) {
      return given ? format_quantity(size_B, Quantity::kSize) : std::string("off");
    };
    add("qos.pfc.mode", "Flow control", KnobKind::kChoice, std::string(mode_name(qos.flow_control)),
        "PFC by priority, 802.3x pause of the whole link, or none: then packets are lost.", {"pfc", "pause", "none"});
    add(at_group + ".alpha", fmt::format("Alpha of group {}: exponent n of 2^n", group), KnobKind::kNumber,
        fmt::format("{}", qos.groups[group].alpha_exponent),
        "An exponent from -3 to 7: the group may hold alpha = 2^n times what is free before XOFF; 0 is alpha 1, as "
        "weft qos prints it.");
    add(at_group + ".headroom", fmt::format("Headroom of group {}", group), KnobKind::kSize, "auto",
        "For what arrives after XOFF; auto: by rate and cable.");
    group_ = "ECN";
    add(at_queue + ".ecn.min", fmt::format("Kmin of queue {}", queue), KnobKind::kSize, bytes(ecn.enabled, ecn.min_B),
        "Nothing is marked below.");
    add(at_queue + ".ecn.max", fmt::format("Kmax of queue {}", queue), KnobKind::kSize, bytes(ecn.enabled, ecn.max_B),
        "Everything is marked above.");
    add(at_queue + ".ecn.probability", fmt::format("Pmax of queue {}", queue), KnobKind::kText,
        ecn.enabled ? fmt::format("{:g} %", ecn.probability_ppb / 1e7) : "off", "The share that is marked at Kmax.");
  }

  static std::string_view mode_name(fabric::FlowControl mode) {
    switch (mode) {
      case fabric::FlowControl::kNone:
        return "none";
      case fabric::FlowControl::kPfc:
        return "pfc";
      case fabric::FlowControl::kPause:
        return "pause";
    }
    return "";
  }
  static std::string_view algorithm_name(nic::CongestionKind kind) {
    switch (kind) {
      case nic::CongestionKind::kOff:
        return "off";
      case nic::CongestionKind::kDcqcn:
        return "dcqcn";
      case nic::CongestionKind::kHpcc:
        return "hpcc";
      case nic::CongestionKind::kTimely:
        return "timely";
      case nic::CongestionKind::kSwift:
        return "swift";
    }
    return "";
  }

  void add_congestion() {
    const nic::CongestionParameters& congestion = lab_.qos.congestion;
    group_ = "Congestion control";
    add("qos.congestion.algorithm", "Algorithm", KnobKind::kChoice, std::string(algorithm_name(congestion.kind)),
        "Of all NICs.", {"dcqcn", "hpcc", "timely", "swift", "off"});
    if (congestion.kind != nic::CongestionKind::kDcqcn) return;
    for (const DcqcnKnob& knob : kDcqcnKnobs)
      add(fmt::format("qos.congestion.{}", knob.name), knob.name, KnobKind::kNumber,
          fmt::format("{}", congestion.dcqcn.*knob.value), knob.help);
  }

  void add_workloads() {
    group_ = "Workloads";
    for (const WorkloadConfig& workload : lab_.workloads) {
      for (const char* key : kWorkloadKeys) {
        const std::string path = fmt::format("workloads[{}].{}", workload.name, key);
        const bool is_size = std::string_view(key) == "size";
        if (!written(path).empty())
          add(path, fmt::format("{} of {}", key, workload.name), is_size ? KnobKind::kSize : KnobKind::kText, "", "");
      }
    }
  }

  const Lab& lab_;
  const YamlNode& root_;
  std::string group_;
  std::vector<Knob> knobs_;
};

}  // namespace

std::string_view knob_kind_name(KnobKind kind) {
  switch (kind) {
    case KnobKind::kNumber:
      return "number";
    case KnobKind::kSize:
      return "size";
    case KnobKind::kTime:
      return "time";
    case KnobKind::kLength:
      return "length";
    case KnobKind::kChoice:
      return "choice";
    case KnobKind::kNic:
      return "nic";
    case KnobKind::kSwitch:
      return "switch";
    case KnobKind::kText:
      return "text";
  }
  return "";
}

std::vector<Knob> knobs_of(const Lab& lab, std::string_view text) {
  ProblemList problems;
  const auto root = parse_yaml(text, problems);
  if (!root) return {};
  return KnobList(lab, *root).take();
}

}  // namespace weft::lab
