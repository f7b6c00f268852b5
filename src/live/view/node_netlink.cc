// Which family of netlink a message is for, and the datagrams of the reply. What a node does not have (generic
// families) it answers as a kernel without it would.
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "live/os/shared_memory.h"
#include "live/view/node_view.h"
#include "live/view/rdma_netlink.h"
#include "live/view/socket_netlink.h"
#include "verbs/node_protocol.h"

namespace weft::live {

namespace {

void answer_generic(const NetlinkQuestion& question, NetlinkReply& reply) {
  if (question.is_dump()) return reply.end_dump();
  reply.error(ENOENT);  // ethtool falls back to its ioctl
}

}  // namespace

Reply NodeView::netlink(const Request& request, Time_ps now_ps) {
  verbs::NetlinkRequest ask;
  if (!request.read_head(ask)) return Reply::failed(EINVAL);
  const NetlinkNode node = netlink_node(now_ps);
  NetlinkBytes datagrams;
  for (const NetlinkQuestion& question : split_netlink(std::span(request.body).subspan(sizeof(ask)))) {
    if ((question.head.nlmsg_flags & NLM_F_REQUEST) == 0 || question.head.nlmsg_type < NLMSG_MIN_TYPE) continue;
    NetlinkReply reply(question, ask.port_id);
    switch (ask.protocol) {
      case NETLINK_ROUTE:
        answer_route(node, question, reply);
        break;
      case NETLINK_SOCK_DIAG:
        answer_sockets(node_, question, reply);
        break;
      case NETLINK_RDMA:
        answer_rdma(node, node_, question, reply);
        break;
      case NETLINK_GENERIC:
        answer_generic(question, reply);
        break;
      default:
        reply.error(EOPNOTSUPP);
        break;
    }
    // dcb of iproute2 stops reading at the answer to RTM_GETDCB, and would take an acknowledgement behind it for that
    // of its next request, which has the same sequence number within a second.
    const bool wants_ack = (question.head.nlmsg_flags & NLM_F_ACK) != 0 && question.head.nlmsg_type != RTM_GETDCB;
    if (wants_ack && !question.is_dump() && !reply.has_error()) reply.error(0);
    reply.take(datagrams);
  }
  Reply reply;
  if (datagrams.size() <= verbs::kMaxInlineReply_B) {
    reply.body.assign(datagrams.begin(), datagrams.end());
    return reply;
  }
  SharedMemory file = SharedMemory::make("weft-netlink", datagrams.size());
  if (file.data() == nullptr) return Reply::failed(ENOBUFS);
  std::memcpy(file.data(), datagrams.data(), datagrams.size());
  auto given = std::make_shared<Lent>();
  given->fds.push_back(file.release_fd());
  reply.fds[0] = given->fds.front();
  reply.given = std::move(given);
  return reply;
}

}  // namespace weft::live
