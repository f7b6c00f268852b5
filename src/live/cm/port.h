// The general services interface of one device: the queue pair that is number 1 on the wire, with its receives, for the
// MADs of communication management. The communication manager of the node polls it (live/cm/cm.h).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "host/host.h"
#include "wire/cm_mad.h"

namespace weft::live {

class CmPort {
 public:
  explicit CmPort(nic::Device& device);
  CmPort(const CmPort&) = delete;
  CmPort& operator=(const CmPort&) = delete;

  // A MAD that does not fit into the send queue goes when there is room.
  void send(const wire::Mad& mad, std::uint32_t to_port, Time_ps now_ps);

  struct Arrival {
    wire::Gid source{}, destination{};
    std::array<std::uint8_t, wire::kMad_B> bytes{};
  };
  // The next one that a CPU can see. What is too short to be a MAD, or did not come from a queue pair 1, is not one.
  std::optional<Arrival> receive(Time_ps now_ps);

  nic::Device& device() const { return device_; }
  std::uint32_t cq() const { return cq_; }

 private:
  bool post(const wire::Mad& mad, std::uint32_t to_port, Time_ps now_ps);
  void post_waiting(Time_ps now_ps);
  void post_receive(std::uint32_t slot);

  nic::Device& device_;
  std::uint32_t cq_ = 0, qpn_ = 0;
  std::uint32_t send_key_ = 0, receive_key_ = 0;
  std::uint32_t sent_ = 0;
  std::vector<std::uint8_t> sends_, receives_;
  struct Waiting {
    wire::Mad mad;
    std::uint32_t to_port;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace weft::live
