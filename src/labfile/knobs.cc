#include "labfile/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/qos_size.h"
#include "text/units.h"
#include "text/yaml_tree.h"

namespace weft::lab {

namespace {

// "-1 (alpha 1/2)": the file has the exponent, the mechanism and `weft qos` speak of 2^n.
std::string alpha_text(int exponent) {
  const int power = 1 << std::clamp(exponent < 0 ? -exponent : exponent, 0, 20);
  return exponent < 0 ? fmt::format("{} (alpha 1/{})", exponent, power) : fmt::format("{} (alpha {})", exponent, power);
}

// Gathers knobs that fit the lab, with what its file says.
class KnobList {
 public:
  KnobList(const Lab& lab, const YamlNode& root) : lab_(lab), root_(root) {}

  std::vector<Knob> take() {
    add_fabric();
    add_qos();
    add_congestion();
    add_workloads();
    add({"seed", "Run", "Seed", KnobKind::kNumber, "", fmt::format("{}", lab_.seed), {}, "Of every random choice."});
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

  void add(Knob knob) {
    knob.value = written(knob.path);
    if (knob.in_force.empty()) knob.in_force = knob.value;
    knobs_.push_back(std::move(knob));
  }

  void add_fabric() {
    const YamlNode* fabric = root_.find("fabric");
    if (fabric == nullptr || !fabric->is_map()) return;
    const auto has = [&](std::string_view key) { return fabric->find(key) != nullptr; };
    if (has("hosts"))
      add({"fabric.hosts",
           "Fabric",
           "Hosts",
           KnobKind::kNumber,
           "",
           "",
           {},
           "With an incast: senders and one receiver."});
    if (has("spines"))
      add({"fabric.spines", "Fabric", "Spines", KnobKind::kNumber, "", "", {}, "Fewer of them: oversubscription."});
    if (has("switch"))
      add({"fabric.switch", "Fabric", "Switch", KnobKind::kSwitch, "", "", {}, "A switch of the catalog."});
    if (has("host")) {
      add({"fabric.host.nic", "Fabric", "NIC", KnobKind::kNic, "", "", {}, "A NIC of the catalog."});
      add({"fabric.host.mtu",
           "Fabric",
           "MTU of hosts",
           KnobKind::kSize,
           "",
           mtu_text(),
           {},
           "The path MTU is the largest of 256 to 4096 that fits: 4200 B for 4096."});
    }
    add({"fabric.cable.length",
         "Fabric",
         "Cable length",
         KnobKind::kLength,
         "",
         "",
         {},
         "To hosts. Headroom grows with it."});
  }

  std::string mtu_text() const {
    if (lab_.hosts.empty() || lab_.hosts.front().nics.empty() || lab_.hosts.front().nics.front().ports.empty())
      return "";
    return format_quantity(lab_.hosts.front().nics.front().ports.front().netdev_mtu_B, Quantity::kSize);
  }

  void add_qos() {
    if (lab_.switches.empty()) return;
    add({"qos.profile",
         "PFC",
         "QoS profile",
         KnobKind::kChoice,
         "",
         written("qos.profile").empty() ? "none" : "",
         {"none", "roce-lossless", "roce-lossy", "sonic-default"},
         "What the other keys of qos start from."});
    const auto hardware = std::find_if(lab_.switches.begin(), lab_.switches.end(),
                                       [](const SwitchConfig& node) { return !node.forwarder.has_value(); });
    if (hardware == lab_.switches.end()) return;
    const fabric::SwitchQos& qos = hardware->qos;
    const std::uint8_t priority = lab_.qos.priority;
    const std::uint8_t queue = qos.queue_of_priority[priority], group = qos.group_of_priority[priority];
    const fabric::EcnRamp& ecn = qos.queues[queue].ecn;
    const std::string at_queue = fmt::format("qos.queues.{}", queue), at_group = fmt::format("qos.groups.{}", group);
    const auto bytes = [](bool given, std::int64_t size_B) { return given ? size_text(size_B) : std::string("off"); };
    add({"qos.pfc.mode",
         "PFC",
         "Flow control",
         KnobKind::kChoice,
         "",
         std::string(mode_name(qos.flow_control)),
         {"pfc", "pause", "none"},
         "PFC by priority, 802.3x pause of the whole link, or none: then packets are lost."});
    add({at_group + ".alpha",
         "PFC",
         fmt::format("Alpha of group {}: exponent n of 2^n", group),
         KnobKind::kNumber,
         "",
         alpha_text(qos.groups[group].alpha_exponent),
         {},
         "An exponent from -3 to 7: the group may hold alpha = 2^n times what is free before XOFF. weft qos prints "
         "alpha "
         "itself."});
    add({at_group + ".headroom",
         "PFC",
         fmt::format("Headroom of group {}", group),
         KnobKind::kSize,
         "",
         "auto",
         {},
         "For what arrives after XOFF; auto: by rate and cable."});
    add({at_queue + ".ecn.min",
         "ECN",
         fmt::format("Kmin of queue {}", queue),
         KnobKind::kSize,
         "",
         bytes(ecn.enabled, ecn.min_B),
         {},
         "Nothing is marked below."});
    add({at_queue + ".ecn.max",
         "ECN",
         fmt::format("Kmax of queue {}", queue),
         KnobKind::kSize,
         "",
         bytes(ecn.enabled, ecn.max_B),
         {},
         "Everything is marked above."});
    add({at_queue + ".ecn.probability",
         "ECN",
         fmt::format("Pmax of queue {}", queue),
         KnobKind::kText,
         "",
         ecn.enabled ? fmt::format("{:g} %", ecn.probability_ppb / 1e7) : "off",
         {},
         "The share that is marked at Kmax."});
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
    add({"qos.congestion.algorithm",
         "Congestion control",
         "Algorithm",
         KnobKind::kChoice,
         "",
         std::string(algorithm_name(congestion.kind)),
         {"dcqcn", "hpcc", "timely", "swift", "off"},
         "Of all NICs."});
    if (congestion.kind != nic::CongestionKind::kDcqcn) return;
    const nic::DcqcnParameters& dcqcn = congestion.dcqcn;
    const auto parameter = [&](const char* name, std::uint32_t value, const char* help) {
      add({fmt::format("qos.congestion.{}", name),
           "Congestion control",
           name,
           KnobKind::kNumber,
           "",
           fmt::format("{}", value),
           {},
           help});
    };
    parameter("RPG_AI_RATE", dcqcn.rpg_ai_rate_Mbps, "Additive increase, Mb/s.");
    parameter("RPG_HAI_RATE", dcqcn.rpg_hai_rate_Mbps, "Hyper increase, Mb/s.");
    parameter("RPG_TIME_RESET", dcqcn.rpg_time_reset_us, "Time between increases, us.");
    parameter("RPG_MIN_DEC_FAC", dcqcn.rpg_min_dec_fac_percent, "A cut leaves at least so many percent.");
    parameter("DCE_TCP_G", dcqcn.dce_tcp_g, "(1 - g) times 1024: how fast alpha follows.");
    parameter("RATE_REDUCE_MONITOR_PERIOD", dcqcn.rate_reduce_monitor_period_us, "At most one cut in so many us.");
  }

  void add_workloads() {
    for (const WorkloadConfig& workload : lab_.workloads) {
      const std::string at = fmt::format("workloads[{}]", workload.name);
      for (const char* key : {"size", "load", "count", "messages", "args", "nccl", "iperf3", "start"}) {
        const std::string path = at + "." + key;
        if (written(path).empty()) continue;
        const bool is_size = std::string_view(key) == "size";
        add({path,
             "Workloads",
             fmt::format("{} of {}", key, workload.name),
             is_size ? KnobKind::kSize : KnobKind::kText,
             "",
             "",
             {},
             ""});
      }
    }
  }

  const Lab& lab_;
  const YamlNode& root_;
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
