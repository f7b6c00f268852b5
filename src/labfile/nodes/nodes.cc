// nodes: hosts with their NICs and ports; where these and GPUs are is in places.cc, switches are in lab_switches.cc.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/nearest.h"
#include "catalog/link_rules.h"
#include "catalog/model_fields.h"
#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "text/yaml_walk.h"
#include "wire/mtu.h"

namespace weft::lab {
namespace {

constexpr std::string_view kDefaultHost = "generic-x86";
// Of a port to the outside. Its cable ends here; handing a frame on takes longer than this on any computer.
constexpr Time_ps kHandOver_ps = ns(500);
constexpr std::int64_t kMaxOutsideMtu_B = 9000;
constexpr std::int64_t kMinIpv4Mtu_B = 68;    // RFC 791
constexpr std::int64_t kMinIpv6Mtu_B = 1280;  // RFC 8200 section 5; Linux turns IPv6 off below

// Why an address cannot be given to a port, or nothing.
std::string_view not_a_host_address(const IpAddress& address, std::uint32_t prefix_bits) {
  const std::uint8_t* bytes = address.bytes;
  if (!address.is_v4) {
    if (bytes[0] == 0xff) return "a multicast address";
    if (std::all_of(bytes, bytes + 15, [](std::uint8_t b) { return b == 0; }) && bytes[15] <= 1)
      return "no address of a port";
    if (std::all_of(bytes, bytes + 10, [](std::uint8_t b) { return b == 0; }) && bytes[10] == 0xff)
      return "an IPv4 address in IPv6 form";
    return "";
  }
  const std::uint32_t value =
      (std::uint32_t{bytes[12]} << 24) | (std::uint32_t{bytes[13]} << 16) | (std::uint32_t{bytes[14]} << 8) | bytes[15];
  if (bytes[12] == 0 || bytes[12] == 127) return "no address of a port";
  if (bytes[12] >= 224) return "a multicast or reserved address";
  if (prefix_bits >= 31) return "";
  const std::uint32_t host_mask = 0xffffffffU >> prefix_bits;
  if ((value & host_mask) == 0) return "the address of the subnet itself";
  if ((value & host_mask) == host_mask) return "the broadcast address of the subnet";
  return "";
}

class HostReader {
 public:
  HostReader(LabContext& context, NodeState& state, HostConfig& host)
      : context_(context), problems_(context.problems), state_(state), host_(host) {}

  void read(const YamlNode& node) {
    const MapReader map(node, "node " + host_.name, kHostKeys, problems_);
    state_.complete = map.ok();
    if (!map.ok()) return;
    context_.sections[host_.name].qos = map.get("qos");
    read_host_profile(map);
    read_places(map, host_, context_);
    if (const YamlNode* pages = map.get("hugepages")) read_huge_pages(*pages, host_, problems_);
    const YamlNode* nics = map.require("nics");
    const auto* list = nics == nullptr ? nullptr : read_list(*nics, "nics", problems_);
    state_.complete = list != nullptr;
    if (list == nullptr) return;
    if (list->empty())
      problems_.add(nics->place, fmt::format("{} has no NIC", host_.name), "add one: - model: cx5-100g");
    for (const YamlNode& nic : *list) read_nic(nic);
  }

  void read_virtual_machine(const YamlNode& node) {
    const MapReader map(node, "node " + host_.name, kVmKeys, problems_);
    if (!map.ok() || !read_vm(map, host_, context_)) return;
    context_.sections[host_.name].qos = map.get("qos");
    const YamlNode* nics = map.require("nics");
    const auto* list = nics == nullptr ? nullptr : read_list(*nics, "nics", problems_);
    state_.complete = list != nullptr;
    if (list == nullptr) return;
    for (const YamlNode& item : *list) {
      const auto index = static_cast<std::uint32_t>(host_.nics.size());
      NicConfig& nic = host_.nics.emplace_back();
      const MapReader keys(item, fmt::format("nics[{}]", index), kVmNicKeys, problems_);
      const bool known = keys.ok() && read_vm_nic(keys, host_, nic, context_);
      read_ports(keys, index, nic, known);
      state_.complete = state_.complete && known;
    }
  }

