// The checked lab: what a lab file says once every name is resolved, every quantity has a unit and
// every rule was checked. Everything below (world, workloads, report) reads this and never YAML.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "catalog/cable.h"
#include "spec/cpu_use.h"
#include "spec/fault_rule.h"
#include "spec/forwarder_model.h"
#include "spec/host_model.h"
#include "spec/nic_model.h"
#include "spec/places.h"
#include "spec/port_qos.h"
#include "spec/switch_config.h"
#include "spec/switch_model.h"
#include "spec/workload_kinds.h"
#include "text/problem.h"
#include "text/units.h"

namespace weft::lab {

// An IPv4 address is kept in its IPv4-mapped form (::ffff:a.b.c.d), as a GID keeps it.
struct IpAddress {
  std::uint8_t bytes[16] = {};
  bool is_v4 = true;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};
std::string to_string(const IpAddress& address);
// "10.0.0.1/24", "2001:db8::1/64": sets address and prefix; false when it is neither.
bool parse_address(std::string_view text, IpAddress& address, std::uint32_t& prefix_bits);
std::string subnet_text(const IpAddress& address, std::uint32_t prefix_bits);  // "10.0.0.0/24"
bool same_subnet(const IpAddress& a, const IpAddress& b, std::uint32_t prefix_bits);

struct PortConfig {
  std::string name;  // "p0"
  IpAddress address;
  std::uint32_t prefix_bits = 24;
  std::int64_t netdev_mtu_B = 1500;
  std::optional<std::uint16_t> vlan;  // 802.1Q VID; PCP is the QoS priority
  // Of a bond (RoCE LAG): two ports of one NIC are one RDMA device with the address of the first. Index in Lab::lags.
  std::optional<std::uint32_t> bond;
  bool second_of_bond = false;
};

// A port of a host's NIC, or, with `nic` = kSwitch, of a switch: then `host` counts Lab::switches.
struct PortRef {
  static constexpr std::uint32_t kSwitch = 0xfffffffe;
  std::uint32_t host = 0;
  std::uint32_t nic = 0;
  std::uint32_t port = 0;
  bool is_switch() const { return nic == kSwitch; }
  friend bool operator==(const PortRef&, const PortRef&) = default;
};

// What a virtual machine has of a NIC of its host: all of it, or a virtual function, whose port is that of the NIC.
struct NicFunction {
  std::uint32_t nic = 0;             // of the host
  std::optional<PortRef> carrier;    // of a virtual function: the port that it shares
  std::uint32_t number = 0;          // of a virtual function on its NIC, from 1 on
  std::int64_t max_tx_rate_bps = 0;  // ip link set vf N max_tx_rate; 0: none
  bool is_vf() const { return carrier.has_value(); }
};

struct NicConfig {
  nic::NicModel model;  // resolved from the catalog, lab overrides applied
  std::vector<PortConfig> ports;
  std::optional<std::uint32_t> slot;    // of the host's layout
  std::optional<NicFunction> function;  // of a virtual machine
};

// What a virtual machine is given.
struct VmConfig {
  std::uint32_t host = 0;               // in Lab::hosts
  std::int64_t memory_B = 0;            // 0: not said
  std::vector<std::uint32_t> numatune;  // nodes that its memory is on; empty: any
  std::vector<std::uint32_t> emulator;  // CPUs of the emulator's threads; empty: not said
};
struct HugePages {
  std::int64_t page_B = 0;
  std::uint64_t count = 0;
};

// A node that is not simulated: what is behind the port is real (docs/live.md). Frames go through a TAP interface or in
// UDP datagrams.
struct UdpAddress {
  std::array<std::uint8_t, 4> ip{};
  std::uint16_t port = 0;
  friend bool operator==(const UdpAddress&, const UdpAddress&) = default;
};
std::string to_string(const UdpAddress& address);  // "127.0.0.1:7001"
struct OutsideConfig {
  std::string tap;  // empty: UDP
  UdpAddress listen, peer;
  std::optional<std::array<std::uint8_t, 6>> mac;
};

// With `outside` it has one NIC with one port, p0, and no model of anything.
struct HostConfig {
  std::string name;
  bool of_fabric = false;  // a template made it
  std::optional<OutsideConfig> outside;
  host::HostModel model;
  nic::PortQos qos;  // the contract with this host's overrides applied
  std::vector<NicConfig> nics;
  host::HostPlaces places;  // GPUs, IOMMU, pages, where programs run
  host::CpuUse cpu;         // what else its CPUs do
  std::vector<HugePages> huge_pages;
  std::optional<VmConfig> vm;  // it is one: its model, slots and GPUs are its host's, cpu.own its vCPUs
};

struct LinkConfig {
  PortRef a, b;
  std::int64_t rate_bps = 0;
  std::int64_t best_rate_bps = 0;  // the highest that both ports have; a cable or a port may hold them below it
  CableKind cable = CableKind::kDac;
  std::int64_t length_mm = 1000;
  Time_ps propagation_ps = 0;  // length * 4.6 ns/m (copper) or 4.9 ns/m (fibre)
  Fec fec = Fec::kNone;        // of port a
  Fec fec_b = Fec::kNone;      // of port b: one that differs keeps the link down
  Time_ps fec_latency_ps = 0;  // one way, encoder and decoder
  double bit_error_rate = 0;   // after FEC
  // Given: exactly this from the last bit sent to the last bit received, in place of port latencies, propagation and
  // FEC.
  std::optional<Time_ps> latency_ps;
  std::optional<std::uint32_t> lag;  // index in Lab::lags
};

// Parallel links that are one (802.1AX), between two switches or a switch and the two ports of a host's bond: routes
// count them once, a hash picks the member. What a bond sends leaves by the port of its queue pair.
struct LagConfig {
  std::string name;
  std::vector<std::uint32_t> links;  // in Lab::links, in order
};

struct SwitchPort {
  std::string name;  // "swp1"
  std::int64_t mtu_B = 0;
  std::array<std::int64_t, fabric::kClasses> headroom_B{};  // by priority group, set once its link is known
};

struct SwitchRoute {
  PortRef destination;               // of a host
  std::vector<std::uint32_t> ports;  // indices into SwitchConfig::ports
};

struct SwitchConfig {
  std::string name;
  fabric::SwitchModel model;  // resolved from the catalog, lab overrides applied
  fabric::SwitchQos qos;      // the contract with this switch's overrides applied
  fabric::SwitchQos common;   // without them
  fabric::RoutingConfig routing;
  std::optional<fabric::ForwarderConfig> forwarder;  // a CPU forwards; `model` and `qos` say nothing then
  std::vector<SwitchPort> ports;                     // all that the model has
  std::vector<SwitchRoute> routes;
  std::uint32_t tier = 0;  // 0 next to hosts; for the report and the drawing
};

enum class MirrorKind : std::uint8_t { kSpan, kErspan2, kErspan3 };
enum class MirrorDirection : std::uint8_t { kBoth, kIngress, kEgress };

// A mirror session of a switch: what passes a port is copied to a capture, plain or in ERSPAN.
struct MirrorConfig {
  PortRef port;
  MirrorDirection direction = MirrorDirection::kBoth;
  MirrorKind kind = MirrorKind::kSpan;
  std::uint16_t session = 1;
  IpAddress collector;  // of ERSPAN
};

struct FaultConfig {
  PortRef from;  // the direction: frames that leave this port
  bool both_directions = false;
  fabric::FaultRule rule;
};

struct WorkloadConfig {
  std::string name;
  PortRef client, server;                                  // of kinds with two ends
  std::uint32_t client_function = 0, server_function = 0;  // PCIe function of the port (DGX Spark)
  // Given: starts so long after the end of what is before it in the file, beside its neighbours that have one as well.
  // Not given: alone, when what is before it is finished.
  std::optional<Time_ps> start_ps;
  // Of its packets, both ways. A priority stands for a DSCP that maps to it where hosts go by the DSCP.
  std::optional<std::uint8_t> dscp, priority;
  // Where its programs run and their memory lies, in place of what their hosts say.
  std::optional<host::Placement> client_placement, server_placement;
  // What else runs on the machines of its ends meanwhile, in place of what their hosts say.
  std::optional<std::uint32_t> stress;
  std::optional<std::vector<std::uint32_t>> isolated;
  workload::Options options;        // of its kind
  std::vector<PortRef> flow_ports;  // the endpoints that flows count

