// A lab as a running world: hosts, devices, cables with their faults and taps, on an engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fabric/address_book.h"
#include "fabric/link.h"
#include "fabric/link_wrapper.h"
#include "host/host.h"
#include "lab/lab_model.h"
#include "workload/connection.h"

namespace weft::lab {

struct WorldOptions {
  std::uint32_t domains = 1;        // hosts are dealt to them in turn
  std::int64_t window_divisor = 1;  // tests: shorter windows must give the same results
  bool carry_payload = false;       // somebody looks at the bytes
};

// One direction of one cable.
struct WorldLink {
  const LinkConfig* config = nullptr;
  std::uint32_t from = 0, to = 0;  // port ids
  std::unique_ptr<fabric::LinkDirection> direction;
  std::unique_ptr<fabric::LinkWrapper> wrapper;  // only with faults, bit errors or taps
  std::vector<std::size_t> faults;               // which of the lab's, in the order of the wrapper's rules
};

class World {
 public:
  World(const Lab& lab, const WorldOptions& options);

  const Lab& lab() const { return lab_; }
  engine::Engine& engine() { return engine_; }
  std::uint32_t port_id(const PortRef& port) const { return port_ids_[port.host][port.nic][port.port]; }
  std::uint32_t port_count() const { return static_cast<std::uint32_t>(book_.size()); }
  const fabric::AddressBook& book() const { return book_; }
  // Null for a port without a cable.
  nic::Device* device(std::uint32_t port) { return devices_[port]; }
  std::vector<WorldLink>& links() { return links_; }
  workload::Endpoint endpoint(const PortRef& port, std::uint32_t function);
  // Sees what leaves and what arrives at this port.
  void tap(std::uint32_t port, const fabric::Tap& tap);
  std::int64_t rate_bps(std::uint32_t port) const;

  // The time of the last event anywhere: the moment the world came to rest.
  Time_ps last_event_ps() const;
  std::uint64_t events() const;
  // No frame is stamped earlier than this before the event that shows it: receive pipeline and the longest frame.
  Time_ps stamp_lag_ps() const;

 private:
  void number_ports();
  void add_hosts(const WorldOptions& options);
  void add_links();
  void add_devices(bool carry_payload);
  fabric::LinkWrapper& wrapper(WorldLink& link);

  const Lab& lab_;
  engine::Engine engine_;
  fabric::AddressBook book_;
  std::vector<std::vector<std::vector<std::uint32_t>>> port_ids_;
  std::vector<PortRef> ports_;
  std::vector<std::unique_ptr<host::Host>> hosts_;
  std::vector<std::uint32_t> domain_of_host_;
  std::vector<WorldLink> links_;
  std::vector<nic::Device*> devices_;
};

}  // namespace weft::lab
