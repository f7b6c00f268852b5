// A cable, and what follows once it is known which ports it joins: rate, FEC and delays.
#include <fmt/format.h>

#include <algorithm>

#include "lab/front_ports.h"
#include "lab/lab_sections.h"
#include "lab/lab_words.h"
#include "lab/link_rules.h"

namespace weft::lab {
namespace {

constexpr double kMaxBitErrorRate = 1e-3;  // beyond it no frame of any size arrives

std::string device_name(const PortRef& port, const LabContext& context) {
  return port.is_switch() ? context.lab.switches[port.host].model.name
                          : context.lab.hosts[port.host].nics[port.nic].model.name;
}

bool choose_rate(const CableSpec& cable, LinkConfig& link, LabContext& context) {
  const auto a_bps = port_rates_bps(link.a, context), b_bps = port_rates_bps(link.b, context);
  std::vector<std::string> common;
  for (std::int64_t rate_bps : a_bps) {
    if (std::find(b_bps.begin(), b_bps.end(), rate_bps) == b_bps.end()) continue;
    if (link.rate_bps == 0) link.rate_bps = rate_bps;  // the highest
    common.push_back(format_quantity(rate_bps, Quantity::kBitRate));
    if (cable.rate_bps && cable.rate_bps->first == rate_bps) {
      link.rate_bps = rate_bps;
      return true;
    }
  }
  if (common.empty()) {
    context.problems.add(
        cable.place,
        fmt::format("{} and {} have no rate in common", device_name(link.a, context), device_name(link.b, context)),
        "choose devices that share a rate: weft catalog show NAME lists link_rates");
    return false;
  }
  if (!cable.rate_bps) return true;
  context.problems.add(
      cable.rate_bps->second,
      fmt::format("not both ports run at {}", format_quantity(cable.rate_bps->first, Quantity::kBitRate)),
      fmt::format("both run at {}", fmt::join(common, ", ")));
  return false;
}

// Some switches do not agree on RS-FEC with a NIC by themselves (facts CATALOG): the real link would stay down.
void warn_of_fec(const CableSpec& cable, const LinkConfig& link, LabContext& context) {
  if (cable.fec || link.fec == Fec::kNone) return;
  for (const PortRef& end : {link.a, link.b}) {
    if (!end.is_switch()) continue;
    const SwitchConfig& device = context.lab.switches[end.host];
    if (device.model.fec_autonegotiation) continue;
    context.warnings.add(
        cable.place, fmt::format("a real {} may not agree on FEC {} by itself", device.model.name, to_string(link.fec)),
        fmt::format("set it on both ends, and here: cable: {{fec: {}}}", to_string(link.fec)));
    return;
  }
}

bool choose_fec(const CableSpec& cable, LinkConfig& link, LabContext& context) {
  link.fec = cable.fec ? cable.fec->first : auto_fec(link.rate_bps, link.cable, link.length_mm);
  const auto latency_ps = context.catalog.fec_latency_ps(link.fec, link.rate_bps);
  if (latency_ps) {
    link.fec_latency_ps = *latency_ps;
    warn_of_fec(cable, link, context);
    return true;
  }
  context.problems.add(
      cable.fec ? cable.fec->second : cable.place,
      fmt::format("there is no fec {} at {}", to_string(link.fec), format_quantity(link.rate_bps, Quantity::kBitRate)),
      fmt::format("leave it out: ports choose {} here",
                  to_string(auto_fec(link.rate_bps, link.cable, link.length_mm))));
  return false;
}

}  // namespace

std::vector<std::int64_t> port_rates_bps(const PortRef& port, const LabContext& context) {
  if (port.is_switch()) {
    const fabric::FrontPorts* run = front_port(context.lab.switches[port.host].model, port.port + 1);
    if (run != nullptr) return run->rates_bps;
    return {};
  }
  if (context.lab.hosts[port.host].outside) return {ethernet_rates_bps().begin(), ethernet_rates_bps().end()};
  const nic::NicModel& model = context.lab.hosts[port.host].nics[port.nic].model;
  std::vector<std::int64_t> rates_bps = {model.line_rate_bps};  // after a `set: {line_rate: …}`
  for (std::int64_t rate_bps : context.catalog.link_rates_bps(model.name)) {
    if (rate_bps < model.line_rate_bps) rates_bps.push_back(rate_bps);
  }
  return rates_bps;
}

CableSpec read_cable(const YamlNode& node, LabContext& context) {
  ProblemList& problems = context.problems;
  const std::size_t problems_before = problems.size();
  CableSpec cable;
  cable.place = node.place;
  const MapReader map(node, "cable", cable_keys(), problems);
  if (const YamlNode* kind = map.get("kind"))
    store(cable.kind, read_choice<CableKind>(*kind, "cable kind", cable_words(), problems));
  if (const YamlNode* length = map.get("length")) {
    store(cable.length_mm, read_quantity(*length, "cable length", Quantity::kLength, {1, 1'000'000'000}, problems));
    const std::int64_t max_mm = context.catalog.cable(cable.kind).max_length_mm;
    if (cable.length_mm > max_mm) {
      problems.add(length->place,
                   fmt::format("a {} of {}: they end at {}", to_string(cable.kind), length->text,
                               format_quantity(max_mm, Quantity::kLength)),
                   cable.kind == CableKind::kDac   ? "use an aoc or fibre"
                   : cable.kind == CableKind::kAoc ? "use a shorter cable, or fibre"
                                                   : "write a shorter length");
    }
  }
  if (const YamlNode* rate = map.get("rate")) {
    if (const auto rate_bps = read_quantity(*rate, "rate", Quantity::kBitRate, {}, problems))
      cable.rate_bps = {*rate_bps, rate->place};
  }
  if (const YamlNode* fec = map.get("fec"); fec != nullptr && fec->text != "auto") {
    std::vector<std::string_view> words = {"auto"};
    for (const auto& word : fec_words()) words.push_back(word.text);
    if (const auto index = read_word(*fec, "fec", words, problems))
      cable.fec = {fec_words()[*index - 1].value, fec->place};
  }
  if (const YamlNode* latency = map.get("latency"))
    store(cable.latency_ps, read_quantity(*latency, "latency", Quantity::kTime, {1, kSecond_ps}, problems));
  if (const YamlNode* rate = map.get("bit_error_rate")) {
    const auto value = read_number(*rate, "bit_error_rate", problems);
    if (value && (*value < 0 || *value > kMaxBitErrorRate)) {
      problems.add(rate->place, fmt::format("bit_error_rate {} is out of range", rate->text),
                   "it goes from 0 to 1e-3, after FEC; a good link has 1e-15");
    }
    store(cable.bit_error_rate, value);
  }
  cable.good = problems.size() == problems_before;
  return cable;
}

bool settle_link(const CableSpec& cable, LinkConfig& link, LabContext& context) {
  link.cable = cable.kind;
  link.length_mm = cable.length_mm;
  link.bit_error_rate = cable.bit_error_rate;
  link.latency_ps = cable.latency_ps;
  link.propagation_ps = link.length_mm * context.catalog.cable(link.cable).propagation_ps_per_m / 1000;
  return choose_rate(cable, link, context) && cable.good && choose_fec(cable, link, context);
}

}  // namespace weft::lab
