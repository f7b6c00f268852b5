// Commands to a world that is up. A planner reads the words of one and checks them against the lab; what it plans
// happens at once or when the world's time has come to the stated moment. docs/commands.md shows them all.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "labfile/live_reader.h"
#include "world/session.h"

namespace weft::live {

using CommandProblem = lab::TextError;
using CommandWords = std::span<const std::string>;

// Output of a command: lines for people, and one JSON value.
struct CommandText {
  std::string text, json;
};
using CommandOutcome = tl::expected<CommandText, CommandProblem>;

struct PlannedCommand {
  std::function<CommandOutcome(Time_ps now_ps)> act;
  bool asks = false;  // changes nothing: happens at once and is not recorded
};
using CommandPlan = tl::expected<PlannedCommand, CommandProblem>;

class TapWriter;

// Objects that commands work on.
struct CommandContext {
  lab::Session& session;
  lab::LiveReader reader;
  // Overrides of the lab by `weft set`, in order.
  struct Setting {
    std::string port;  // that it is for; empty: all of the node
    std::string override;
  };
  std::vector<Setting> settings;
  std::map<std::uint32_t, std::shared_ptr<TapWriter>> taps;  // by number of the capture

  lab::World& world() { return session.world(); }
  const lab::Lab& lab() { return session.world().lab(); }
};

// The verb's own words, without its name.
CommandPlan plan_link(CommandContext& context, CommandWords words);
CommandPlan plan_fault(CommandContext& context, CommandWords words);
CommandPlan plan_impair(CommandContext& context, CommandWords words);
CommandPlan plan_set(CommandContext& context, CommandWords words);
CommandPlan plan_capture(CommandContext& context, CommandWords words);

inline tl::unexpected<CommandProblem> problem(std::string message, std::string remedy) {
  return tl::unexpected(CommandProblem{std::move(message), std::move(remedy)});
}
// "leaf0:swp1": a port with a cable.
tl::expected<lab::PortRef, CommandProblem> cabled_port(const lab::Lab& lab, const std::string& name);
// "h0:p0,leaf0:swp1", or "all".
tl::expected<std::vector<lab::PortRef>, CommandProblem> cabled_ports(const lab::Lab& lab, const std::string& names);
// "1.5 ms", "20us"; more than 0.
tl::expected<Time_ps, CommandProblem> duration(const std::string& what, const std::string& text);

}  // namespace weft::live
