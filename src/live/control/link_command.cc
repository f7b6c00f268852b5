// weft link NODE:PORT up|down|flap [DOWN [UP]]|show
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.h"
#include "live/control/command.h"
#include "store/json_text.h"
#include "text/problem.h"

namespace weft::live {

namespace {

constexpr std::string_view kOrders[] = {"up", "down", "flap", "show"};
constexpr Time_ps kFlapDown_ps = ms(1), kFlapUp_ps = ms(10);

CommandText link_state(CommandContext& context, std::size_t link) {
  const lab::LinkConfig& config = context.lab().links[link];
  const std::string a = lab::port_name(context.lab(), config.a), b = lab::port_name(context.lab(), config.b);
  const bool up = context.world().is_link_up(link);
  const std::vector<std::string> cuts = context.session.links().cuts_of(link);
  std::string reason;
  if (context.session.links().is_flapping(link)) reason = ", flaps";
  if (!cuts.empty()) reason += fmt::format(", cut by fault {}", fmt::join(cuts, " and "));
  store::JsonText json;
  json.open('{');
  json.add("a", a);
  json.add("b", b);
  json.add("up", up);
  json.add("down_by_command", context.session.links().is_down_by_order(link));
  json.add("flapping", context.session.links().is_flapping(link));
  json.open("cut_by", '[');
  for (const std::string& cut : cuts) json.item(cut);
  json.close(']');
  json.close('}');
  return {fmt::format("{} - {}: {}{}\n", a, b, up ? "up" : "down", reason), std::string(json.text())};
}

}  // namespace

CommandPlan plan_link(CommandContext& context, CommandWords words) {
  if (words.size() < 2) return problem("which link, and what?", "write weft link NODE:PORT up, down, flap or show");
  const auto port = cabled_port(context.lab(), words[0]);
  if (!port) return tl::unexpected(port.error());
  const std::size_t link = *context.world().link_at(*port);
  const std::string& order = words[1];
  if (std::find(std::begin(kOrders), std::end(kOrders), order) == std::end(kOrders))
    return problem(fmt::format("{} is not a state of a link", lab::in_quotes(order)),
                   did_you_mean(order, kOrders, "states"));
  if (words.size() > (order == "flap" ? 4U : 2U))
    return problem(fmt::format("{} is too much", lab::in_quotes(words.back())),
                   "write weft link NODE:PORT flap [DOWN [UP]], e.g. flap 1ms 10ms");
  Time_ps down_ps = kFlapDown_ps, up_ps = kFlapUp_ps;
  if (words.size() > 2) {
    const auto down = duration("flap", words[2]), up = duration("flap", words[words.size() - 1]);
    if (!down) return tl::unexpected(down.error());
    if (!up) return tl::unexpected(up.error());
    if (std::min(*down, *up) < us(1)) return problem("a flap of less than 1 us", "write 1us or more");
    down_ps = *down;
    up_ps = *up;
  }
  PlannedCommand plan;
  plan.asks = order == "show";
  plan.act = [&context, link, order, down_ps, up_ps](Time_ps now_ps) -> CommandOutcome {
    lab::LinkControl& links = context.session.links();
    if (order == "flap") links.flap(link, down_ps, up_ps, now_ps);
    if (order == "up" || order == "down") links.set_link(link, order == "up", now_ps);
    return link_state(context, link);
  };
  return plan;
}

}  // namespace weft::live
