// A lab as a running world: hosts, devices, switches, cables with their faults and taps, on an engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fabric/flood_tree.h"
#include "fabric/link.h"
#include "fabric/link_wrapper.h"
#include "fabric/switch.h"
#include "host/host.h"
#include "model/lab.h"
#include "results/evidence.h"
#include "workload/connection.h"
#include "world/outside_port.h"
#include "world/plan.h"
#include "world/port_settings.h"

namespace weft::lab {

struct WorldOptions {
  std::uint32_t domains = 1;        // nodes are dealt to them, neighbours together
  std::int64_t window_divisor = 1;  // tests: shorter windows must give the same results
  bool carry_payload = false;       // somebody looks at the bytes
  bool record = false;              // nodes remember what held packets back (results/evidence.h)
  bool live = false;                // links go down and come up by hold_link(), not at planned times
  bool apart = false;               // each virtual machine is a host of its own: programs of others run there
  engine::Part part{};              // the domains to build; the others belong to other engines
};

// One direction of one cable.
struct WorldLink {
  const LinkConfig* config = nullptr;
  std::uint32_t from = 0, to = 0;  // port ids
  std::unique_ptr<fabric::LinkDirection> direction;
  std::unique_ptr<fabric::LinkWrapper> wrapper;  // only with faults, bit errors or taps
  std::vector<std::uint32_t> faults;             // numbers, in the order of the wrapper's rules
};

// Those of the lab come first, numbered from 1.
struct WorldFault {
  FaultConfig config;
  std::uint32_t number = 0;
};

class World {
 public:
  World(const Lab& lab, const WorldOptions& options);

  const Lab& lab() const { return lab_; }
  PortSettings& port_settings() { return port_settings_; }
  const PortSettings& port_settings() const { return port_settings_; }
  // Of nodes that record: the queue pairs created since the last call are of this workload, or of nic::kNobody.
  void claim_queue_pairs(std::uint32_t workload);
  engine::Engine& engine() { return engine_; }
  const engine::Engine& engine() const { return engine_; }
  std::uint32_t port_id(const PortRef& port) const { return plan_.port_id(port); }
  std::uint32_t port_count() const { return static_cast<std::uint32_t>(plan_.book.size()); }
  const fabric::AddressBook& book() const { return plan_.book; }
  // Null for a port without a cable and for a switch's.
  host::Host& host(std::uint32_t index) { return *hosts_[index]; }
  bool has_host(std::uint32_t index) const { return hosts_[index] != nullptr; }
  // Null for a host that is simulated.
  lab::OutsidePort* outside(std::uint32_t index) const { return outside_[index].get(); }
  // The port belongs to one that is not.
  bool is_outside_port(std::uint32_t port) const;
  nic::Device* device(std::uint32_t port) { return port < devices_.size() ? devices_[port] : nullptr; }
  std::vector<WorldLink>& links() { return links_; }
  std::uint32_t switch_count() const { return static_cast<std::uint32_t>(switches_.size()); }
  fabric::Switch& fabric_switch(std::uint32_t index) { return *switches_[index]; }
  bool has_switch(std::uint32_t index) const { return switches_[index] != nullptr; }
  // Indices into SwitchConfig::ports of the ports that have a cable: the switch's own numbering.
  const std::vector<std::uint32_t>& cabled_ports(std::uint32_t index) const { return plan_.cabled[index]; }
  workload::Endpoint endpoint(const PortRef& port, std::uint32_t function);
  // With the traffic class that the workload asks for.
  workload::Endpoint endpoint(const PortRef& port, std::uint32_t function, const WorkloadConfig& workload);
  // Sees what leaves and what arrives at this port.
  void tap(std::uint32_t port, const fabric::Tap& tap);
  // Both ends of one direction of a cable.
  void tap_link(WorldLink& link, const fabric::Tap& tap);
  void mirror(const MirrorConfig& config, const fabric::Tap& tap);
  // Takes the taps with these `self` away.
  void untap(const std::vector<const void*>& taps);
  std::int64_t rate_bps(std::uint32_t port) const;
  // False of a virtual function: its cable is its NIC's.
  bool has_cable(std::uint32_t port) const;
  // The port at the other end of its cable.
  std::uint32_t peer(std::uint32_t port) const { return links_[link_from_[port]].to; }
  const fabric::LinkDirection& link_from(std::uint32_t port) const { return *links_[link_from_[port]].direction; }
  // The switch that a port belongs to; nothing of a host's.
  std::optional<std::uint32_t> switch_of(std::uint32_t port) const;
  // What comes in by this port of a switch for that port of a host leaves by the first of its routes now;
  // nothing without one, or when `port` is not a switch's.
  std::optional<std::uint32_t> first_route(std::uint32_t port, std::uint32_t destination) const;

