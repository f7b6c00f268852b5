// A fabric plan as text, JSON, a list of cables and a lab file that `weft run` takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "gear/choose/transport.h"
#include "gear/plan/fabric.h"
#include "tools/perftest/budget.h"

namespace weft::gear {
namespace {

constexpr std::size_t kMaxSwitchesInText = 64;

using PlanJson = nlohmann::ordered_json;

std::string lab_name(const FabricPlan& plan) {
  return fmt::format("plan-{}gpu-{}", plan.options.gpus, speed_name(plan.options.rate_bps));
}

std::string plan_sentence(const FabricPlan& plan) {
  return fmt::format("{} GPUs in {}, {} of {} each", plan.options.gpus, counted(plan.hosts, "host"),
                     counted(plan.options.nics_per_host, "NIC"), speed_name(plan.options.rate_bps));
}

std::string money_text(const NumberRange& range) {
  return range.low == range.high ? fmt::format("{:.0f}", range.low)
                                 : fmt::format("{:.0f} to {:.0f}", range.low, range.high);
}

std::string bill_table(const FabricPlan& plan) {
  std::string out = "| item | count | USD each | W each, typical / most | price from |\n|---|---|---|---|---|\n";
  for (const BillItem& item : plan.bill)
    out += fmt::format("| {} | {} | {} | {:g} / {:g} | {} |\n", item.what, item.count,
                       item.price_USD ? money_text(*item.price_USD) : "not known", item.watts_typical, item.watts_max,
                       item.source);
  out += fmt::format("| sum | | {} | {:.0f} / {:.0f} | |\n", money_text(plan.price_USD()), plan.watts_typical(),
                     plan.watts_max());
  return out;
}

// Budget against the sum, and what costs most.
std::string budget_text(const FabricPlan& plan) {
  const auto within = plan.within_budget();
  if (!within) return "";
  const NumberRange sum = plan.price_USD();
  const double budget = *plan.options.budget_USD;
  std::string out = fmt::format("budget {:.0f} USD: ", budget);
  if (*within == Answer::kYes) return out + "the sum is within it\n";
  if (*within == Answer::kUnknown)
    out += plan.all_priced() ? fmt::format("may suffice: prices are ranges, {} USD together", money_text(sum))
                             : "not known: some prices are missing";
  else
    out += fmt::format("exceeded by {:.0f} USD at least", sum.low - budget);
  const auto cost = [](const BillItem& item) {
    return item.price_USD ? item.price_USD->low * static_cast<double>(item.count) : 0;
  };
  const auto dearest = std::max_element(plan.bill.begin(), plan.bill.end(),
                                        [&](const BillItem& a, const BillItem& b) { return cost(a) < cost(b); });
  return out + fmt::format("; {} {} cost most, {:.0f} USD or more\n", dearest->count, dearest->what, cost(*dearest));
}

// One cable after the other: without a switch nothing else shares it.
std::string cable_workloads(const FabricPlan& plan) {
  std::string out, expect;
  for (std::size_t i = 0; i < plan.cables.size(); ++i) {
    out +=
        fmt::format("  - {{name: cable{}, perftest: write_bw, client: \"{}\", server: \"{}\", args: --report_gbits}}\n",
                    i, plan.cables[i].from, plan.cables[i].to);
    expect += fmt::format("  cable{}.bw_average_Gbps: {{min: {:g}}}\n", i,
                          0.9 * static_cast<double>(plan.cables[i].rate_bps) / 1e9);
  }
  return out + "\nexpect:\n" + expect;
}

std::string switch_table(const FabricPlan& plan) {
  std::string out = "| switch | model | AS | loopback | subnets | ports left |\n|---|---|---|---|---|---|\n";
  for (const FabricSwitch& device : plan.switches)
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", device.name, device.model,
                       device.asn == 0 ? "" : std::to_string(device.asn), device.loopback,
                       fmt::join(device.subnets, ", "), device.ports_left);
  return out;
}

// GPU r is beside NIC r in a DGX; other hosts have no slots that would say so.
bool has_slots(const FabricPlan& plan) {
  constexpr std::uint32_t kDgxSlots = 8;
  return plan.options.gpus_per_host <= kDgxSlots && plan.options.nics_per_host <= kDgxSlots;
}

std::string gpu_list(const FabricPlan& plan) {
  std::vector<std::string> gpus;
  for (std::uint32_t gpu = 0; gpu < plan.options.gpus_per_host; ++gpu)
    gpus.push_back(has_slots(plan) ? fmt::format("{{model: {}, slot: gpu{}}}", plan.options.gpu, gpu)
                                   : plan.options.gpu);
  return fmt::format("    gpus: [{}]\n", fmt::join(gpus, ", "));
}

}  // namespace

