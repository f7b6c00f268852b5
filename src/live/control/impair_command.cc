// weft impair NODE:PORT show|off|WORDS of tc-netem
#include <fmt/format.h>

#include "live/control/command.h"
#include "store/json_text.h"

namespace weft::live {

namespace {

CommandText impairments_of(CommandContext& context, const lab::PortRef& port) {
  const std::string name = lab::port_name(context.lab(), port);
  const fabric::Impairer* impairer = context.world().impairer(context.world().port_id(port));
  store::JsonText json;
  json.open('{');
  json.add("port", name);
  if (impairer == nullptr) {
    json.add("impairment", nullptr);
    json.close('}');
    return {fmt::format("{}: not impaired\n", name), std::string(json.text())};
  }
  const fabric::Impairer::Counters& counters = impairer->counters();
  const std::string words = lab::impairment_text(impairer->impairment());
  json.add("impairment", words);
  json.add("frames", counters.frames);
  json.add("lost", counters.lost);
  json.add("over_limit", counters.over_limit);
  json.add("corrupted", counters.corrupted);
  json.add("duplicated", counters.duplicated);
  json.add("reordered", counters.reordered);
  json.add("delayed", counters.delayed);
  json.close('}');
  return {
      fmt::format("{}: {}\n  {} frames left the port: {} lost, {} lost over the limit, {} corrupted, {} duplicated, "
                  "{} reordered, {} delayed\n",
                  name, words, counters.frames, counters.lost, counters.over_limit, counters.corrupted,
                  counters.duplicated, counters.reordered, counters.delayed),
      std::string(json.text())};
}

}  // namespace

CommandPlan plan_impair(CommandContext& context, CommandWords words) {
  if (words.size() < 2)
    return problem("which port, and how?", "write weft impair NODE:PORT delay 10us loss 1%, show or off");
  const auto port = cabled_port(context.lab(), words[0]);
  if (!port) return tl::unexpected(port.error());
  const bool alone = words.size() == 2;
  std::optional<fabric::Impairment> impairment;
  PlannedCommand plan;
  plan.asks = alone && words[1] == "show";
  if (!plan.asks && !(alone && words[1] == "off")) {
    const auto read = lab::read_impairment(words.subspan(1));
    if (!read) return tl::unexpected(read.error());
    impairment = *read;
  }
  plan.act = [&context, port = *port, impairment, asks = plan.asks](Time_ps) -> CommandOutcome {
    if (!asks) context.world().impair(context.world().port_id(port), impairment);
    return impairments_of(context, port);
  };
  return plan;
}

}  // namespace weft::live
