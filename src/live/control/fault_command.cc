// weft fault add KEY=VALUE …|list|remove NUMBER|NAME|all
#include <fmt/format.h>

#include "base/nearest.h"
#include "labfile/live_reader.h"
#include "live/control/command.h"
#include "store/json_text.h"
#include "text/problem.h"

namespace weft::live {

namespace {

constexpr std::size_t kMostFaults = 1000;  // on one cable every frame is held against each
constexpr std::string_view kFaultWords[] = {"add", "list", "remove"};

void add_json(store::JsonText& json, CommandContext& context, const lab::WorldFault& fault) {
  const fabric::FaultRule& rule = fault.config.rule;
  json.add("number", fault.number);
  json.add("name", rule.name);
  json.add("link", lab::port_name(context.lab(), fault.config.from));
  json.add("both_directions", fault.config.both_directions);
  json.add("start_ps", rule.start_ps);
  if (rule.end_ps == kNever_ps) {
    json.add("end_ps", nullptr);
  } else {
    json.add("end_ps", rule.end_ps);
  }
  json.add("hits", context.world().fault_hits(fault.number));
}

CommandText list(CommandContext& context) {
  std::string text = fmt::format("{:>6}  {:<24} {:<16} {:>10}  {}\n", "NUMBER", "NAME", "LINK", "HITS", "WHEN");
  store::JsonText json;
  json.open('[');
  for (const lab::WorldFault& fault : context.world().faults()) {
    const fabric::FaultRule& rule = fault.config.rule;
    const std::string end =
        rule.end_ps == kNever_ps ? "" : fmt::format(" to {}", lab::format_quantity(rule.end_ps, lab::Quantity::kTime));
    text += fmt::format(
        "{:>6}  {:<24} {:<16} {:>10}  from {}{}\n", fault.number, rule.name,
        lab::port_name(context.lab(), fault.config.from) + (fault.config.both_directions ? " both" : ""),
        context.world().fault_hits(fault.number), lab::format_quantity(rule.start_ps, lab::Quantity::kTime), end);
    json.open_item('{');
    add_json(json, context, fault);
    json.close('}');
  }
  json.close(']');
  return {text, std::string(json.text())};
}

// Finds a fault by number, or by name when it is the only one of that name.
tl::expected<std::uint32_t, CommandProblem> find(CommandContext& context, const std::string& which) {
  const auto number = lab::parse_unsigned(which);
  std::vector<std::uint32_t> found;
  std::vector<std::string> names;
  for (const lab::WorldFault& fault : context.world().faults()) {
    names.push_back(fault.config.rule.name);
    if ((number && fault.number == *number) || fault.config.rule.name == which) found.push_back(fault.number);
  }
  if (found.size() == 1) return found.front();
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (found.empty())
    return problem(
        fmt::format("there is no fault {}", lab::in_quotes(which)),
        known.empty() ? "the world has no faults; weft fault list shows them" : did_you_mean(which, known, "faults"));
  return problem(fmt::format("{} faults are named {}", found.size(), lab::in_quotes(which)),
                 "give the number that weft fault list shows");
}

// A port of a NIC has one storm and one slow receiver.
std::optional<std::string> misfit(CommandContext& context, const lab::FaultConfig& fault, Time_ps now_ps) {
  if (fault.rule.end_ps <= now_ps) return "its end has passed";
  if (context.world().faults().size() >= kMostFaults) return fmt::format("the world has {} faults", kMostFaults);
  if (!fabric::is_of_port(fault.rule.action)) return std::nullopt;
  for (const lab::WorldFault& other : context.world().faults()) {
    if (other.config.from == fault.from && other.config.rule.action == fault.rule.action)
      return fmt::format("the port has {} already", other.config.rule.name);
  }
  if (context.world().device(context.world().port_id(fault.from)) == nullptr) return "the port is not a NIC's";
  return std::nullopt;
}

CommandPlan plan_add(CommandContext& context, CommandWords words) {
  if (words.empty())
    return problem("which fault?", "write it in the words of the lab file, e.g. weft fault add link=h0:p0 action=drop");
  auto fault = context.reader.fault(words, context.world().next_fault());
  if (!fault) return tl::unexpected(fault.error());
  PlannedCommand plan;
  plan.act = [&context,
              words = std::vector<std::string>(words.begin(), words.end())](Time_ps now_ps) -> CommandOutcome {
    auto read = context.reader.fault(words, context.world().next_fault());
    if (!read) return tl::unexpected(read.error());
    if (const auto why = misfit(context, *read, now_ps))
      return problem(fmt::format("{} cannot be added: {}", read->rule.name, *why),
                     "weft fault list shows what there is");
    const std::uint32_t number = context.session.links().add_fault(std::move(*read), now_ps);
    const lab::WorldFault& added = context.world().faults().back();
    store::JsonText json;
    json.open('{');
    add_json(json, context, added);
    json.close('}');
    return CommandText{fmt::format("fault {}: {} on {}\n", number, added.config.rule.name,
                                   lab::port_name(context.lab(), added.config.from)),
                       std::string(json.text())};
  };
  return plan;
}

CommandPlan plan_remove(CommandContext& context, CommandWords words) {
  if (words.size() != 1) return problem("which fault?", "write weft fault remove NUMBER, NAME or all");
  PlannedCommand plan;
  plan.act = [&context, which = words.front()](Time_ps now_ps) -> CommandOutcome {
    std::vector<std::uint32_t> numbers;
    if (which == "all") {
      for (const lab::WorldFault& fault : context.world().faults()) numbers.push_back(fault.number);
    } else if (const auto number = find(context, which)) {
      numbers.push_back(*number);
    } else {
      return tl::unexpected(number.error());
    }
    for (const std::uint32_t number : numbers) context.session.links().remove_fault(number, now_ps);
    return CommandText{fmt::format("{} removed\n", numbers.size()), fmt::format("{{\"removed\":{}}}", numbers.size())};
  };
  return plan;
}

}  // namespace

CommandPlan plan_fault(CommandContext& context, CommandWords words) {
  if (words.empty()) return problem("add, list or remove?", "write weft fault add, list or remove");
  if (words[0] == "add") return plan_add(context, words.subspan(1));
  if (words[0] == "remove") return plan_remove(context, words.subspan(1));
  if (words[0] != "list")
    return problem(fmt::format("no fault command {}", lab::in_quotes(words[0])),
                   did_you_mean(words[0], kFaultWords, "ones"));
  PlannedCommand plan;
  plan.asks = true;
  plan.act = [&context](Time_ps) -> CommandOutcome { return list(context); };
  return plan;
}

}  // namespace weft::live