std::string fabric_lab(const FabricPlan& plan) {
  std::string out = fmt::format(
      "# {}: {}.\n# {}. Written by weft plan fabric; the management network is beside it (network: management).\n"
      "version: 1\nname: {}\ndescription: {}, {} and {}\n\nnodes:\n",
      lab_name(plan), plan_sentence(plan), plan.why, lab_name(plan), plan_sentence(plan),
      plan.leaves == 1 ? "1 leaf" : fmt::format("{} leaves", plan.leaves),
      counted(plan.spines, "spine") + (plan.cores == 0 ? "" : " and " + counted(plan.cores, "core")));
  for (std::uint32_t host = 0; host < plan.hosts; ++host) {
    out += fmt::format("  h{}:\n    kind: host\n{}{}    nics:\n", host, has_slots(plan) ? "    host: dgx-h100\n" : "",
                       gpu_list(plan));
    for (std::uint32_t nic = 0; nic < plan.options.nics_per_host; ++nic) {
      const FabricHostPort& port = plan.host_ports[nic * plan.hosts + host];
      out +=
          fmt::format("      - {{model: {}{}, ports: {{p{}: {{address: {}, mtu: {} B}}}}}}\n", plan.nic,
                      has_slots(plan) ? fmt::format(", slot: nic{}", nic) : "", nic, port.address, plan.options.mtu_B);
    }
  }
  for (const FabricSwitch& device : plan.switches)
    out += fmt::format("  {}: {{kind: switch, model: {}}}\n", device.name, device.model);
  out += "\nlinks:\n";
  for (const FabricCable& cable : plan.cables)
    out += fmt::format("  - {{endpoints: [\"{}\", \"{}\"], cable: {{kind: {}, length: {} m, rate: {:g} Gbps}}}}\n",
                       cable.from, cable.to, cable.kind, cable.length_m, static_cast<double>(cable.rate_bps) / 1e9);
  // A watchdog ends a pause storm that would spread over several switches; SONiC's times.
  const std::int64_t headroom_B = planned_headroom_B(plan);
  out += "\nqos:\n  profile: roce-lossless\n";
  if (plan.spines > 0) out += "  pfc: {watchdog: {detection: 200 ms, restoration: 200 ms, action: drop}}\n";
  if (headroom_B > 0)
    out += fmt::format("  groups: {{3: {{headroom: {} kB}}}}  # the vendor's is for smaller frames\n",
                       (headroom_B + 999) / 1000);
  if (plan.switches.empty()) return out + "\nworkloads:\n" + cable_workloads(plan);
  out +=
      "\nworkloads:\n"
      "  - {name: permutation, flows: permutation, hosts: all, size: 1 MB}\n\n"
      "expect:\n  permutation.done: {equal: " +
      std::to_string(plan.host_ports.size()) + "}\n  fabric.drops: {equal: 0}\n";
  return out;
}

std::string fabric_text(const FabricPlan& plan) {
  std::string out = fmt::format("# Fabric for {}\n\n## Data\n\n", plan_sentence(plan));
  if (plan.spines == 0) {
    if (plan.leaves > 0) out += fmt::format("1 switch, {}\n", plan.leaf_model);
  } else {
    if (plan.cores == 0) {
      out += fmt::format("{} leaves ({}) and {} spines ({})\n", plan.leaves, plan.leaf_model, plan.spines,
                         plan.spine_model);
    } else {
      out += fmt::format("{} leaves ({}), {} spines in {} pods and {} cores ({}); core planes of {}\n", plan.leaves,
                         plan.leaf_model, plan.spines, plan.pods, plan.cores, plan.spine_model,
                         plan.cores / (plan.spines / plan.pods));
    }
    out += fmt::format("each leaf: {} of hosts at {}, {} at {}; oversubscription {:.2g}:1\n",
                       counted(plan.down_ports, "port"), speed_name(plan.options.rate_bps),
                       counted(plan.uplinks, "uplink"), speed_name(plan.uplink_rate_bps), plan.oversubscription);
  }
  out += plan.why + "\n";
  if (plan.routed) out += "BGP unnumbered, each switch its own AS (RFC 7938), ECMP over the spines\n";
  out += counted(plan.cables.size(), "cable") + "\n";
  if (plan.switches.size() > kMaxSwitchesInText) {
    out += fmt::format("{} switches, {} to {}: --out DIR writes switches.csv\n", plan.switches.size(),
                       plan.switches.front().name, plan.switches.back().name);
  } else if (!plan.switches.empty()) {
    out += "\n" + switch_table(plan);
  }
  out += fmt::format(
      "\n## Management\n\n{} of 1 GbE for {}: a port for each host, its BMC and each switch; SSH, Prometheus, NTP, "
      "syslog\n"
      "hosts {} on, BMCs {} on, switches {} on; no device of the data fabric is on the way\n",
      counted(plan.management_switches, "switch"), counted(plan.management_ports, "port"), management_address(0, 0),
      management_address(1, 0), management_address(2, 0));
  out += "\n## Cost and power\n\n" + bill_table(plan) + "GPUs, hosts and racks are not in it.\n" + budget_text(plan);
  TransportSituation situation;
  situation.gpus = plan.options.gpus;
  out += "\n## RoCE or InfiniBand\n\n" + transport_text(advise_transport(situation));
  if (!plan.notes.empty()) out += "\n## Notes\n\n";
  for (const std::string& note : plan.notes) out += "- " + note + "\n";
  return out;
}

