// Extended reliable connections (IBTA annex A14): RC whose requests name a shared receive queue of the target's domain,
// so that one connection serves every process of a node. An initiator only sends requests (transmit.cc), a target only
// answers them (responder.cc).
#include "nic/device.h"
#include "nic/reliable_transport.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

constinit const Transport kXrcTransport =
    reliable_transport("XRC", kXrcNumber, &Device::send_xrc, &Device::receive_xrc);

void Device::set_xrc_target(std::uint32_t qpn, std::uint32_t domain) {
  QueuePair& qp = *owner_of(qpn).find_qp(qpn);
  qp.flags |= QueuePair::kUsesSrq;
  qp.xrc_domain = domain;
  leave_srq(qp);  // until a packet names one
}

void Device::set_xrc_queue(std::uint32_t srq, std::uint32_t domain, std::uint32_t cq, std::uint32_t pd) {
  shared_.srqs[srq].extended = {domain, cq, pd};
}

}  // namespace weft::nic
