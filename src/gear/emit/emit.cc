#include "gear/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/nearest.h"
#include "gear/emit/host.h"
#include "gear/emit/host_plan.h"
#include "gear/emit/switch.h"

namespace weft::gear {
namespace {

constexpr EmitTarget kTargets[] = {
    {"sonic", "SONiC: config_db.json, its commands, frr.conf"},
    {"nvue", "NVIDIA Cumulus Linux: nv set, the roce one-liner and the long form"},
    {"eos", "Arista EOS"},
    {"nxos", "Cisco NX-OS, eight queues"},
    {"routeros", "MikroTik RouterOS 7"},
    {"linux", "Linux: bridge, dcb and tc"},
    {"frr", "FRR: BGP of the routed Clos"},
    {"host", "Hosts: NIC QoS, DCQCN, MTU, NCCL", EmitOf::kHosts},
    {"containerlab", "containerlab: topology with FRR nodes and their configuration", EmitOf::kLab},
    {"air", "NVIDIA Air: topology as JSON", EmitOf::kLab},
};

using BackEnd = void (*)(const SwitchJob&, SwitchOutput&);

BackEnd back_end(std::string_view target) {
  if (target == "sonic") return emit_sonic;
  if (target == "nvue") return emit_nvue;
  if (target == "eos") return emit_eos;
  if (target == "nxos") return emit_nxos;
  if (target == "routeros") return emit_routeros;
  if (target == "linux") return emit_linux;
  return emit_frr;
}

// Systems that run on a device, by what the catalog says of it.
std::vector<std::string_view> systems_of(const lab::SwitchConfig& device) {
  if (device.forwarder) return {"linux", "frr"};
  const fabric::SwitchModel& model = device.model;
  std::vector<std::string_view> systems;
  if (model.sonic_platform != "none") systems.push_back("sonic");
  if (model.asic.starts_with("Spectrum")) {
    systems.push_back("nvue");
    systems.push_back("linux");  // mlxsw
  }
  if (model.description.starts_with("Arista")) systems.push_back("eos");
  if (model.description.starts_with("Cisco")) systems.push_back("nxos");
  if (model.description.starts_with("MikroTik")) systems.push_back("routeros");
  if (model.sonic_platform != "none") systems.push_back("frr");
  return systems;
}

EmitProblem not_for(const lab::SwitchConfig& device, std::string_view target) {
  const auto systems = systems_of(device);
  const std::string name = device.forwarder ? device.forwarder->model.name : device.model.name;
  return {device.name, LabPart::kModel, fmt::format("{}: {} does not run {}", device.name, name, target),
          systems.empty() ? "no target fits this device" : fmt::format("it runs {}", join(systems))};
}

class Emitter {
 public:
  Emitter(const lab::Lab& lab, std::string_view target, const EmitOptions& options)
      : lab_(lab), target_(target), options_(options), plan_(routing_plan(lab)) {}

  tl::expected<Emission, std::vector<EmitProblem>> run() {
    if (const lab::HostConfig* host = lab::first_with_bond(lab_); host != nullptr && target_ == "containerlab") {
      problems_.push_back({host->name, LabPart::kModel,
                           fmt::format("{} has a bond, which is not written for containerlab", host->name),
                           "leave lag out at its links, and give each port an address"});
      return tl::unexpected(std::move(problems_));
    }
    if (target_ == "host") {
      emit_hosts();
    } else if (target_ == "containerlab") {
      if (plan_.problems.empty()) emit_containerlab(lab_, plan_, options_, emission_);
      problems_ = plan_.problems;
    } else if (target_ == "air") {
      emit_air(lab_, emission_);
    } else {
      emit_switches();
    }
    if (problems_.empty() && emission_.files.empty()) {
      problems_.push_back({"", LabPart::kModel, fmt::format("no node of this lab runs {}", target_),
                           "name a node to see what it runs"});
    }
    if (!problems_.empty()) return tl::unexpected(std::move(problems_));
    return std::move(emission_);
  }

 private:
  void emit_hosts() {
    for (std::uint32_t i = 0; i < lab_.hosts.size(); ++i) {
      const lab::HostConfig& host = lab_.hosts[i];
      if (!options_.node.empty() && host.name != options_.node) continue;
      if (host.outside || host.nics.empty()) continue;
      if (std::all_of(host.nics.begin(), host.nics.end(), [](const auto& nic) { return nic.ports.empty(); })) {
        const std::string why =
            fmt::format("no NIC of {} has a port of its own: virtual machines have them", host.name);
        if (options_.node.empty()) emission_.notes.push_back({host.name, why});
        if (!options_.node.empty()) problems_.push_back({host.name, LabPart::kModel, why, "name a virtual machine"});
        continue;
      }
      SwitchOutput out(emission_, host.name);
      emit_host(lab_, i, plan_, options_, out);
      if (!own_gpus(lab_, i).empty() && !has_job_) {
        has_job_ = true;
        nccl_job(lab_, host_plan(lab_, i, plan_, options_), emission_);
      }
    }
    if (options_.node.empty() && problems_.empty()) perftest_pairs(lab_, plan_, options_, emission_);
  }

  void emit_switches() {
    for (std::uint32_t i = 0; i < lab_.switches.size(); ++i) {
      const lab::SwitchConfig& device = lab_.switches[i];
      if (!options_.node.empty() && device.name != options_.node) continue;
      if (!runs(device, target_)) {
        // Asked for all nodes, others may fit.
        if (!options_.node.empty() || lab_.switches.size() == 1) problems_.push_back(not_for(device, target_));
        if (options_.node.empty() && lab_.switches.size() > 1)
          emission_.notes.push_back({device.name, not_for(device, target_).message});
        continue;
      }
      emit_switch(i);
    }
  }