  // Changes while it runs (world_change.cc). Every node has run up to `now_ps` and none beyond it.
  std::optional<std::size_t> link_at(const PortRef& port) const;  // index in Lab::links
  // One more holds this link down, or one less does.
  void hold_link(std::size_t link, bool holds, Time_ps now_ps);
  bool is_link_up(std::size_t link) const { return link_holders_[link] == 0; }
  using LinkWatcher = std::function<void(std::size_t link, bool up, Time_ps now_ps)>;
  void watch_links(LinkWatcher watcher) { link_watcher_ = std::move(watcher); }
  const std::vector<WorldFault>& faults() const { return faults_; }
  std::uint64_t fault_hits(std::uint32_t number) const;
  // Faults that took effect until `now_ps`, removed ones included, by their start.
  std::vector<FaultTime> fault_times(Time_ps now_ps) const;
  std::uint32_t next_fault() const { return last_fault_ + 1; }
  // What it does to frames or to a port; the state of the link is the caller's. Returns its number.
  std::uint32_t add_fault(FaultConfig fault, Time_ps now_ps);
  bool remove_fault(std::uint32_t number, Time_ps now_ps);
  // What leaves this port; nothing: as it comes.
  void impair(std::uint32_t port, const std::optional<fabric::Impairment>& impairment);
  const fabric::Impairer* impairer(std::uint32_t port) const;  // null: none

  // What else runs on the machines of its ends while this workload does. Between two phases.
  void load_cpus(const WorkloadConfig& workload);

  // The time of the last event anywhere: the moment the world came to rest.
  Time_ps last_event_ps() const;
  std::uint64_t events() const;
  std::uint64_t hops() const;  // link traversals of packets, pause frames left out
  // No frame is stamped earlier than this before the event that shows it: receive pipeline and the longest frame.
  Time_ps stamp_lag_ps() const;

 private:
  // What a link needs to know of the node at one of its ends.
  struct End {
    std::uint32_t domain = 0;
    std::uint32_t node = 0;
    Time_ps port_latency_ps = 0;
    Time_ps pipeline_ps = 0;
    Time_ps response_ps = 0;
    std::uint32_t cut_through_B = 0;
    engine::Inbox inbox;
  };
  void add_hosts();
  void add_links();
  void add_devices(bool carry_payload);
  void add_ports_elsewhere(std::uint32_t host);
  void plan_bond_changes();
  void configure_faults(const PortRef& ref, nic::DeviceConfig& config) const;
  // It runs on the host of another node.
  bool is_guest(std::uint32_t host) const { return lab_.hosts[host].vm && !apart_; }
  const host::CpuUse& load_of(std::uint32_t host) const { return lab_.hosts[machine_of(lab_, host)].cpu; }
  End end_of(const PortRef& ref, std::int64_t rate_bps);
  void place(const PortRef& ref, const host::Placement& wanted, workload::Endpoint& end);
  fabric::LinkWrapper& wrapper(WorldLink& link);

  // world_fabric.cc
  void add_switches();
  std::vector<fabric::FabricEdge> fabric_edges(const std::vector<bool>& up) const;
  void set_routes(std::vector<fabric::SwitchSetup>& setups) const;
  std::vector<bool> edge_switches() const;
  std::vector<fabric::RouteTable> routes_over(const std::vector<fabric::FabricEdge>& edges) const;
  // By the links that are up now; each switch uses them when it has noticed.
  void plan_routes(Time_ps now_ps);

  const Lab& lab_;
  const bool live_, apart_, record_;
  const WorldPlan plan_;
  engine::Engine engine_;
  // What belongs to another engine is null in these.
  std::vector<std::shared_ptr<host::Host>> hosts_;          // virtual machines have that of their host
  std::vector<std::uint32_t> guests_;                       // by host: which virtual machine of it
  std::vector<std::unique_ptr<lab::OutsidePort>> outside_;  // by host
  std::unique_ptr<fabric::FloodTree> flood_;
  std::vector<std::uint32_t> flood_subnets_;  // by port id; kNoId of those that are not on a switch
  std::vector<std::unique_ptr<fabric::Switch>> switches_;
  std::vector<WorldLink> links_;
  std::vector<std::uint32_t> link_from_, link_to_;  // by port id: index in links_, kNoId without
  std::vector<nic::Device*> devices_;               // by port id, of hosts
  std::vector<std::uint32_t> link_holders_;         // by link of the lab: what holds it down now
  std::optional<FaultTime> time_of(const WorldFault& fault, Time_ps now_ps) const;

  static constexpr std::size_t kMostRemovedFaults = 1000;  // that are remembered
  std::vector<WorldFault> faults_;
  std::vector<FaultTime> removed_faults_;
  std::uint32_t last_fault_ = 0;
  LinkWatcher link_watcher_;
  PortSettings port_settings_{lab_};
  std::vector<std::unique_ptr<nic::PortElsewhere>> elsewhere_;  // by port id, of hosts that belong to another engine
};

}  // namespace weft::lab
