// faults: what goes wrong on which link or port.
#include <fmt/format.h>

#include "labfile/sections.h"
#include "labfile/words.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

using fabric::FaultAction;
using fabric::FaultFrames;
using fabric::FaultRule;

constexpr Range<std::int64_t> kWhen{0, 3600 * kSecond_ps};
constexpr Range<std::int64_t> kHowLong{1, 3600 * kSecond_ps};
constexpr std::uint64_t kMaxPsn = (1 << 24) - 1;

class FaultReader {
 public:
  FaultReader(const YamlNode& node, std::size_t index, LabContext& context)
      : context_(context),
        problems_(context.problems),
        index_(index),
        map_(node, fmt::format("faults[{}]", index), fault_keys(), context.problems) {}

  void read() {
    if (!map_.ok()) return;
    FaultConfig fault;
    read_where(fault);
    const YamlNode* action = map_.require("action", "action: drop");
    const auto chosen =
        action == nullptr ? std::nullopt : read_choice<FaultAction>(*action, "action", fault_action_words(), problems_);
    fault.rule.name = action == nullptr ? "" : fmt::format("{} #{}", action->text, index_ + 1);
    if (const YamlNode* name = map_.get("name")) store(fault.rule.name, read_text(*name, "name", problems_));
    read_selection(fault.rule);
    if (chosen) {
      fault.rule.action = *chosen;
      if (fabric::is_of_port(fault.rule.action)) check_host_port(fault);
      read_action(fault.rule);
    }
    context_.lab.faults.push_back(std::move(fault));
  }

 private:
  void read_where(FaultConfig& fault) {
    const YamlNode* link = map_.require("link", "link: \"vm00:p0\", the port that the frames leave");
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
    if (const YamlNode* both = map_.get("both_directions"))
      store(fault.both_directions, read_bool(*both, "both_directions", problems_));
  }

  void check_host_port(const FaultConfig& fault) {
    if (!fault.from.is_switch()) return;
    problems_.add(
        map_.get("link")->place,
        fmt::format("{} is what a NIC does, {} is a switch port", map_.get("action")->text, map_.get("link")->text),
        "name the port of a host");
  }

  void read_selection(FaultRule& rule) {
    if (const YamlNode* frames = map_.get("frames"))
      store(rule.frames, read_choice<FaultFrames>(*frames, "frames", fault_frames_words(), problems_));
    read_count("qp", {0, kMaxPsn}, rule.qp);
    read_count("psn", {0, kMaxPsn}, rule.psn);
    read_count("transmission", {1, 1000}, rule.transmission);
    if (rule.transmission && map_.get("psn") == nullptr) {
      problems_.add(map_.get("transmission")->place, "transmission without psn",
                    "name the packet: psn: 0 is the first of the QP");
    }
    if (const YamlNode* node = map_.get("probability")) {
      if (const auto ppb = read_quantity(*node, "probability", Quantity::kProbability, {1, 1'000'000'000}, problems_)) {
        rule.probability_ppb = static_cast<std::uint64_t>(*ppb);
      }
    }
    read_time("start", kWhen, rule.start_ps);
    read_time("end", kHowLong, rule.end_ps);
    if (rule.end_ps <= rule.start_ps) {
      problems_.add(map_.get("end")->place, "the fault ends before it starts",
                    "make end later than start; both count from the start of the run");
    }
  }

  void read_action(FaultRule& rule) {
    const bool is_link_state = rule.action == FaultAction::kCut || rule.action == FaultAction::kFlap;
    if (is_link_state || fabric::is_of_port(rule.action)) {
      for (std::string_view key : {"frames", "qp", "psn", "transmission", "probability"})
        forbid(key, is_link_state ? "cut and flap hit the whole link" : "it is about a port, not about frames");
    }
    if (fabric::is_of_port(rule.action)) forbid("both_directions", "it is about a port, not about a link");
    if (rule.action == FaultAction::kPauseStorm) {
      const YamlNode* node = map_.require("priority", "priority: 3");
      if (node != nullptr) store(rule.priority, read_unsigned(*node, "priority", {0, 7}, problems_));
    } else {
      forbid("priority", "only pause-storm has one");
    }
    if (rule.action == FaultAction::kSlowReceiver) {
      const YamlNode* node = map_.require("rate", "rate: 10 Gbps");
      if (node != nullptr)
        store(rule.rate_bps, read_quantity(*node, "rate", Quantity::kBitRate, {1, 1'600'000'000'000}, problems_));
    } else {
      forbid("rate", "only slow-receiver has one");
    }
    if (rule.action == FaultAction::kDelay) {
      need("delay", kHowLong, rule.delay_ps, "delay: 5 us");
    } else if (rule.action == FaultAction::kDuplicate) {
      read_time("delay", kWhen, rule.delay_ps);
    } else {
      forbid("delay", "only delay and duplicate have one");
    }
    if (rule.action == FaultAction::kFlap) {
      need("down", kHowLong, rule.flap_down_ps, "down: 100 us");
      need("up", kHowLong, rule.flap_up_ps, "up: 1 ms");
    } else {
      forbid("down", "only flap has it; a cut lasts from start to end");
      forbid("up", "only flap has it; a cut lasts from start to end");
    }
  }

  void read_count(std::string_view key, Range<std::uint64_t> range, std::optional<std::uint32_t>& target) {
    const YamlNode* node = map_.get(key);
    if (node == nullptr) return;
    if (const auto value = read_unsigned(*node, key, range, problems_)) target = static_cast<std::uint32_t>(*value);
  }

  void read_time(std::string_view key, Range<std::int64_t> range, Time_ps& target) {
    if (const YamlNode* node = map_.get(key))
      store(target, read_quantity(*node, key, Quantity::kTime, range, problems_));
  }

  void need(std::string_view key, Range<std::int64_t> range, Time_ps& target, std::string_view example) {
    map_.require(key, example);
    read_time(key, range, target);
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