  void emit_switch(std::uint32_t i) {
    const lab::SwitchConfig& device = lab_.switches[i];
    SwitchOutput out(emission_, device.name);
    if (device.forwarder && target_ == "linux") {
      emit_linux_forwarder(lab_, i, out);
      return;
    }
    const SwitchJob job{lab_, i, contract_of(lab_, i), plan_, options_};
    if (!device.forwarder) {
      const auto wrong = contract_problems(job.contract);
      problems_.insert(problems_.end(), wrong.begin(), wrong.end());
    }
    if (target_ == "frr" && !plan_.routed && plan_.problems.empty()) {
      problems_.push_back({"", LabPart::kAddresses, "all hosts are in one subnet: there is nothing to route",
                           "give the hosts of each leaf a subnet of their own"});
    }
    if (plan_.routed || target_ == "frr") {
      for (const EmitProblem& problem : plan_.problems) problems_.push_back(problem);
    }
    if (!problems_.empty()) return;
    if (!device.forwarder) {
      for (std::string& gap : contract_gaps(job.contract)) out.note(std::move(gap));
    }
    back_end(target_)(job, out);
    problems_.insert(problems_.end(), out.problems().begin(), out.problems().end());
  }

  const lab::Lab& lab_;
  const std::string target_;
  const EmitOptions& options_;
  const RoutingPlan plan_;
  Emission emission_;
  std::vector<EmitProblem> problems_;
  bool has_job_ = false;
};

std::optional<EmitProblem> wrong_node(const lab::Lab& lab, const EmitTarget& target, const std::string& node) {
  if (node.empty()) return std::nullopt;
  if (target.of == EmitOf::kLab)
    return EmitProblem{"", LabPart::kNone,
                       fmt::format("--for {} writes the whole lab: {} is one node", target.name, node),
                       "leave the node out"};
  std::vector<std::string_view> hosts, switches;
  for (const auto& host : lab.hosts) hosts.push_back(host.name);
  for (const auto& device : lab.switches) switches.push_back(device.name);
  const bool of_hosts = target.of == EmitOf::kHosts;
  const auto& [fitting, others] = of_hosts ? std::tie(hosts, switches) : std::tie(switches, hosts);
  const auto has = [&](const std::vector<std::string_view>& names) {
    return std::find(names.begin(), names.end(), node) != names.end();
  };
  if (has(fitting)) return std::nullopt;
  if (has(others))
    return EmitProblem{"", LabPart::kNone,
                       fmt::format("{} is a {}: --for {} is for {}", node, of_hosts ? "switch" : "host", target.name,
                                   of_hosts ? "hosts" : "switches"),
                       of_hosts ? "name a host" : "name a switch, or write --for host"};
  return EmitProblem{"", LabPart::kNone, fmt::format("the lab has no {} {}", of_hosts ? "host" : "switch", node),
                     did_you_mean(node, fitting, of_hosts ? "hosts" : "switches")};
}

// An option that the target has no use for.
std::optional<EmitProblem> wrong_option(const EmitTarget& target, const EmitOptions& options) {
  const auto wrong = [&](std::string_view option, std::string_view for_what) {
    return EmitProblem{"", LabPart::kNone, fmt::format("{} has no meaning with --for {}", option, target.name),
                       fmt::format("it is for {}", for_what)};
  };
  const bool hosts = target.of == EmitOf::kHosts;
  if (options.network && !hosts) return wrong("--network", "--for host");
  if (options.stack && !hosts) return wrong("--stack", "--for host");
  if (options.management && !hosts) return wrong("--management", "--for host");
  if (options.sonic_vs && target.name != "containerlab") return wrong("--sonic-vs", "--for containerlab");
  if (options.numbered && (hosts || target.name == "air"))
    return wrong("--numbered", "switches and --for containerlab: hosts have the same routes either way");
  return std::nullopt;
}

}  // namespace

bool runs(const lab::SwitchConfig& device, std::string_view target) {
  const auto systems = systems_of(device);
  return std::find(systems.begin(), systems.end(), target) != systems.end();
}

bool is_interface_name(std::string_view name) {
  constexpr std::size_t kLongest = 15;  // IFNAMSIZ, less the zero at its end
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-' || c == '@';
  };
  return !name.empty() && name.size() <= kLongest && name != "." && name != ".." && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), fits);
}

std::span<const EmitTarget> emit_targets() {
  return kTargets;
}

tl::expected<Emission, std::vector<EmitProblem>> emit(const lab::Lab& lab, std::string_view target,
                                                      const EmitOptions& options) {
  std::vector<std::string_view> names;
  for (const EmitTarget& each : kTargets) names.push_back(each.name);
  const auto found = std::find_if(std::begin(kTargets), std::end(kTargets),
                                  [&](const EmitTarget& each) { return each.name == target; });
  using Problems = std::vector<EmitProblem>;
  if (found == std::end(kTargets)) {
    return tl::unexpected(
        Problems{{"", LabPart::kNone, fmt::format("no target {}", target), did_you_mean(target, names, "targets")}});
  }
  if (options.management && !is_interface_name(*options.management)) {
    return tl::unexpected(
        Problems{{"", LabPart::kNone, fmt::format("{} is no name of an interface", *options.management),
                  "name the interface of the management network: eno1"}});
  }
  if (auto wrong = wrong_option(*found, options)) return tl::unexpected(Problems{*std::move(wrong)});
  if (auto wrong = wrong_node(lab, *found, options.node)) return tl::unexpected(Problems{*std::move(wrong)});
  return Emitter(lab, target, options).run();
}

}  // namespace weft::gear
