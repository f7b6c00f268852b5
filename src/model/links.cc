// A link whose ends are known: its rate, FEC and delays.
#include <fmt/format.h>

#include <algorithm>

#include "catalog/front_ports.h"
#include "catalog/link_rules.h"
#include "model/draft.h"
#include "text/units.h"

namespace weft::lab {
namespace {

std::string device_name(const PortRef& port, const LabDraft& draft) {
  return port.is_switch() ? draft.lab.switches[port.host].model.name
                          : draft.lab.hosts[port.host].nics[port.nic].model.name;
}

bool choose_rate(const CableSpec& cable, LinkConfig& link, LabDraft& draft) {
  const auto a_bps = port_rates_bps(link.a, draft), b_bps = port_rates_bps(link.b, draft);
  std::vector<std::string> common;
  for (std::int64_t rate_bps : a_bps) {
    if (std::find(b_bps.begin(), b_bps.end(), rate_bps) == b_bps.end()) continue;
    if (link.rate_bps == 0) link.rate_bps = link.best_rate_bps = rate_bps;  // the highest
    common.push_back(format_quantity(rate_bps, Quantity::kBitRate));
    if (cable.rate_bps && cable.rate_bps->first == rate_bps) {
      link.rate_bps = rate_bps;
      return true;
    }
  }
  if (common.empty()) {
    draft.problems.add(
        cable.place,
        fmt::format("{} and {} have no rate in common", device_name(link.a, draft), device_name(link.b, draft)),
        "choose devices that share a rate: weft catalog show NAME lists link_rates");
    return false;
  }
  if (!cable.rate_bps) return true;
  draft.problems.add(
      cable.rate_bps->second,
      fmt::format("not both ports run at {}", format_quantity(cable.rate_bps->first, Quantity::kBitRate)),
      fmt::format("both run at {}", fmt::join(common, ", ")));
  return false;
}

// Some switches do not agree on RS-FEC with a NIC by themselves ([homelab]): the real link would stay down.
void warn_of_fec(const CableSpec& cable, const LinkConfig& link, LabDraft& draft) {
  if (cable.fec || link.fec == Fec::kNone) return;
  for (const PortRef& end : {link.a, link.b}) {
    if (!end.is_switch()) continue;
    const SwitchConfig& device = draft.lab.switches[end.host];
    if (device.model.fec_autonegotiation) continue;
    draft.warnings.add(
        cable.place, fmt::format("a real {} may not agree on FEC {} by itself", device.model.name, to_string(link.fec)),
        fmt::format("set it on both ends, and here: cable: {{fec: {}}}", to_string(link.fec)));
    return;
  }
}

// The most common silent failure of a link: it is up, and slower than both of its ports.
void warn_of_rate(const CableSpec& cable, const LinkConfig& link, LabDraft& draft) {
  const bool outside = (!link.a.is_switch() && draft.lab.hosts[link.a.host].outside) ||
                       (!link.b.is_switch() && draft.lab.hosts[link.b.host].outside);
  if (link.rate_bps >= link.best_rate_bps || outside) return;
  draft.warnings.add(cable.rate_bps ? cable.rate_bps->second : cable.place, slow_link_text(draft.lab, link),
                     fmt::format("for the full rate write rate: {}, or leave it out",
                                 format_quantity(link.best_rate_bps, Quantity::kBitRate)));
}

// As a cut of the whole run: frames, routes and `weft link` see one.
void cut_for_fec(const CableSpec& cable, const LinkConfig& link, LabDraft& draft) {
  if (link.fec == link.fec_b) return;
  FaultConfig cut;
  cut.from = link.a;
  cut.both_directions = true;
  cut.rule.name = "fec";
  cut.rule.action = fabric::FaultAction::kCut;
  draft.lab.faults.push_back(cut);
  draft.warnings.add(cable.fec_b->second,
                     fmt::format("{} has FEC {} and {} has FEC {}: the link stays down", port_name(draft.lab, link.a),
                                 to_string(link.fec), port_name(draft.lab, link.b), to_string(link.fec_b)),
                     "give both ends the same, or leave it out: then they agree by themselves");
}

bool choose_fec(const CableSpec& cable, LinkConfig& link, LabDraft& draft) {
  const Fec usual = auto_fec(link.rate_bps, link.cable, link.length_mm);
  link.fec = cable.fec ? cable.fec->first : usual;
  link.fec_b = cable.fec_b ? cable.fec_b->first : link.fec;
  for (const auto& [fec, written] : {std::pair(link.fec, &cable.fec), std::pair(link.fec_b, &cable.fec_b)}) {
    if (draft.catalog.fec_latency_ps(fec, link.rate_bps)) continue;
    draft.problems.add(
        *written ? (*written)->second : cable.place,
        fmt::format("there is no fec {} at {}", to_string(fec), format_quantity(link.rate_bps, Quantity::kBitRate)),
        fmt::format("leave it out: ports choose {} here", to_string(usual)));
    return false;
  }
  link.fec_latency_ps = *draft.catalog.fec_latency_ps(link.fec, link.rate_bps);
  warn_of_fec(cable, link, draft);
  cut_for_fec(cable, link, draft);
  return true;
}

}  // namespace

std::vector<std::int64_t> port_rates_bps(const PortRef& port, const LabDraft& draft) {
  if (port.is_switch()) {
    const fabric::FrontPorts* run = front_port(draft.lab.switches[port.host].model, port.port + 1);
    if (run != nullptr) return run->rates_bps;
    return {};
  }
  if (draft.lab.hosts[port.host].outside) return {ethernet_rates_bps().begin(), ethernet_rates_bps().end()};
  const nic::NicModel& model = draft.lab.hosts[port.host].nics[port.nic].model;
  std::vector<std::int64_t> rates_bps = {model.line_rate_bps};  // after a `set: {line_rate: …}`
  for (std::int64_t rate_bps : draft.catalog.link_rates_bps(model.name)) {
    if (rate_bps < model.line_rate_bps) rates_bps.push_back(rate_bps);
  }
  return rates_bps;
}

bool settle_link(const CableSpec& cable, LinkConfig& link, LabDraft& draft) {
  link.cable = cable.kind;
  link.length_mm = cable.length_mm;
  link.bit_error_rate = cable.bit_error_rate;
  link.latency_ps = cable.latency_ps;
  link.propagation_ps = link.length_mm * draft.catalog.cable(link.cable).propagation_ps_per_m / 1000;
  if (!choose_rate(cable, link, draft) || !cable.good || !choose_fec(cable, link, draft)) return false;
  warn_of_rate(cable, link, draft);
  return true;
}

}  // namespace weft::lab
