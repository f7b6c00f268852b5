#include "labfile/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "labfile/lab_fields.h"
#include "labfile/shapes.h"
#include "model/qos_fields.h"
#include "text/schema.h"
#include "text/units.h"
#include "text/yaml_tree.h"

namespace weft::lab {

namespace {

// Gathers knobs that fit the lab, with what its file says.
class KnobList {
 public:
  KnobList(const Lab& lab, const YamlNode& root) : lab_(lab), root_(root) {}

  std::vector<Knob> take() {
    add_fabric();
    add_qos();
    add_workloads();
    group_ = "Run";
    add(*kLabKeys.find("seed"), "", "", fmt::format("{}", lab_.seed));
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
  void add(const FieldInfo& field, const std::string& prefix, const std::string& of, std::string in_force) {
    std::string path = prefix + std::string(field.key);
    std::string value = written(path);
    if (in_force.empty()) in_force = value;
    std::vector<std::string> choices;
    if (field.value.kind == FieldKind::kChoice) {
      for (std::string_view word : field.value.words.texts()) choices.emplace_back(word);
    }
    knobs_.push_back({std::move(path), group_, std::string(field.notes.title) + of, kind_of(field.value),
                      std::move(value), std::move(in_force), std::move(choices), plain_text(field.help)});
  }

  // The rows that have a title; `object` has what is in force.
  void add_rows(const Section& section, const std::string& prefix, const std::string& of, const void* object) {
    for (const FieldInfo& field : section.fields) {
      if (field.notes.title.empty()) continue;
      const auto text = object == nullptr ? std::nullopt : field_text(field, object);
      add(field, prefix, of, text.value_or(std::string(field.value.also)));
    }
  }

  static KnobKind kind_of(const ValueInfo& value) {
    if (value.names == nic_names) return KnobKind::kNic;
    if (value.names == switch_names) return KnobKind::kSwitch;
    if (value.kind == FieldKind::kNumber || value.load != nullptr) {
      if (value.kind == FieldKind::kChoice) return KnobKind::kChoice;
      if (value.kind != FieldKind::kQuantity) return KnobKind::kNumber;
    }
    if (value.kind == FieldKind::kChoice) return KnobKind::kChoice;
    if (value.kind == FieldKind::kBytes) return KnobKind::kSize;
    if (value.kind != FieldKind::kQuantity) return KnobKind::kText;
    return value.quantity == Quantity::kSize     ? KnobKind::kSize
           : value.quantity == Quantity::kTime   ? KnobKind::kTime
           : value.quantity == Quantity::kLength ? KnobKind::kLength
                                                 : KnobKind::kText;
  }

  // Of a lab with a template: where the file has the key.
  void add_fabric() {
    const YamlNode* fabric = root_.find("fabric");
    if (fabric == nullptr || !fabric->is_map()) return;
    group_ = "Fabric";
    for (const FieldInfo& field : kFabricKeys.fields) {
      if (!field.notes.title.empty() && fabric->find(field.key) != nullptr) add(field, "fabric.", "", "");
    }
    if (fabric->find("host") != nullptr) {
      for (const FieldInfo& field : kFabricHostKeys.fields) {
        if (!field.notes.title.empty()) add(field, "fabric.host.", "", field.key == "mtu" ? mtu_text() : "");
      }
    }
    add_rows(kCableKeys, "fabric.cable.", "", nullptr);
  }

  std::string mtu_text() const {
    if (lab_.hosts.empty() || lab_.hosts.front().nics.empty() || lab_.hosts.front().nics.front().ports.empty())
      return "";
    return format_quantity(lab_.hosts.front().nics.front().ports.front().netdev_mtu_B, Quantity::kSize);
  }

  // What is in force at the first switch, in the class of RoCE.
  void add_qos() {
    QosContract now;
    now.host = lab_.qos;
    group_ = "PFC";
    if (!lab_.switches.empty())
      add(*kQosKeys.find("profile"), "qos.", "", written("qos.profile").empty() ? "none" : "");
    const auto hardware = std::find_if(lab_.switches.begin(), lab_.switches.end(),
                                       [](const SwitchConfig& node) { return !node.forwarder.has_value(); });
    if (hardware != lab_.switches.end()) {
      now.device = hardware->qos;
      const std::uint8_t priority = lab_.qos.priority;
      const std::uint8_t queue = now.device.queue_of_priority[priority], group = now.device.group_of_priority[priority];
      add_rows(kPfcKeys, "qos.pfc.", "", &now);
      const std::string at_group = fmt::format("qos.groups.{}.", group), of_group = fmt::format(" of group {}", group);
      add_rows(kGroupKeys, at_group, of_group, &now.device.groups[group]);
      add_rows(kGroupWishKeys, at_group, of_group, nullptr);
      group_ = "ECN";
      const std::string at_queue = fmt::format("qos.queues.{}.ecn.", queue);
      const fabric::EcnRamp& ecn = now.device.queues[queue].ecn;
      for (const FieldInfo& field : kEcnKeys.fields) {
        if (!field.notes.title.empty())
          add(field, at_queue, fmt::format(" of queue {}", queue),
              ecn.enabled ? field_text(field, &ecn).value_or("") : "off");
      }
    }
    group_ = "Congestion control";
    add_rows(kCongestionKeys, "qos.congestion.", "", &now);
    if (const auto* own = congestion_keys(now.host.congestion.kind)) add_rows(*own, "qos.congestion.", "", &now);
  }

  void add_workloads() {
    group_ = "Workloads";
    for (const WorkloadConfig& workload : lab_.workloads) {
      const std::string prefix = fmt::format("workloads[{}].", workload.name);
      for (std::string_view key : kWorkloadKeys.keys()) {
        const FieldInfo& field = *kWorkloadKeys.find(key);
        if (!field.notes.title.empty() && !written(prefix + std::string(key)).empty())
          add(field, prefix, " of " + workload.name, "");
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
