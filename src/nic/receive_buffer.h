// Receive buffer of a port: payload that PCIe has not taken yet, as the time that the link alone would take for it.
// Above XOFF the peer is stopped, at XON it is released, above its size packets are dropped. Two things slow it down: a
// fault, by which the host's memory takes less than PCIe could bring, and the limit of the NIC itself
// (nic/receive_load.h). Asked by the receive path for each packet with payload and by the pause engine.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/time.h"
#include "engine/packet.h"
#include "nic/device_config.h"
#include "nic/pcie/path.h"
#include "nic/receive_load.h"
#include "spec/nic_counters.h"

namespace weft::nic {

class ReceiveBuffer {
  // Fields for every packet.
  Time_ps xoff_ps_;
  bool is_slow_;  // by a fault, or of a kind that may be

 public:
  // `model` is that of `config` where the device keeps it; `random` draws the length of slow times.
  ReceiveBuffer(const DeviceConfig& config, const NicModel& model, Card& card, const Counters& counters,
                RandomStream& random);

  // Backlog before PCIe: of a function with its link alone that one's share, else all of the card's.
  Time_ps backlog_ps(const PcieFunction& function, Time_ps now_ps) const {
    return function.path() == nullptr ? function.write_backlog_ps(now_ps) : pending_ps(card_.functions, now_ps);
  }
  bool is_above_xoff(Time_ps backlog_ps) const { return backlog_ps > xoff_ps_; }
  bool has_room(Time_ps backlog_ps) const { return backlog_ps <= size_ps_; }

  // Whether its speed has to be looked at first.
  bool is_slow() const { return is_slow_; }
  // A packet with payload comes in. True: little leaves the buffer now, and add_slowly() says whether it fits.
  bool count(const engine::Packet& packet, Time_ps now_ps);
  bool add_slowly(std::uint32_t payload_B, Time_ps now_ps) { return load_.fill(model_, payload_B, now_ps); }
  bool is_slowly_above_xoff() const { return load_.filled_B() > model_.rx_pause_xoff_B; }
  // Time after which a packet that comes now is taken from the buffer.
  Time_ps wait_ps(Time_ps now_ps) const { return load_.wait_ps(model_, now_ps); }

  // For the pause engine: whether what waits is down to XON, and when that may be; a fault that ends meanwhile brings
  // it forward. By paths it may take longer than planned here, but not less than the link alone takes, nor than the
  // next write.
  bool is_drained(Time_ps now_ps) const;
  Time_ps drained_by_ps(Time_ps now_ps) const;
  bool is_faulty(Time_ps now_ps) const { return now_ps >= slow_from_ps_ && now_ps < slow_until_ps_; }
  // The fault begins or ends, if it is time.
  void apply_fault(Time_ps now_ps);
  // `ps_per_byte` 0: as it was.
  void set_fault(Time_ps ps_per_byte, Time_ps from_ps, Time_ps until_ps);

 private:
  const NicModel& model_;
  Card& card_;
  const Counters& counters_;
  RandomStream& random_;
  ReceiveLoad load_;
  Time_ps size_ps_, xon_ps_;
  Time_ps slow_ps_per_byte_, slow_from_ps_, slow_until_ps_;
};

}  // namespace weft::nic