std::string fabric_json(const FabricPlan& plan) {
  PlanJson j;
  j["gpus"] = plan.options.gpus;
  j["hosts"] = plan.hosts;
  j["nics_per_host"] = plan.options.nics_per_host;
  j["rate_Gbps"] = static_cast<double>(plan.options.rate_bps) / 1e9;
  j["nic"] = plan.nic;
  j["leaves"] = plan.leaves;
  j["spines"] = plan.spines;
  j["leaf_model"] = plan.leaf_model;
  if (plan.spines > 0) j["spine_model"] = plan.spine_model;
  if (plan.cores > 0) {
    j["pods"] = plan.pods;
    j["cores"] = plan.cores;
  }
  j["down_ports"] = plan.down_ports;
  j["uplinks"] = plan.uplinks;
  j["uplink_rate_Gbps"] = static_cast<double>(plan.uplink_rate_bps) / 1e9;
  j["oversubscription"] = plan.oversubscription;
  j["routed"] = plan.routed;
  j["why"] = plan.why;
  j["switches"] = PlanJson::array();
  for (const FabricSwitch& device : plan.switches) {
    PlanJson row = {{"name", device.name}, {"model", device.model}, {"ports_left", device.ports_left}};
    if (device.asn > 0) row["as"] = device.asn;
    if (!device.loopback.empty()) row["loopback"] = device.loopback;
    row["subnets"] = device.subnets;
    j["switches"].push_back(std::move(row));
  }
  j["cables"] = PlanJson::array();
  for (const FabricCable& cable : plan.cables)
    j["cables"].push_back({{"from", cable.from},
                           {"to", cable.to},
                           {"kind", cable.kind},
                           {"length_m", cable.length_m},
                           {"rate_Gbps", static_cast<double>(cable.rate_bps) / 1e9}});
  j["addresses"] = PlanJson::object();
  for (const FabricHostPort& port : plan.host_ports)
    j["addresses"][fmt::format("h{}:p{}", port.host, port.nic)] = port.address;
  j["management"] = {{"switches", plan.management_switches}, {"ports", plan.management_ports}};
  j["bill"] = PlanJson::array();
  for (const BillItem& item : plan.bill) {
    PlanJson row = {{"item", item.what}, {"count", item.count}};
    if (item.price_USD) row["price_USD"] = {item.price_USD->low, item.price_USD->high};
    row["watts_typical"] = item.watts_typical;
    row["watts_max"] = item.watts_max;
    row["source"] = item.source;
    j["bill"].push_back(std::move(row));
  }
  j["price_USD"] = {plan.price_USD().low, plan.price_USD().high};
  if (const auto within = plan.within_budget())
    j["budget"] = {{"USD", *plan.options.budget_USD},
                   {"within", *within == Answer::kYes  ? "yes"
                              : *within == Answer::kNo ? "no"
                                                       : "not known"}};
  j["watts_typical"] = plan.watts_typical();
  j["watts_max"] = plan.watts_max();
  j["notes"] = plan.notes;
  return j.dump(2) + "\n";
}

std::vector<PlannedFile> fabric_files(const FabricPlan& plan) {
  std::string cables = "from,to,kind,length_m,rate_Gbps\n";
  for (const FabricCable& cable : plan.cables)
    cables += fmt::format("{},{},{},{},{:g}\n", cable.from, cable.to, cable.kind, cable.length_m,
                          static_cast<double>(cable.rate_bps) / 1e9);
  std::string switches = "switch,model,as,loopback,subnets,ports_left\n";
  for (const FabricSwitch& device : plan.switches)
    switches +=
        fmt::format("{},{},{},{},{},{}\n", device.name, device.model, device.asn == 0 ? "" : std::to_string(device.asn),
                    device.loopback, fmt::join(device.subnets, " "), device.ports_left);
  std::string management = "device,address\n";
  for (std::uint32_t host = 0; host < plan.hosts; ++host)
    management +=
        fmt::format("h{},{}\nh{}-bmc,{}\n", host, management_address(0, host), host, management_address(1, host));
  for (std::uint32_t i = 0; i < plan.switches.size(); ++i)
    management += fmt::format("{},{}\n", plan.switches[i].name, management_address(2, i));
  return {{"plan.md", fabric_text(plan)}, {"plan.json", fabric_json(plan)}, {"lab.yaml", fabric_lab(plan)},
          {"cables.csv", cables},         {"switches.csv", switches},       {"management.csv", management}};
}

}  // namespace weft::gear
