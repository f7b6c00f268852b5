// containerlab (containerlab.dev, "Topology definition"): the lab with FRR or SONiC-VS nodes, so that routing can be
// tried before the gear is there. Labels keep what containers have not: models, cables, addresses; import/clab.cc reads
// them.
#include <fmt/format.h>

#include <algorithm>

#include "gear/emit/host.h"
#include "gear/emit/sonic.h"

namespace weft::gear {
namespace {

constexpr std::string_view kFrrImage = "quay.io/frrouting/frr:8.4.4";
constexpr std::string_view kSonicImage = "docker-sonic-vs:latest";
constexpr std::string_view kHostImage = "quay.io/frrouting/frr:8.4.4";  // has ip(8) and ping

// SONiC-VS shows eth1 as its first front port, eth2 as the second.
std::string clab_endpoint(const lab::Lab& lab, const lab::PortRef& port, bool sonic_vs) {
  const std::string name = port_name(lab, port);  // "leaf0:swp1"
  const std::size_t colon = name.find(':');
  return fmt::format("        - {{node: \"{}\", interface: \"{}\"}}\n", name.substr(0, colon),
                     sonic_vs ? fmt::format("eth{}", port.port + 1) : name.substr(colon + 1));
}

// Files that load.sh loads into a SONiC-VS node: kind sonic-vs of containerlab starts from the image's configuration.
std::vector<std::string_view> sonic_files(const SwitchJob& job) {
  std::vector<std::string_view> files = {"config_db.json"};
  if (job.routes()) files.push_back("frr.conf");
  return files;
}

std::string load_commands(const SwitchJob& job) {
  const std::string container = fmt::format("clab-{}-{}", job.lab.name, job.contract.node);
  std::string text = fmt::format("docker exec {} config load -y /etc/weft/config_db.json\n", container);
  if (job.routes()) text += fmt::format("docker exec {} vtysh -f /etc/weft/frr.conf\n", container);
  return text;
}

std::string clab_switch(const SwitchJob& job, bool sonic_vs) {
  const std::string& node = job.contract.node;
  const lab::SwitchConfig& config = job.lab.switches[job.device];
  const std::string& model = config.forwarder ? config.forwarder->model.name : config.model.name;
  std::string text = fmt::format("    {}:\n", node);
  if (sonic_vs) {
    text += fmt::format("      kind: sonic-vs\n      image: {}\n      binds:\n", kSonicImage);
    for (std::string_view file : sonic_files(job))
      text += fmt::format("        - {}/{}:/etc/weft/{}\n", node, file, file);
  } else {
    text += fmt::format(
        "      kind: linux\n      image: {}\n      binds:\n        - {}/frr.conf:/etc/frr/frr.conf\n"
        "        - {}/daemons:/etc/frr/daemons\n      exec:\n        - sysctl -w net.ipv4.ip_forward=1\n"
        "        - sysctl -w net.ipv6.conf.all.forwarding=1\n",
        kFrrImage, node, node);
    for (const std::string& command : bond_commands(job)) text += fmt::format("        - {}\n", command);
    for (const RoutedVlan& vlan : job.router().vlans) {
      const std::string name = linux_vlan_name(vlan);
      text += fmt::format(
          "        - ip link add {} type bridge\n        - ip link set dev {} up\n        - ip address add {}/{} dev "
          "{}\n",
          name, name, vlan.gateway, vlan.prefix_bits, name);
      for (std::uint32_t port : vlan.ports)
        text += fmt::format("        - ip link set dev {} master {}\n", job.port(port).name, name);
    }
  }
  return text + fmt::format("      labels:\n        weft-role: {}\n        weft-model: {}\n",
                            config.forwarder ? "forwarder" : "switch", model);
}

std::string clab_host(const lab::Lab& lab, std::uint32_t index, const RoutingPlan& plan) {
  const lab::HostConfig& host = lab.hosts[index];
  std::string text = fmt::format("    {}:\n      kind: linux\n      image: {}\n", host.name, kHostImage);
  const auto has_ports = [](const auto& nic) { return !nic.ports.empty(); };
  if (std::any_of(host.nics.begin(), host.nics.end(), has_ports)) text += "      exec:\n";
  std::string labels = "      labels:\n        weft-role: host\n";
  std::vector<std::string> connected;
  for (const lab::NicConfig& nic : host.nics) {
    for (const lab::PortConfig& port : nic.ports) connected.push_back(lab::subnet_text(port.address, port.prefix_bits));
  }
  for (std::uint32_t n = 0; n < host.nics.size(); ++n) {
    labels += fmt::format("        weft-nic-{}: {}\n", n, host.nics[n].model.name);
    for (std::uint32_t p = 0; p < host.nics[n].ports.size(); ++p) {
      const lab::PortConfig& port = host.nics[n].ports[p];
      const std::string address = fmt::format("{}/{}", lab::to_string(port.address), port.prefix_bits);
      text += fmt::format("        - ip address add {} dev {}\n        - ip link set dev {} mtu {}\n", address,
                          port.name, port.name, port.netdev_mtu_B);
      const std::string gateway = plan.routed ? gateway_of(lab, plan, {index, n, p}) : "";
      for (const std::string& subnet : reachable_subnets(plan, lab::subnet_text(port.address, port.prefix_bits))) {
        // A port of its own is nearer than the gateway of another.
        const bool own = std::find(connected.begin(), connected.end(), subnet) != connected.end();
        if (!gateway.empty() && !own)
          text += fmt::format("        - ip route add {} via {}{}\n", subnet, gateway,
                              n + p > 0 ? fmt::format(" metric {}", 100 + n * 8 + p) : "");
      }
      labels += fmt::format("        weft-port-{}: \"{} {} {}\"\n", port.name, n, address, port.netdev_mtu_B);
    }
  }
  return text + labels;
}

}  // namespace

void emit_containerlab(const lab::Lab& lab, const RoutingPlan& plan, const EmitOptions& options, Emission& emission) {
  std::string text = fmt::format(
      "# {}: containerlab deploy -t {}.clab.yml\n# The kernel forwards: no PFC, no ECN, no headroom. `weft run` has "
      "those.\n",
      lab.name, lab.name);
  text += fmt::format("name: {}\ntopology:\n  nodes:\n", lab.name);
  const bool routed = plan.routed;
  std::string load;
  for (std::uint32_t i = 0; i < lab.switches.size(); ++i) {
    const bool forwarder = lab.switches[i].forwarder.has_value();
    const SwitchJob job{lab, i, contract_of(lab, i), plan, options};
    const bool sonic_vs = options.sonic_vs && !forwarder;
    SwitchOutput out(emission, lab.switches[i].name);
    out.note("containers forward in the kernel: the QoS contract has no effect in them");
    text += clab_switch(job, sonic_vs);
    if (sonic_vs) {
      out.file("config_db.json", sonic_config(job, out));
      const InterfaceNames names{sonic_name, capital_vlan_name, false,
                                 "PortChannel"};  // INTERFACE tables have the addresses
      if (routed) out.file("frr.conf", frr_conf(job, names));
      load += load_commands(job);
    } else {
      const InterfaceNames names{front_name, linux_vlan_name};
      out.file("frr.conf", routed ? frr_conf(job, names) : fmt::format("hostname {}\n", lab.switches[i].name));
      out.file("daemons", "zebra=yes\nbgpd=yes\nvtysh_enable=yes\n");
    }
  }
  for (std::uint32_t i = 0; i < lab.hosts.size(); ++i) {
    if (lab.hosts[i].outside || lab.hosts[i].vm) {
      emission.notes.push_back({lab.hosts[i].name, "not a host of its own: left out"});
      continue;
    }
    text += clab_host(lab, i, plan);
  }
  std::string links;
  for (const lab::LinkConfig& link : lab.links) {
    bool left_out = false;
    for (const lab::PortRef& end : {link.a, link.b})
      left_out = left_out || (!end.is_switch() && (lab.hosts[end.host].outside || lab.hosts[end.host].vm));
    if (left_out) continue;
    const auto sonic = [&](const lab::PortRef& end) {
      return options.sonic_vs && end.is_switch() && !lab.switches[end.host].forwarder;
    };
    links += "    - type: veth\n      endpoints:\n" + clab_endpoint(lab, link.a, sonic(link.a)) +
             clab_endpoint(lab, link.b, sonic(link.b));
    links += fmt::format("      labels: {{weft-cable: {}, weft-length-mm: \"{}\", weft-rate-mbps: \"{}\"}}\n",
                         lab::to_string(link.cable), link.length_mm, link.rate_bps / 1'000'000);
  }
  if (!links.empty()) text += "  links:\n" + links;
  if (!load.empty()) {
    const std::string head =
        "#!/bin/sh\n# After containerlab deploy, when `show interfaces status` lists the ports in every node.\nset "
        "-eu\n";
    emission.files.insert(emission.files.begin(), {"load.sh", head + load, true});
  }
  emission.files.insert(emission.files.begin(), {lab.name + ".clab.yml", text, false});
}

}  // namespace weft::gear
