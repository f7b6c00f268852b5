#include "labfile/network/lags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "text/units.h"

namespace weft::lab {
namespace {

std::string ends_text(const Lab& lab, const LinkConfig& link) {
  return fmt::format("{} and {}", lab.switches[link.a.host].name, lab.switches[link.b.host].name);
}

bool same_ends(const LinkConfig& x, const LinkConfig& y) {
  return (x.a.host == y.a.host && x.b.host == y.b.host) || (x.a.host == y.b.host && x.b.host == y.a.host);
}

// True when nothing is wrong with this member beside the first.
bool check_member(const std::string& name, const Place& place, const LinkConfig& link, const LinkConfig& first,
                  LabContext& context) {
  if (is_of_host(link)) {
    context.problems.add(place,
                         fmt::format("{} joins two switches before, and {} is a host's port", in_quotes(name),
                                     port_name(context.lab, link.a.is_switch() ? link.b : link.a)),
                         "a bond has a name of its own: give this link and that of the other port another one");
    return false;
  }
  if (!same_ends(link, first)) {
    context.problems.add(place,
                         fmt::format("{} joins {} here and {} before", in_quotes(name), ends_text(context.lab, link),
                                     ends_text(context.lab, first)),
                         "its links join the same two switches: give others another name");
    return false;
  }
  if (link.rate_bps != first.rate_bps && link.rate_bps != 0 && first.rate_bps != 0) {
    context.problems.add(
        place,
        fmt::format("{} has links of {} and {}", in_quotes(name), format_quantity(first.rate_bps, Quantity::kBitRate),
                    format_quantity(link.rate_bps, Quantity::kBitRate)),
        "802.1AX takes members of one rate: write the same cable: {rate: ...} at each");
    return false;
  }
  return true;
}

}  // namespace

void LagReader::add(const YamlNode& name, bool joined, LabContext& context) {
  const auto text = read_name(name, "lag", context.problems);
  if (!text) return;
  const bool taken = std::any_of(context.lab.lags.begin(), context.lab.lags.end(),
                                 [&](const LagConfig& lag) { return lag.name == *text; });
  auto found = named_.find(*text);
  if (found == named_.end()) {
    if (taken) {
      context.problems.add(name.place, fmt::format("{} is a LAG of the fabric", in_quotes(*text)),
                           "take another name: its members are those of the template");
      return;
    }
    found = named_.emplace(*text, Named{static_cast<std::uint32_t>(context.lab.lags.size()), {}, true}).first;
    context.lab.lags.push_back({*text, {}});
  }
  found->second.places.push_back(name.place);
  found->second.complete = found->second.complete && joined;
  context.lab.lags[found->second.lag].links.push_back(static_cast<std::uint32_t>(context.lab.links.size()));
}

void LagReader::settle(LabContext& context) const {
  for (const auto& [name, named] : named_) {
    const std::vector<std::uint32_t>& links = context.lab.lags[named.lag].links;
    for (std::uint32_t link : links) context.lab.links[link].lag = named.lag;
    if (!named.complete) {
      leave_bond(named.lag, context);
      continue;
    }
    if (is_of_host(context.lab.links[links[0]])) {
      settle_bond(name, named.places, named.lag, context);
      continue;
    }
    bool sound = true;
    for (std::size_t i = 0; i < links.size() && sound; ++i)
      sound = check_member(name, named.places[i], context.lab.links[links[i]], context.lab.links[links[0]], context);
    if (sound && links.size() == 1)
      context.problems.add(named.places[0], fmt::format("{} has one link", in_quotes(name)),
                           "give it to the parallel links too, or leave it out");
  }
}

void check_lag_balancing(LabContext& context, const YamlNode* routing) {
  std::vector<bool> has_lag(context.lab.switches.size());
  for (const LinkConfig& link : context.lab.links) {
    for (const PortRef& end : {link.a, link.b}) {
      if (link.lag && end.is_switch()) has_lag[end.host] = true;
    }
  }
  for (const auto& [name, node] : context.nodes) {
    if (!node.is_switch || !has_lag[node.index]) continue;
    const fabric::Balancing balancing = context.lab.switches[node.index].routing.balancing;
    if (balancing == fabric::Balancing::kEcmp) continue;
    const YamlNode* own = context.sections_of(name).routing;
    const YamlNode* written = own != nullptr && own->find("balancing") != nullptr ? own : routing;
    context.problems.add(
        written == nullptr ? node.place : written->find("balancing")->place,
        fmt::format("{} has a LAG and balancing: {}", name,
                    *field_text(*kRoutingKeys.find("balancing"), &context.lab.switches[node.index].routing)),
        "the member of a LAG is chosen by hash: write balancing: ecmp, or leave out lag, so that each "
        "cable is a path");
    return;
  }
}

}  // namespace weft::lab
