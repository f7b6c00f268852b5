// FRR: eBGP on every link between switches, unnumbered by default (RFC 7938, RFC 5549; FRR user guide, "BGP").
#include <fmt/format.h>

#include "gear/emit/switch.h"

namespace weft::gear {

std::string frr_conf(const SwitchJob& job, const InterfaceNames& names) {
  const Router& router = job.router();
  const bool numbered = job.options.numbered;
  const auto link_name = [&](const RoutedLink& link) {
    return link.lag > 0 ? fmt::format("{}{}", names.lag, link.lag) : names.port(job.port(link.port));
  };
  std::string text =
      fmt::format("frr defaults datacenter\nhostname {}\nservice integrated-vtysh-config\n!\n", job.contract.node);
  if (names.addresses) text += fmt::format("interface lo\n ip address {}/32\nexit\n!\n", router.loopback);
  for (const RoutedVlan& vlan : router.vlans) {
    if (names.addresses)
      text +=
          fmt::format("interface {}\n ip address {}/{}\nexit\n!\n", names.vlan(vlan), vlan.gateway, vlan.prefix_bits);
  }
  for (const RoutedLink& link : router.links) {
    if (numbered && !names.addresses) continue;
    text += fmt::format("interface {}\n", link_name(link));
    text += numbered ? fmt::format(" ip address {}/31\n", link.address)
                     : std::string(" ipv6 nd ra-interval 6\n no ipv6 nd suppress-ra\n");
    text += "exit\n!\n";
  }
  text += fmt::format("router bgp {}\n bgp router-id {}\n no bgp ebgp-requires-policy\n", router.asn, router.loopback);
  text += " bgp bestpath as-path multipath-relax\n neighbor FABRIC peer-group\n neighbor FABRIC remote-as external\n";
  if (!numbered) text += " neighbor FABRIC capability extended-nexthop\n";
  text +=
      " neighbor FABRIC timers 3 9\n neighbor FABRIC timers connect 10\n neighbor FABRIC advertisement-interval 0\n";
  for (const RoutedLink& link : router.links) {
    const std::string& peer = job.lab.switches[link.peer].name;
    if (numbered) {
      text +=
          fmt::format(" neighbor {} remote-as {}\n neighbor {} peer-group FABRIC\n neighbor {} description {}\n",
                      link.peer_address, job.plan.routers[link.peer].asn, link.peer_address, link.peer_address, peer);
    } else {
      const std::string port = link_name(link);
      text += fmt::format(" neighbor {} interface peer-group FABRIC\n neighbor {} description {}\n", port, port, peer);
    }
  }
  text += " !\n address-family ipv4 unicast\n";
  text += fmt::format("  network {}/32\n", router.loopback);
  for (const RoutedVlan& vlan : router.vlans) text += fmt::format("  network {}\n", vlan.subnet);
  return text + "  maximum-paths 64\n exit-address-family\nexit\n!\n";
}

void emit_frr(const SwitchJob& job, SwitchOutput& out) {
  if (job.contract.qos.flow_control != fabric::FlowControl::kNone)
    out.note("FRR routes only: the QoS contract is in the targets sonic, nvue and linux");
  if (job.has_lag()) {
    std::string made;
    for (const std::string& command : bond_commands(job)) made += command + "\n";
    out.file("bonds.sh", "#!/bin/sh\n# The LAGs that frr.conf routes over, before FRR starts\nset -eu\n" + made, true);
  }
  emit_frr_files(job, out);
}

void emit_frr_files(const SwitchJob& job, SwitchOutput& out) {
  const InterfaceNames names{front_name, linux_vlan_name};
  out.file("frr.conf", "! " + job.contract.node + " of " + job.lab.name + ", routing; load it as /etc/frr/frr.conf\n" +
                           out.comments("! ") + frr_conf(job, names));
  out.file("daemons",
           "# /etc/frr/daemons\nzebra=yes\nbgpd=yes\nvtysh_enable=yes\nzebra_options=\"  -A 127.0.0.1 -s 90000000\"\n"
           "bgpd_options=\"   -A 127.0.0.1\"\n");
  out.file("sysctl.conf",
           "# /etc/sysctl.d/90-fabric.conf\nnet.ipv4.ip_forward = 1\nnet.ipv6.conf.all.forwarding = 1\n"
           "# ECMP by addresses and ports, so that the queue pairs of one pair of hosts spread\n"
           "net.ipv4.fib_multipath_hash_policy = 1\n");
}

}  // namespace weft::gear
