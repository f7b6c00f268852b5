// Shared receive queues of a device, as programs use them: ibv_create_srq and its relatives, and the SRQs and targets
// of XRC. nic/queues/shared_receive_queue.h has the queue itself.
#pragma once

#include "nic/device.h"

namespace weft::nic {

class SharedReceives {
 public:
  explicit SharedReceives(Device& device) : port_(device.port()) {}

  std::uint32_t create(std::uint32_t entries) { return port_.shared.srqs.create(entries); }
  bool destroy(std::uint32_t srq);  // false while a queue pair uses it
  // Below `limit` receives there is one event; 0: none.
  void set_limit(std::uint32_t srq, std::uint32_t limit, Time_ps now_ps);
  // False when the queue is full, or there is none.
  bool post(std::uint32_t srq, const ReceiveRequest& request) {
    return port_.shared.srqs.exists(srq) && port_.shared.srqs[srq].push(request);
  }
  const SharedReceiveQueue& at(std::uint32_t srq) const { return port_.shared.srqs[srq]; }
  // Makes a queue pair of XRC the target of a domain, and an SRQ one of it, number kFirstXrcSrq + `srq`.
  void set_xrc_target(std::uint32_t qpn, std::uint32_t domain);
  void set_xrc_queue(std::uint32_t srq, std::uint32_t domain, std::uint32_t cq, std::uint32_t pd) {
    port_.shared.srqs[srq].extended = {domain, cq, pd};
  }

 private:
  Port& port_;
};

}  // namespace weft::nic
