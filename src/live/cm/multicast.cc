// Multicast groups that programs join through RDMA CM. On RoCE there is no subnet manager to ask: the group's IP
// address is its GID (IPv4 as ::ffff:a.b.c.d, cma_iboe_set_mgid of Linux), and a join is over at once. Switches flood,
// so that no IGMP report is sent (docs/mechanisms/multicast.md).
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/cm/cm.h"

namespace weft::live {

Reply CommunicationManager::join(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmGroup ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id || id->device == verbs::kNoHandle) return Reply::failed(EINVAL);
  if (id->state != CmState::kBound && id->state != CmState::kAddressResolved && id->state != CmState::kRouteResolved)
    return Reply::failed(EINVAL);
  wire::Gid group;
  std::copy_n(ask.address.bytes, group.size(), group.begin());
  if (!wire::is_multicast(group)) return Reply::failed(EINVAL);
  verbs::CmConn conn{};
  conn.qpn = nic::kMulticastQpn;
  conn.qkey = RDMA_UDP_QKEY;
  tell(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0, now_ps, conn);
  verbs::CmEvent& event = id->channel->events.back().event;
  event.info.remote = ask.address;
  event.listen_cookie = ask.cookie;
  return {};
}

// A join that its program has not heard of yet was none.
Reply CommunicationManager::leave(Process& process, const Request& request) {
  verbs::CmGroup ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id) return Reply::failed(EINVAL);
  const std::size_t left = std::erase_if(id->channel->events, [&](const CmPendingEvent& pending) {
    return pending.id == id && pending.event.type == RDMA_CM_EVENT_MULTICAST_JOIN &&
           pending.event.listen_cookie == ask.cookie;
  });
  for (std::size_t i = 0; i < left; ++i) lower_event(id->channel->eventfd);
  return {};
}

}  // namespace weft::live
