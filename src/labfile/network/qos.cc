// qos: the keys of the contract, of the lab and of a node alike.
#include <fmt/format.h>

#include <algorithm>

#include "labfile/sections.h"
#include "labfile/words.h"
#include "model/qos_check.h"
#include "text/units.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::kClasses;

constexpr std::uint64_t kMaxDscp = 63, kMaxClass = kClasses - 1;
constexpr Range<std::int64_t> kBufferSizes{0, std::int64_t{1} << 40};
constexpr Range<std::int64_t> kTimes{kMicrosecond_ps, 3600 * kSecond_ps};

class QosReader {
 public:
  QosReader(const YamlNode& node, QosContract& contract, ProblemList& problems)
      : map_(node, "qos", qos_keys(), problems), contract_(contract), device_(contract.device), problems_(problems) {}

  void read() {
    if (!map_.ok()) return;
    if (const YamlNode* node = map_.get("profile")) {
      if (const auto profile = read_choice<QosProfile>(*node, "profile", profile_words(), problems_))
        contract_ = qos_profile(*profile, map_.place());
    }
    read_host();
    read_maps();
    if (const YamlNode* node = map_.get("pfc")) read_pfc(*node);
    each_class("queues", [&](const YamlNode& node, std::uint8_t queue) { read_queue(node, queue); });
    each_class("groups", [&](const YamlNode& node, std::uint8_t group) { read_group(node, group); });
    if (const YamlNode* node = map_.get("buffer")) read_buffer(*node);
    if (const YamlNode* node = map_.get("congestion")) read_congestion(*node, contract_, problems_);
  }

 private:
  template <class Target>
  bool number(const MapReader& map, std::string_view key, Range<std::uint64_t> range, Target& target) {
    const YamlNode* node = map.get(key);
    return node != nullptr && store(target, read_unsigned(*node, key, range, problems_));
  }

  void read_host() {
    nic::PortQos& host = contract_.host;
    number(map_, "dscp", {0, kMaxDscp}, host.dscp);
    number(map_, "priority", {0, kMaxClass}, host.priority);
    number(map_, "cnp_dscp", {0, kMaxDscp}, host.cnp_dscp);
    number(map_, "cnp_priority", {0, kMaxClass}, host.cnp_priority);
    if (const YamlNode* node = map_.get("ecn")) store(host.ect, read_bool(*node, "ecn", problems_));
    for (std::string_view key : {"priority", "dscp"}) {
      if (const YamlNode* node = map_.get(key)) contract_.places.priority = node->place;
    }
    for (std::string_view key : {"cnp_priority", "cnp_dscp"}) {
      if (const YamlNode* node = map_.get(key)) contract_.places.cnp = node->place;
    }
  }

  void read_maps() {
    if (const YamlNode* node = map_.get("trust")) {
      contract_.places.trust = node->place;
      store(device_.trust, read_choice<fabric::Trust>(*node, "trust", trust_words(), problems_));
    }
    if (const YamlNode* node = map_.get("dscp_to_priority")) read_dscp_map(*node);
    const auto class_map = [&](std::string_view key, std::array<std::uint8_t, kClasses>& target) {
      each_class(key, [&](const YamlNode& node, std::uint8_t priority) {
        store(target[priority], read_unsigned(node, key, {0, kMaxClass}, problems_));
      });
    };
    class_map("priority_to_queue", device_.queue_of_priority);
    class_map("priority_to_group", device_.group_of_priority);
  }