  // A node whose port is all that it has.
  void read_outside_node(const YamlNode& node) {
    const MapReader map(node, "node " + host_.name, kOutsideKeys, problems_);
    state_.complete = map.ok();
    if (!map.ok()) return;
    context_.sections[host_.name].qos = map.get("qos");
    host_.model = *context_.catalog.host(kDefaultHost);
    read_outside(map, host_.outside.emplace(), problems_);
    nic::NicModel& model = host_.nics.emplace_back().model;
    model.name = model.description = "outside";
    model.oui = "02:00:00";
    model.ports = 1;
    model.line_rate_bps = ethernet_rates_bps().front();
    model.max_netdev_mtu_B = kMaxOutsideMtu_B;
    model.rx_latency_ps = model.pfc_response_ps = kHandOver_ps;
    PortConfig& port = host_.nics.back().ports.emplace_back();
    port.name = "p0";
    const std::size_t problems_before = problems_.size();
    map.require("address");
    read_port(map, host_.nics.back(), true);
    state_.ports.try_emplace(
        port.name, PortState{{state_.index, 0, 0}, state_.place, problems_.size() == problems_before, {}, {}});
  }

 private:
  void read_host_profile(const MapReader& map) {
    std::string name(kDefaultHost);
    const YamlNode* node = map.get("host");
    if (node != nullptr) store(name, read_text(*node, "host", problems_));
    if (const host::HostModel* model = context_.catalog.host(name)) {
      host_.model = *model;
    } else {
      problems_.add(node->place, fmt::format("there is no host profile {} in the catalog", in_quotes(name)),
                    did_you_mean(name, context_.catalog.names(CatalogKind::kHost), "profiles"));
    }
    if (const YamlNode* set = map.get("set")) apply_set(*set, host_.model, problems_);
  }

  void read_nic(const YamlNode& node) {
    const auto index = static_cast<std::uint32_t>(host_.nics.size());
    NicConfig& nic = host_.nics.emplace_back();
    const MapReader map(node, fmt::format("nics[{}]", index), kNicKeys, problems_);
    const bool model_known = read_model(map, nic);
    if (map.ok()) read_nic_slot(map, host_, nic, context_);
    // All of it may be a virtual machine's.
    if (!context_.has_vms || !map.ok() || map.get("ports") != nullptr) read_ports(map, index, nic, model_known);
  }

  void read_ports(const MapReader& map, std::uint32_t index, NicConfig& nic, bool model_known) {
    const YamlNode* ports = map.require("ports", "ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}");
    if (ports == nullptr || !ports->is_map()) {
      if (ports != nullptr)
        problems_.add(ports->place, "ports is not a map", "write ports: {p0: {address: 10.0.0.1/24}}");
      state_.complete = false;
      return;
    }
    if (ports->keys.empty())
      problems_.add(ports->place, "a NIC without ports", "write ports: {p0: {address: 10.0.0.1/24}}");
    for (std::size_t i = 0; i < ports->keys.size(); ++i) {
      const YamlKey& key = ports->keys[i];
      if (!check_name(key, "port", problems_)) {
        state_.complete = false;
        continue;
      }
      if (model_known && i >= nic.model.ports) {
        problems_.add(key.place,
                      fmt::format("{} has {} {}, this is one more", nic.model.name, nic.model.ports,
                                  nic.model.ports == 1 ? "port" : "ports"),
                      "put it in another NIC of the host");
      }
      const PortRef ref{state_.index, index, static_cast<std::uint32_t>(nic.ports.size())};
      const auto [entry, is_new] = state_.ports.try_emplace(key.text, PortState{ref, key.place, model_known, {}, {}});
      if (!is_new) {
        problems_.add(
            key.place, fmt::format("{} already has a port {}", host_.name, key.text),
            fmt::format("port names are unique in a host: the other is in line {}", entry->second.place.line));
      }
      nic.ports.emplace_back().name = key.text;
      const YamlNode& port = ports->children[i];
      if (!read_port_config(port, key.text, nic, model_known)) entry->second.usable = false;
      if (port.is_map() && port.find("address") == nullptr) entry->second.without_address = port.place;
    }
  }

  bool read_model(const MapReader& map, NicConfig& nic) {
    const YamlNode* node = map.require("model");
    const auto name = node == nullptr ? std::nullopt : read_text(*node, "model", problems_);
    const nic::NicModel* model = name ? context_.catalog.nic(*name) : nullptr;
    if (name && model == nullptr) {
      problems_.add(node->place, fmt::format("there is no NIC {} in the catalog", in_quotes(*name)),
                    did_you_mean(*name, context_.catalog.names(CatalogKind::kNic), "NICs"));
    }
    if (model != nullptr) nic.model = *model;
    const YamlNode* set = map.get("set");
    if (set != nullptr) {
      apply_set(*set, nic.model, problems_);
      check_set(*set, nic.model);
    }
    return model != nullptr;
  }

