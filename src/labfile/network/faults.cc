// faults: what goes wrong on which link or port.
#include <fmt/format.h>

#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

using fabric::FaultAction;
using fabric::FaultRule;

constexpr Range<std::int64_t> kHowLong{1, 3600 * kSecond_ps};

class FaultReader {
 public:
  FaultReader(const YamlNode& node, std::size_t index, LabContext& context)
      : context_(context),
        problems_(context.problems),
        index_(index),
        map_(node, fmt::format("faults[{}]", index), kFaultKeys, context.problems) {}

  void read() {
    if (!map_.ok()) return;
    FaultConfig fault;
    read_where(fault);
    const YamlNode* action = map_.get("action");
    const bool chosen = map_.read(kFaultKeys, "action", fault);
    fault.rule.name = action == nullptr ? "" : fmt::format("{} #{}", action->text, index_ + 1);
    map_.read(kFaultKeys, "name", fault);
    read_selection(fault);
    if (chosen) {
      if (fabric::is_of_port(fault.rule.action)) check_host_port(fault);
      read_action(fault);
    }
    context_.lab.faults.push_back(std::move(fault));
  }

 private:
  void read_where(FaultConfig& fault) {
    const YamlNode* link = map_.require("link");
    PortState* port = link == nullptr ? nullptr : read_port(*link, "link", context_);
    if (port != nullptr) {
      fault.from = port->ref;
      if (is_vf(context_.lab, port->ref)) {
        problems_.add(link->place,
                      fmt::format("{} is a virtual function and has no cable of its own", in_quotes(link->text)),
                      fmt::format("name {}", port_name(context_.lab, carrier_of(context_.lab, port->ref))));
      } else if (!port->link && context_.links_complete) {
        problems_.add(link->place, fmt::format("{} has no cable", in_quotes(link->text)),
                      "name a port that a link uses");
      }
    }
    map_.read(kFaultKeys, "both_directions", fault);
  }

  void check_host_port(const FaultConfig& fault) {
    if (!fault.from.is_switch()) return;
    problems_.add(
        map_.get("link")->place,
        fmt::format("{} is what a NIC does, {} is a switch port", map_.get("action")->text, map_.get("link")->text),
        "name the port of a host");
  }

  void read_selection(FaultConfig& fault) {
    for (std::string_view key : {"frames", "qp", "psn", "transmission", "probability", "start", "end"})
      map_.read(kFaultKeys, key, fault);
    const FaultRule& rule = fault.rule;
    if (rule.transmission && map_.get("psn") == nullptr) {
      problems_.add(map_.get("transmission")->place, "transmission without psn",
                    "name the packet: psn: 0 is the first of the QP");
    }
    if (rule.end_ps <= rule.start_ps) {
      problems_.add(map_.get("end")->place, "the fault ends before it starts",
                    "make end later than start; both count from the start of the run");
    }
  }

  void read_action(FaultConfig& fault) {
    const FaultRule& rule = fault.rule;
    const bool is_link_state = rule.action == FaultAction::kCut || rule.action == FaultAction::kFlap;
    if (is_link_state || fabric::is_of_port(rule.action)) {
      for (std::string_view key : {"frames", "qp", "psn", "transmission", "probability"})
        forbid(key, is_link_state ? "cut and flap hit the whole link" : "it is about a port, not about frames");
    }
    if (fabric::is_of_port(rule.action)) forbid("both_directions", "it is about a port, not about a link");
    if (rule.action == FaultAction::kPauseStorm) {
      need("priority", "priority: 3", fault);
    } else {
      forbid("priority", "only pause-storm has one");
    }
    if (rule.action == FaultAction::kSlowReceiver) {
      need("rate", "rate: 10 Gbps", fault);
    } else {
      forbid("rate", "only slow-receiver has one");
    }
    if (rule.action == FaultAction::kDelay) {
      const YamlNode* delay = map_.require("delay", "delay: 5 us");
      if (delay != nullptr)
        store(fault.rule.delay_ps, read_quantity(*delay, "delay", Quantity::kTime, kHowLong, problems_));
    } else if (rule.action == FaultAction::kDuplicate) {
      map_.read(kFaultKeys, "delay", fault);
    } else {
      forbid("delay", "only delay and duplicate have one");
    }
    if (rule.action == FaultAction::kFlap) {
      need("down", "down: 100 us", fault);
      need("up", "up: 1 ms", fault);
    } else {
      forbid("down", "only flap has it; a cut lasts from start to end");
      forbid("up", "only flap has it; a cut lasts from start to end");
    }
  }

  void need(std::string_view key, std::string_view example, FaultConfig& fault) {
    map_.require(key, example);
    map_.read(kFaultKeys, key, fault);
  }

  void forbid(std::string_view key, std::string_view why) {
    const YamlNode* node = map_.get(key);
    if (node == nullptr) return;
    problems_.add(node->place, fmt::format("{} does not go with action {}", key, map_.get("action")->text),
                  std::string(why));
  }

  LabContext& context_;
  ProblemList& problems_;
  std::size_t index_;
  MapReader map_;
};

}  // namespace

void read_faults(const YamlNode& node, LabContext& context) {
  const auto* list = read_list(node, "faults", context.problems);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) read_fault((*list)[i], i, context);
}

void read_fault(const YamlNode& node, std::size_t index, LabContext& context) {
  FaultReader(node, index, context).read();
}

}  // namespace weft::lab