  // The options, when it is of this kind, or null.
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&options);
  }
};

struct Expectation {
  std::string subject;             // workload name, or "vm00:p0" for a counter of that port
  std::string metric;              // "bw_average_Gbps", "out_of_sequence"
  std::optional<double> min, max;  // equal: both the same
  int line = 0, column = 0;
};

struct Lab {
  std::string file;  // as given, for messages
  std::string name;
  std::string description;
  std::uint64_t seed = 1;
  std::vector<std::string> overrides;  // --set, as given
  std::optional<Time_ps> duration_ps;  // the run ends then, idle or not
  std::optional<Time_ps> sample_ps;    // interval of the time series; nothing: no series
  bool fabric_network = false;         // TCP of programs goes through the fabric, not the management network
  std::vector<HostConfig> hosts;
  std::vector<SwitchConfig> switches;
  std::vector<LinkConfig> links;
  std::vector<LagConfig> lags;
  nic::PortQos qos;  // what the contract says to hosts without overrides
  std::vector<MirrorConfig> mirrors;
  std::vector<FaultConfig> faults;
  std::vector<WorkloadConfig> workloads;
  std::vector<Expectation> expectations;
  std::vector<Problem> warnings;  // what can be run but is probably not meant
};

// The node that a virtual machine runs on, or the host itself.
inline std::uint32_t machine_of(const Lab& lab, std::uint32_t host) {
  return lab.hosts[host].vm ? lab.hosts[host].vm->host : host;
}
// The port whose cable this one uses: that of its NIC where it is a virtual function.
PortRef carrier_of(const Lab& lab, const PortRef& port);
bool is_vf(const Lab& lab, const PortRef& port);
bool in_bond(const Lab& lab, const PortRef& port);
// The port that workloads and programs name: of a bond the first.
PortRef first_of_bond(const Lab& lab, const PortRef& port);
const HostConfig* first_with_bond(const Lab& lab);  // null: none
const HostConfig* first_with_vf(const Lab& lab);    // null: no virtual machine has one

// The first node that is a port to the outside, or null: only a world in wall-clock mode can have one.
const HostConfig* first_outside(const Lab& lab);

// "vm00:p0", "leaf1:swp3"
std::string port_name(const Lab& lab, const PortRef& port);
// Of "a:p0", where no node is called a: what to say, with the nodes that there are; nothing where there is one.
std::optional<TextError> unknown_node(const Lab& lab, std::string_view port);
// A link below the rate that both of its ports have: "h0:p0 - h1:p0 runs at 100 Gbps, and both ports have 200 Gbps".
std::string slow_link_text(const Lab& lab, const LinkConfig& link);
// Those of the cables at these ports.
std::vector<const LinkConfig*> slow_links(const Lab& lab, const std::vector<PortRef>& ports);
// "mlx5_0", "mlx5_bond_0": the RDMA device of a host's port, as the driver numbers them; and all of a host, "mlx5_0
// (p0), mlx5_1 (p1)".
std::string device_name(const Lab& lab, const PortRef& port);
std::string device_list(const Lab& lab, std::uint32_t host);

}  // namespace weft::lab