  // What a range cannot say.
  void check_set(const YamlNode& set, const nic::NicModel& model) {
    const auto rates_bps = ethernet_rates_bps();
    const YamlNode* rate = set.find("line_rate");
    if (rate != nullptr && std::find(rates_bps.begin(), rates_bps.end(), model.line_rate_bps) == rates_bps.end()) {
      problems_.add(rate->place, fmt::format("{} is not an Ethernet rate", in_quotes(rate->text)),
                    "write 1, 10, 25, 40, 50, 100, 200, 400 or 800 Gbps");
    }
    const YamlNode* payload = set.find("pcie_max_payload");
    if (payload != nullptr && !std::has_single_bit(model.pcie_max_payload_B)) {
      problems_.add(payload->place, fmt::format("PCIe has no maximum payload of {} B", model.pcie_max_payload_B),
                    "write 128, 256, 512, 1024, 2048 or 4096 B");
    }
    const YamlNode* lanes = set.find("pcie_lanes");
    const YamlNode* request = set.find("pcie_max_read_request");
    if (request != nullptr && !std::has_single_bit(model.pcie_max_read_request_B)) {
      problems_.add(request->place, fmt::format("PCIe has no read request of {} B", model.pcie_max_read_request_B),
                    "write 128, 256, 512, 1024, 2048 or 4096 B");
    }
    if (lanes != nullptr && !std::has_single_bit(model.pcie_lanes)) {
      problems_.add(lanes->place, fmt::format("PCIe has no x{} link", model.pcie_lanes), "write 1, 2, 4, 8 or 16");
    }
  }

  // False when something is wrong with what the checks of links build on.
  bool read_port_config(const YamlNode& node, const std::string& name, NicConfig& nic, bool model_known) {
    const std::size_t problems_before = problems_.size();
    read_port(MapReader(node, "port " + name, kPortKeys, problems_), nic, model_known);
    return problems_.size() == problems_before;
  }

  void read_port(const MapReader& map, NicConfig& nic, bool model_known) {
    PortConfig& port = nic.ports.back();
    if (const YamlNode* address = map.get("address")) read_address(*address, port);
    if (const YamlNode* mtu = map.get("mtu")) read_mtu(*mtu, nic, port, model_known);
    map.read(kPortKeys, "vlan", port);
  }

  void read_address(const YamlNode& node, PortConfig& port) {
    const auto text = read_text(node, "address", problems_);
    if (!text) return;
    if (!parse_address(*text, port.address, port.prefix_bits)) {
      problems_.add(node.place, fmt::format("address {} is not ADDRESS/PREFIX", in_quotes(*text)),
                    "write e.g. 10.0.0.1/24 or fd00::1/64");
      return;
    }
    const std::string_view error = not_a_host_address(port.address, port.prefix_bits);
    if (!error.empty()) {
      problems_.add(node.place, fmt::format("{} is {}", *text, error),
                    "give the port an address of its own, e.g. 10.0.0.1/24");
    }
    for (const NicConfig& nic : host_.nics) {
      for (const PortConfig& other : nic.ports) {
        if (&other != &port && other.address == port.address) {
          problems_.add(node.place,
                        fmt::format("port {} of {} already has {}", other.name, host_.name, to_string(port.address)),
                        "give each port an address of its own");
        }
      }
    }
  }

  void read_mtu(const YamlNode& node, const NicConfig& nic, PortConfig& port, bool model_known) {
    const auto mtu_B = read_bytes(node, "mtu", {}, problems_);
    if (!mtu_B) return;
    port.netdev_mtu_B = *mtu_B;
    if (model_known && *mtu_B > nic.model.max_netdev_mtu_B) {
      problems_.add(node.place,
                    fmt::format("mtu {} B: {} takes at most {} B", *mtu_B, nic.model.name, nic.model.max_netdev_mtu_B),
                    "4200 B is enough for the largest RoCE MTU, 4096 B");
    } else if (*mtu_B < kMinIpv4Mtu_B) {
      problems_.add(node.place, fmt::format("mtu {} B: no device takes less than {} B", *mtu_B, kMinIpv4Mtu_B),
                    "write 1500 B, or 4200 B for RoCE MTU 4096 B");
    } else if (*mtu_B < kMinRoceMtu_B) {
      problems_.add(node.place, fmt::format("mtu {} B leaves no room for RoCE", *mtu_B),
                    fmt::format("at least {} B: the smallest RoCE MTU, 256 B, and {} B that Linux keeps for headers",
                                kMinRoceMtu_B, wire::kIboeHeaderReserve_B));
    } else if (!port.address.is_v4 && *mtu_B < kMinIpv6Mtu_B) {
      problems_.add(node.place, fmt::format("mtu {} B: IPv6 needs {} B", *mtu_B, kMinIpv6Mtu_B),
                    "raise the mtu or use an IPv4 address");
    }
  }

