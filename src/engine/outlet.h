// The sending end of one direction of a link. Within a domain a packet goes straight into the receiver's ring; to
// another domain it goes into the mailbox of that pair of domains, which is emptied in the next window, so that every
// ring and pool has one owner. The other domain may belong to another engine (engine/exchange.h): an outlet names the
// inlet by its number on the route.
#pragma once

#include <cstdint>

#include "engine/inlet.h"
#include "engine/mailbox.h"

namespace weft::engine {

class Outlet {
 public:
  Outlet() = default;  // leads nowhere: the sender belongs to another engine
  explicit Outlet(Inlet& inlet) : inlet_(&inlet) {}
  Outlet(MailRoute& route, std::uint32_t number) : route_(&route), number_(number) {}

  // `packet.time_ps` must not go back and must lie at least one window after now.
  void push(const Packet& packet) {
    WEFT_DCHECK(is_connected(), "an outlet leads to an inlet");
    if (inlet_ == nullptr) [[unlikely]] {
      route_->post(number_, packet);
      return;
    }
    inlet_->enter(packet);
  }
  void push_pause(const Packet& packet) {
    WEFT_DCHECK(is_connected(), "an outlet leads to an inlet");
    if (inlet_ == nullptr) {
      route_->post(number_, packet);
    } else {
      inlet_->enter_pause(packet);
    }
  }
  bool is_connected() const { return inlet_ != nullptr || route_ != nullptr; }
  // Null when it belongs to another domain.
  Inlet* inlet() const { return inlet_; }

 private:
  Inlet* inlet_ = nullptr;
  MailRoute* route_ = nullptr;
  std::uint32_t number_ = 0;
};

// The two ends of one direction of a link. What belongs to another engine is missing.
struct LinkEnds {
  Outlet outlet;
  Inlet* inlet = nullptr;  // the engine keeps it
};

}  // namespace weft::engine
