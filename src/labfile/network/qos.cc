// qos: the keys of the contract, of the lab and of a node alike.
#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "labfile/sections.h"
#include "model/qos_check.h"
#include "model/qos_fields.h"
#include "model/qos_words.h"
#include "text/units.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::kClasses;

constexpr std::uint64_t kMaxDscp = 63, kMaxClass = kClasses - 1;

class QosReader {
 public:
  QosReader(const YamlNode& node, QosContract& contract, ProblemList& problems)
      : map_(node, "qos", kQosKeys, problems), contract_(contract), device_(contract.device), problems_(problems) {}

  void read() {
    if (!map_.ok()) return;
    if (const YamlNode* node = map_.get("profile")) {
      if (const auto profile = read_choice<QosProfile>(*node, "profile", profile_words(), problems_))
        contract_ = qos_profile(*profile, map_.place());
    }
    map_.read(kQosKeys, contract_);
    note_places();
    read_maps();
    if (const YamlNode* node = map_.get("pfc")) read_pfc(*node);
    each_class("queues", [&](const YamlNode& node, std::uint8_t queue) { read_queue(node, queue); });
    each_class("groups", [&](const YamlNode& node, std::uint8_t group) { read_group(node, group); });
    if (const YamlNode* node = map_.get("buffer")) read_buffer(*node);
    if (const YamlNode* node = map_.get("congestion")) read_congestion(*node, contract_, problems_);
  }

 private:
  void note_places() {
    QosPlaces& places = contract_.places;
    const std::pair<std::string_view, Place*> kPlaces[] = {{"priority", &places.priority},
                                                           {"dscp", &places.priority},
                                                           {"cnp_priority", &places.cnp},
                                                           {"cnp_dscp", &places.cnp},
                                                           {"trust", &places.trust}};
    for (const auto& [key, place] : kPlaces) {
      if (const YamlNode* node = map_.get(key)) *place = node->place;
    }
  }

  void read_maps() {
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
    const MapReader map(node, "pfc", kPfcKeys, problems_);
    map.read(kPfcKeys, contract_);
    const YamlNode* priorities = map.get("priorities");
    if (priorities != nullptr) {
      contract_.places.pfc = priorities->place;
      if (map.get("mode") == nullptr && device_.flow_control == FlowControl::kNone)
        device_.flow_control = FlowControl::kPfc;
    } else if (device_.flow_control == FlowControl::kNone) {
      if (map.get("mode") != nullptr) contract_.lossless_priorities = 0;
    } else if (contract_.lossless_priorities == 0) {
      contract_.lossless_priorities = static_cast<std::uint8_t>(1U << contract_.host.priority);
    }
    if (const YamlNode* value = map.get("watchdog")) read_watchdog(*value);
  }

  void read_watchdog(const YamlNode& node) {
    fabric::WatchdogConfig& watchdog = device_.watchdog;
    contract_.places.watchdog = node.place;
    watchdog.enabled = !is_off(node);
    if (watchdog.enabled) MapReader(node, "watchdog", kWatchdogKeys, problems_).read(kWatchdogKeys, watchdog);
  }

  void read_queue(const YamlNode& node, std::uint8_t index) {
    fabric::QueueConfig& queue = device_.queues[index];
    contract_.places.queues[index] = node.place;
    const MapReader map(node, fmt::format("queue {}", index), kQueueKeys, problems_);
    map.read(kQueueKeys, queue);
    if (const YamlNode* value = map.get("ecn")) read_ecn(*value, index, queue.ecn);
  }

  void read_ecn(const YamlNode& node, std::uint8_t index, fabric::EcnRamp& ecn) {
    contract_.places.queues[index] = node.place;
    ecn.enabled = !is_off(node);
    if (!ecn.enabled) return;
    const MapReader map(node, "ecn", kEcnKeys, problems_);
    if (ecn.max_B == 0) {
      for (std::string_view key : {"min", "max"}) map.require(key, fmt::format("{}: 150 kB", key));
      ecn.probability_ppb = 1'000'000'000;
    }
    map.read(kEcnKeys, ecn);
    if (ecn.max_B > 0 && ecn.min_B > ecn.max_B) {
      problems_.add(node.place,
                    fmt::format("ecn of queue {}: min {} is above max {}", index, exact_size_text(ecn.min_B),
                                exact_size_text(ecn.max_B)),
                    "marking begins at min and is certain at max: swap them");
    }
  }

  void read_group(const YamlNode& node, std::uint8_t index) {
    contract_.places.groups[index] = node.place;
    const MapReader map(node, fmt::format("group {}", index), kGroupKeys, problems_);
    map.read(kGroupKeys, device_.groups[index]);
    map.read(kGroupWishKeys, contract_.groups[index]);
  }

  void read_buffer(const YamlNode& node) {
    contract_.places.buffer = node.place;
    MapReader(node, "buffer", kBufferKeys, problems_).read(kBufferKeys, contract_);
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