  LabContext& context_;
  ProblemList& problems_;
  NodeState& state_;
  HostConfig& host_;
};

std::optional<NodeKind> read_kind(const YamlNode& node, const std::string& name, ProblemList& problems) {
  const YamlNode* kind = node.find("kind");
  if (kind != nullptr) return read_choice<NodeKind>(*kind, "kind", std::span(kNodeKindWords), problems);
  if (!node.is_map()) {
    const MapReader map(node, "node " + name, kHostKeys, problems);  // says so
    return std::nullopt;
  }
  problems.add(node.place, fmt::format("node {} has no \"kind\"", name),
               "add kind: host, kind: vm, kind: switch or kind: forwarder");
  return std::nullopt;
}

// `nodes: {leaf0: {qos: …}}` about a node that the fabric's template made.
void change_fabric_node(const YamlNode& node, const std::string& name, NodeState& state, LabContext& context) {
  const NodeSections sections = context.sections_of(name);
  if (sections.qos != nullptr || sections.routing != nullptr || sections.routes != nullptr)
    return;  // second of two keys
  if (state.is_switch) {
    read_switch(node, state, context);
    return;
  }
  const MapReader map(node, fmt::format("{}, a host of the fabric,", name), kFabricNodeKeys, context.problems);
  if (const YamlNode* set = map.get("set")) apply_set(*set, context.lab.hosts[state.index].model, context.problems);
  if (const YamlNode* cpu = map.get("cpu")) read_cpu_use(*cpu, context.lab.hosts[state.index], context.problems);
  context.sections[name].qos = map.get("qos");
}

}  // namespace

void read_nodes(const YamlNode& node, LabContext& context) {
  if (!node.is_map() || node.keys.empty()) {
    context.problems.add(node.place, "nodes is not a map with at least one node",
                         "write nodes: {vm00: {kind: host, …}}");
    return;
  }
  context.lab.hosts.reserve(context.lab.hosts.size() + node.keys.size());
  // Virtual machines after the hosts that they run on.
  std::vector<std::size_t> order, vms;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const YamlNode* kind = node.children[i].is_map() ? node.children[i].find("kind") : nullptr;
    (kind != nullptr && kind->text == "vm" ? vms : order).push_back(i);
  }
  context.has_vms = !vms.empty();
  order.insert(order.end(), vms.begin(), vms.end());
  for (std::size_t i : order) {
    const std::string& name = node.keys[i].text;
    if (!check_name(node.keys[i], "node", context.problems)) continue;
    const auto [entry, is_new] = context.nodes.try_emplace(name);
    NodeState& state = entry->second;
    if (!is_new) {
      if (state.of_fabric) change_fabric_node(node.children[i], name, state, context);
      continue;  // the tree reported the second key
    }
    state.place = node.keys[i].place;
    const auto kind = read_kind(node.children[i], name, context.problems);
    if (kind == NodeKind::kSwitch || kind == NodeKind::kForwarder) {
      state.is_switch = true;
      state.index = static_cast<std::uint32_t>(context.lab.switches.size());
      context.lab.switches.emplace_back().name = name;
      (kind == NodeKind::kSwitch ? read_switch : read_forwarder)(node.children[i], state, context);
    } else {
      state.index = static_cast<std::uint32_t>(context.lab.hosts.size());
      context.lab.hosts.emplace_back().name = name;
      state.complete = false;
      HostReader reader(context, state, context.lab.hosts.back());
      if (kind == NodeKind::kHost) reader.read(node.children[i]);
      if (kind == NodeKind::kVm) reader.read_virtual_machine(node.children[i]);
      if (kind == NodeKind::kOutside) reader.read_outside_node(node.children[i]);
    }
  }
  if (context.has_vms) check_vms(context);
}

}  // namespace weft::lab