  // {26: 3, 40-47: 5}
  void read_dscp_map(const YamlNode& node) {
    contract_.places.dscp_map = node.place;
    if (!is_map(node, "dscp_to_priority", "{26: 3, 40-47: 5}")) return;
    std::array<int, kMaxDscp + 1> lines{};
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const YamlKey& key = node.keys[i];
      const std::size_t dash = key.text.find('-');
      const auto first = parse_unsigned(std::string_view(key.text).substr(0, dash));
      const auto last = dash == std::string::npos ? first : parse_unsigned(std::string_view(key.text).substr(dash + 1));
      if (!first || !last || *first > *last || *last > kMaxDscp) {
        problems_.add(key.place, fmt::format("{} is not a DSCP", in_quotes(key.text)),
                      "write 0 to 63, or a range: 40-47: 5");
        continue;
      }
      const auto priority = read_unsigned(node.children[i], "priority", {0, kMaxClass}, problems_);
      for (std::uint64_t dscp = *first; priority && dscp <= *last; ++dscp) {
        if (lines[dscp] != 0) {
          problems_.add(key.place, fmt::format("DSCP {} is mapped twice", dscp),
                        fmt::format("the other is in line {}: keep one", lines[dscp]));
          break;
        }
        lines[dscp] = key.place.line;
        device_.priority_of_dscp[dscp] = static_cast<std::uint8_t>(*priority);
      }
    }
  }

  void read_pfc(const YamlNode& node) {
    contract_.places.pfc = node.place;
    const MapReader map(node, "pfc", pfc_keys(), problems_);
    std::optional<FlowControl> mode;
    if (const YamlNode* value = map.get("mode"))
      mode = read_choice<FlowControl>(*value, "mode", flow_control_words(), problems_);
    if (const YamlNode* value = map.get("priorities")) {
      contract_.places.pfc = value->place;
      contract_.lossless_priorities = 0;
      const auto* list = read_list(*value, "priorities", problems_);
      for (const YamlNode& item : list == nullptr ? std::vector<YamlNode>{} : *list) {
        if (const auto priority = read_unsigned(item, "priority", {0, kMaxClass}, problems_))
          contract_.lossless_priorities = static_cast<std::uint8_t>(contract_.lossless_priorities | 1U << *priority);
      }
      if (!mode && device_.flow_control == FlowControl::kNone) mode = FlowControl::kPfc;
    }
    if (mode) device_.flow_control = *mode;
    if (mode == FlowControl::kNone && map.get("priorities") == nullptr) contract_.lossless_priorities = 0;
    if (device_.flow_control != FlowControl::kNone && contract_.lossless_priorities == 0 &&
        map.get("priorities") == nullptr) {
      contract_.lossless_priorities = static_cast<std::uint8_t>(1U << contract_.host.priority);
    }
    number(map, "quanta", {1, 0xffff}, device_.pause_quanta);
    if (const YamlNode* value = map.get("watchdog")) read_watchdog(*value);
  }

  void read_watchdog(const YamlNode& node) {
    fabric::WatchdogConfig& watchdog = device_.watchdog;
    contract_.places.watchdog = node.place;
    watchdog.enabled = !is_off(node);
    if (!watchdog.enabled) return;
    const MapReader map(node, "watchdog", watchdog_keys(), problems_);
    const auto time = [&](std::string_view key, Time_ps& target) {
      if (const YamlNode* value = map.get(key))
        store(target, read_quantity(*value, key, Quantity::kTime, kTimes, problems_));
    };
    time("detection", watchdog.detection_ps);
    time("restoration", watchdog.restoration_ps);
    time("poll", watchdog.poll_ps);
    if (const YamlNode* value = map.get("action"))
      store(watchdog.action, read_choice<fabric::WatchdogAction>(*value, "action", watchdog_words(), problems_));
  }

  void read_queue(const YamlNode& node, std::uint8_t index) {
    fabric::QueueConfig& queue = device_.queues[index];
    contract_.places.queues[index] = node.place;
    const MapReader map(node, fmt::format("queue {}", index), queue_keys(), problems_);
    if (const YamlNode* value = map.get("scheduling"))
      store(queue.scheduling, read_choice<fabric::Scheduling>(*value, "scheduling", scheduling_words(), problems_));
    number(map, "weight", {1, 100}, queue.weight);
    exponent(map, queue.alpha_exponent);
    if (const YamlNode* value = map.get("reserved"))
      store(queue.reserved_B, read_quantity(*value, "reserved", Quantity::kSize, kBufferSizes, problems_));
    if (const YamlNode* value = map.get("ecn")) read_ecn(*value, index, queue.ecn);
  }

  void read_ecn(const YamlNode& node, std::uint8_t index, fabric::EcnRamp& ecn) {
    contract_.places.queues[index] = node.place;
    ecn.enabled = !is_off(node);
    if (!ecn.enabled) return;
    const bool is_new = ecn.max_B == 0;
    const MapReader map(node, "ecn", ecn_keys(), problems_);
    const auto size = [&](std::string_view key, std::int64_t& target) {
      const YamlNode* value = is_new ? map.require(key, fmt::format("{}: 150 kB", key)) : map.get(key);
      if (value != nullptr) store(target, read_quantity(*value, key, Quantity::kSize, kBufferSizes, problems_));
    };
    size("min", ecn.min_B);
    size("max", ecn.max_B);
    if (is_new) ecn.probability_ppb = 1'000'000'000;
    if (const YamlNode* value = map.get("probability"))
      store(ecn.probability_ppb,
            read_quantity(*value, "probability", Quantity::kProbability, {1, 1'000'000'000}, problems_));
    number(map, "average", {0, 15}, ecn.weight_exponent);
    if (const YamlNode* value = map.get("mark"))
      store(ecn.at_enqueue, read_choice<bool>(*value, "mark", mark_words(), problems_));
    if (const YamlNode* value = map.get("not_ect"))
      store(ecn.drops_not_ect, read_choice<bool>(*value, "not_ect", not_ect_words(), problems_));
    if (ecn.max_B > 0 && ecn.min_B > ecn.max_B) {
      problems_.add(
          node.place,
          fmt::format("ecn of queue {}: min {} is above max {}", index, format_quantity(ecn.min_B, Quantity::kSize),
                      format_quantity(ecn.max_B, Quantity::kSize)),
          "marking begins at min and is certain at max: swap them");
    }
  }

  void read_group(const YamlNode& node, std::uint8_t index) {
    GroupWish& wish = contract_.groups[index];
    contract_.places.groups[index] = node.place;
    const MapReader map(node, fmt::format("group {}", index), group_keys(), problems_);
    if (const YamlNode* value = map.get("lossless")) store(wish.lossless, read_bool(*value, "lossless", problems_));
    exponent(map, device_.groups[index].alpha_exponent);
    automatic(map, "reserved", wish.reserved_B);
    automatic(map, "xon", wish.xon_B);
    automatic(map, "xon_offset", wish.xon_offset_B);
    automatic(map, "headroom", wish.headroom_B);
  }

  void read_buffer(const YamlNode& node) {
    contract_.places.buffer = node.place;
    const MapReader map(node, "buffer", buffer_keys(), problems_);
    automatic(map, "ingress_pool", contract_.ingress_pool_B);
    automatic(map, "egress_pool", contract_.egress_pool_B);
    automatic(map, "headroom_pool", contract_.headroom_pool_B);
  }

  // A size, or `auto`: as the model has it.
  void automatic(const MapReader& map, std::string_view key, std::optional<std::int64_t>& target) {
    const YamlNode* node = map.get(key);
    if (node == nullptr) return;
    if (node->is_scalar() && node->text == "auto") {
      target.reset();
    } else {
      store(target, read_quantity(*node, key, Quantity::kSize, kBufferSizes, problems_));
    }
  }

  // alpha: -3 to 7, of 2^n.
  void exponent(const MapReader& map, std::int8_t& target) {
    constexpr std::uint64_t kLargest = 8;
    const YamlNode* node = map.get("alpha");
    if (node == nullptr) return;
    const bool negative = node->is_scalar() && node->text.starts_with('-');
    const auto value = parse_unsigned(std::string_view(node->text).substr(negative ? 1 : 0));
    if (!value || *value > kLargest) {
      problems_.add(node->place, fmt::format("alpha {} is not an exponent", in_quotes(node->text)),
                    "write n of 2^n, from -8 to 8: 0 allows as much as is free, 3 eight times that");
      return;
    }
    target = static_cast<std::int8_t>(negative ? -static_cast<int>(*value) : static_cast<int>(*value));
  }

  template <class Function>
  void each_class(std::string_view key, Function function) {
    const YamlNode* node = map_.get(key);
    if (node == nullptr || !is_map(*node, key, "{3: …}")) return;
    for (std::size_t i = 0; i < node->keys.size(); ++i) {
      const auto number = parse_unsigned(node->keys[i].text);
      if (number && *number <= kMaxClass) {
        function(node->children[i], static_cast<std::uint8_t>(*number));
      } else {
        problems_.add(node->keys[i].place, fmt::format("{}: {} is not a class", key, in_quotes(node->keys[i].text)),
                      "there are eight, 0 to 7");
      }
    }
  }

  bool is_map(const YamlNode& node, std::string_view key, std::string_view example) {
    if (!node.is_map())
      problems_.add(node.place, fmt::format("{} is not a map", key), fmt::format("write {}", example));
    return node.is_map();
  }

  static bool is_off(const YamlNode& node) { return node.is_scalar() && node.text == "off"; }

  MapReader map_;
  QosContract& contract_;
  fabric::SwitchQos& device_;
  ProblemList& problems_;
};

}  // namespace

void read_qos_keys(const YamlNode& node, QosContract& contract, ProblemList& problems) {
  QosReader(node, contract, problems).read();
}

void read_qos(const YamlNode* node, LabContext& context) {
  context.qos = qos_profile(QosProfile::kNone, node == nullptr ? Place{1, 1} : node->place);
  if (node != nullptr) read_qos_keys(*node, context.qos, context.problems);
  OwnContracts own;
  for (const auto& [name, sections] : context.sections) {
    if (sections.qos == nullptr) continue;
    read_qos_keys(*sections.qos, own.emplace(name, context.qos).first->second, context.problems);
  }
  resolve_qos(context, own);
}

}  // namespace weft::lab
