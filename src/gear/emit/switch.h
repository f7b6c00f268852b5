// Input of a back end of a switch, and the back ends: each appends its files and notes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gear/emit/contract.h"
#include "gear/emit/emit.h"
#include "gear/emit/routes.h"

namespace weft::gear {

// How a system names the front ports of a switch that runs it.
using PortNamer = std::string (*)(const fabric::SwitchModel& model, const ContractPort& port);

// One switch, and the plan that it is part of.
struct SwitchJob {
  const lab::Lab& lab;
  std::uint32_t device;
  Contract contract;
  const RoutingPlan& plan;
  const EmitOptions& options;

  const Router& router() const { return plan.routers[device]; }
  bool routes() const { return plan.routed; }
  // The port of this number, in the lab's own order; it has a cable.
  const ContractPort& port(std::uint32_t number) const;
  // MTU of the interface that routes for these hosts: the largest of its ports. Its default is 1500 on most systems.
  std::int64_t vlan_mtu_B(const RoutedVlan& vlan) const;
  // The other end of a cable: "spine0:Ethernet4/1" where that switch runs the target too, else as the lab has it.
  std::string peer_name(const ContractPort& port, std::string_view target, PortNamer name) const;
  // The LAG that a port is a member of, or null.
  const SwitchLag* lag_of(std::uint32_t port) const;
  // Routed link of a LAG, or null: a host's bond.
  const RoutedLink* link_of(const SwitchLag& lag) const;
  // Interface that routes over a link: the LAG, as `lag` and its number, or the port.
  std::string link_name(const RoutedLink& link, std::string_view lag, PortNamer name) const;
  // Members of a LAG, as the system names them.
  std::vector<std::string> member_names(const SwitchLag& lag, PortNamer name) const;
  bool hashes_ports() const { return lab.switches[device].routing.lag_hash_ports; }
  bool has_lag() const { return !router().lags.empty(); }
  // `switchport` with the VLAN of the hosts behind a port, as EOS and NX-OS both write it, each line behind `indent`.
  std::string switchport_lines(const ContractPort& port, std::string_view indent) const;
};

// Does the catalog know that this device runs the target?
bool runs(const lab::SwitchConfig& device, std::string_view target);
// Names and number of a front port, cabled or not.
ContractPort named_port(const lab::SwitchConfig& device, std::uint32_t number);

class SwitchOutput {
 public:
  SwitchOutput(Emission& emission, std::string node) : emission_(emission), node_(std::move(node)) {}

  void file(std::string_view name, std::string text, bool executable = false) {
    emission_.files.push_back({node_ + "/" + std::string(name), std::move(text), executable});
  }
  void note(std::string message) {
    const EmitNote made{node_, std::move(message)};
    if (std::find(emission_.notes.begin(), emission_.notes.end(), made) == emission_.notes.end()) {
      emission_.notes.push_back(made);
      own_.push_back(made.message);
    }
  }
  // A demand that the target cannot meet at all: nothing is emitted then.
  void problem(LabPart part, std::string message, std::string remedy) {
    problems_.push_back({node_, part, node_ + ": " + std::move(message), std::move(remedy)});
  }
  const std::vector<EmitProblem>& problems() const { return problems_; }
  // Every note so far as a comment, each line behind `prefix`.
  std::string comments(std::string_view prefix) const;

 private:
  Emission& emission_;
  std::string node_;
  std::vector<std::string> own_;
  std::vector<EmitProblem> problems_;
};

void emit_sonic(const SwitchJob& job, SwitchOutput& out);
void emit_nvue(const SwitchJob& job, SwitchOutput& out);
void emit_eos(const SwitchJob& job, SwitchOutput& out);
void emit_nxos(const SwitchJob& job, SwitchOutput& out);
void emit_routeros(const SwitchJob& job, SwitchOutput& out);
void emit_linux(const SwitchJob& job, SwitchOutput& out);
void emit_linux_forwarder(const lab::Lab& lab, std::uint32_t device, SwitchOutput& out);

// How a system names the ports and VLAN interfaces of a switch.
struct InterfaceNames {
  std::string (*port)(const ContractPort& port);
  std::string (*vlan)(const RoutedVlan& vlan);
  bool addresses = true;  // FRR sets them; false: something else does
  std::string_view lag = "bond";
};
// ip(8): the bonds of a switch that runs Linux, a command each; their ports are down.
std::vector<std::string> bond_commands(const SwitchJob& job);
// Those that make one bond of these ports.
std::vector<std::string> bond_commands(const std::string& bond, const std::vector<std::string>& members,
                                       std::string_view hash);
std::string front_name(const ContractPort& port);       // as the lab: "swp1"
std::string sonic_name(const ContractPort& port);       // "Ethernet0"
std::string linux_vlan_name(const RoutedVlan& vlan);    // "vlan10"
std::string capital_vlan_name(const RoutedVlan& vlan);  // "Vlan10"

// frr.conf of one switch.
std::string frr_conf(const SwitchJob& job, const InterfaceNames& names);
void emit_frr(const SwitchJob& job, SwitchOutput& out);
void emit_frr_files(const SwitchJob& job, SwitchOutput& out);  // where another file has the QoS

// "# weft emit ...": the head of every file, with the chain table.
std::string head_comment(const SwitchJob& job, std::string_view target, std::string_view prefix);

}  // namespace weft::gear
