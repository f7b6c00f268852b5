// The verbs objects of the programs on a node, as `rdma resource` lists them: those of user space; what the kernel of a
// real host has besides (its own PD, CQs and queue pair 1) is not there.
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>

#include "live/cm/cm.h"
#include "live/view/rdma_netlink.h"
#include "verbs/address.h"

namespace weft::live {

namespace {

// enum rdma_cm_state of the kernel.
enum KernelCmState : std::uint8_t {
  kCmIdle,
  kCmAddrQuery,
  kCmAddrResolved,
  kCmRouteQuery,
  kCmRouteResolved,
  kCmConnect,
  kCmDisconnect,
  kCmAddrBound,
  kCmListen,
};

std::uint8_t kernel_state(CmState state) {
  switch (state) {
    case CmState::kIdle:
    case CmState::kDone:
      return kCmIdle;
    case CmState::kBound:
      return kCmAddrBound;
    case CmState::kListening:
      return kCmListen;
    case CmState::kResolving:
      return kCmAddrQuery;
    case CmState::kAddressResolved:
      return kCmAddrResolved;
    case CmState::kRouteResolved:
      return kCmRouteResolved;
    case CmState::kDreqSent:
    case CmState::kDreqReceived:
    case CmState::kTimeWait:
      return kCmDisconnect;
    default:
      return kCmConnect;
  }
}

// One object in a message of its own.
class Entry {
 public:
  Entry(NetlinkReply& reply, std::uint16_t type, const NodePort& port, std::uint16_t list, std::uint16_t entry, int pid)
      : reply_(reply) {
    reply_.begin(type);
    reply_.put(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{port.device});
    reply_.put_text(RDMA_NLDEV_ATTR_DEV_NAME, port.rdma);
    reply_.begin_nest(list);
    reply_.begin_nest(entry);
    put32(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(pid));
  }
  ~Entry() {
    reply_.end_nest();
    reply_.end_nest();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  void put8(std::uint16_t type, std::uint32_t value) { reply_.put(type, static_cast<std::uint8_t>(value)); }
  void put32(std::uint16_t type, std::uint32_t value) { reply_.put(type, value); }
  void put64(std::uint16_t type, std::uint64_t value) { reply_.put(type, value); }
  NetlinkReply& reply() { return reply_; }

 private:
  NetlinkReply& reply_;
};

struct Asked {
  Node& programs;
  const NodePort& port;
  std::uint16_t type;  // of messages
  NetlinkReply& reply;
};

void put_qps(const Asked& asked, const Process& process) {
  for (const auto& [handle, qp] : process.qps) {
    if (qp->device != asked.port.device) continue;
    Entry entry(asked.reply, asked.type, asked.port, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, process.pid);
    const std::uint32_t state = ibv_state(asked.programs.host().device(qp->device).qp(qp->qpn).state);
    const bool connected = qp->type == IBV_QPT_RC || qp->type == IBV_QPT_UC;
    entry.put32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
    entry.put32(RDMA_NLDEV_ATTR_RES_LQPN, qp->qpn);
    if (connected) {
      entry.put32(RDMA_NLDEV_ATTR_RES_RQPN, qp->attr.dest_qpn);
      entry.put32(RDMA_NLDEV_ATTR_RES_RQ_PSN, qp->attr.rq_psn);
    }
    entry.put32(RDMA_NLDEV_ATTR_RES_SQ_PSN, qp->attr.sq_psn);
    if (connected) entry.put8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, IBV_MIG_MIGRATED);
    entry.put8(RDMA_NLDEV_ATTR_RES_TYPE, qp->type);
    entry.put8(RDMA_NLDEV_ATTR_RES_STATE, state);
    entry.put32(RDMA_NLDEV_ATTR_RES_PDN, qp->pd);
  }
}

void put_cqs(const Asked& asked, const Process& process) {
  for (const auto& [handle, cq] : process.cqs) {
    if (cq->device != asked.port.device) continue;
    Entry entry(asked.reply, asked.type, asked.port, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, process.pid);
    std::uint64_t users = 0;
    for (const auto& each : process.qps)
      users += (each.second->send_cq == handle) + (each.second->receive_cq == handle);
    entry.put32(RDMA_NLDEV_ATTR_RES_CQE, cq->ring.info.entries - 1);
    entry.put64(RDMA_NLDEV_ATTR_RES_USECNT, users);
    entry.put32(RDMA_NLDEV_ATTR_RES_CQN, handle);
  }
}

void put_mrs(const Asked& asked, const Process& process) {
  for (const auto& [handle, mr] : process.mrs) {
    if (mr->device != asked.port.device) continue;
    Entry entry(asked.reply, asked.type, asked.port, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, process.pid);
    entry.put32(RDMA_NLDEV_ATTR_RES_RKEY, mr->key);
    entry.put32(RDMA_NLDEV_ATTR_RES_LKEY, mr->key);
    entry.put64(RDMA_NLDEV_ATTR_RES_MRLEN, mr->length_B);
    entry.put32(RDMA_NLDEV_ATTR_RES_MRN, handle);
    entry.put32(RDMA_NLDEV_ATTR_RES_PDN, mr->pd);
  }
}

void put_pds(const Asked& asked, const Process& process) {
  for (const auto& [handle, device] : process.pds) {
    if (device != asked.port.device) continue;
    std::uint64_t users = 0;
    for (const auto& each : process.qps) users += each.second->pd == handle;
    for (const auto& each : process.mrs) users += each.second->pd == handle;
    for (const auto& each : process.srqs) users += each.second->pd == handle;
    Entry entry(asked.reply, asked.type, asked.port, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY, process.pid);
    entry.put64(RDMA_NLDEV_ATTR_RES_USECNT, users);
    entry.put32(RDMA_NLDEV_ATTR_RES_PDN, handle);
  }
}

void put_srqs(const Asked& asked, const Process& process) {
  for (const auto& [handle, srq] : process.srqs) {
    if (srq->device != asked.port.device) continue;
    Entry entry(asked.reply, asked.type, asked.port, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
                process.pid);
    entry.put32(RDMA_NLDEV_ATTR_RES_SRQN, handle);
    entry.put8(RDMA_NLDEV_ATTR_RES_TYPE, IBV_SRQT_BASIC);
    entry.put32(RDMA_NLDEV_ATTR_RES_PDN, srq->pd);
  }
}

void put_socket_address(NetlinkReply& reply, std::uint16_t type, const wire::Gid& gid, std::uint16_t port) {
  if (verbs::is_ipv4(gid.data())) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    std::copy_n(gid.begin() + 12, 4, reinterpret_cast<std::uint8_t*>(&address.sin_addr));
    return reply.put(type, address);
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::copy_n(gid.begin(), 16, address.sin6_addr.s6_addr);
  reply.put(type, address);
}

bool is_on(const CmId& id, const NodePort& port) {
  return id.device == port.device || (id.device == verbs::kNoHandle && port.device == 0);
}

void put_cm_ids(const Asked& asked, const Process& process) {
  for (const auto& [handle, id] : process.cm_ids) {
    if (!is_on(*id, asked.port)) continue;
    Entry entry(asked.reply, asked.type, asked.port, RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
                process.pid);
    entry.put32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
    if (id->qpn != 0) entry.put32(RDMA_NLDEV_ATTR_RES_LQPN, id->qpn);
    entry.put8(RDMA_NLDEV_ATTR_RES_TYPE, id->qp_type);
    entry.put8(RDMA_NLDEV_ATTR_RES_STATE, kernel_state(id->state));
    entry.put32(RDMA_NLDEV_ATTR_RES_PS, id->port_space);
    entry.put32(RDMA_NLDEV_ATTR_RES_CM_IDN, id->number);
    put_socket_address(entry.reply(), RDMA_NLDEV_ATTR_RES_SRC_ADDR, id->local, id->local_port);
    if (id->remote_port != 0)
      put_socket_address(entry.reply(), RDMA_NLDEV_ATTR_RES_DST_ADDR, id->remote, id->remote_port);
  }
}

void put_summary(const Asked& asked) {
  const auto on = [&](const auto& list) {
    return static_cast<std::uint64_t>(std::count_if(
        list.begin(), list.end(), [&](const auto& each) { return each.second->device == asked.port.device; }));
  };
  std::uint64_t pd = 0, cq = 0, qp = 0, cm_id = 0, mr = 0, ctx = 0, srq = 0;
  for (const auto& process : asked.programs.processes) {
    pd += static_cast<std::uint64_t>(std::count_if(process->pds.begin(), process->pds.end(),
                                                   [&](const auto& each) { return each.second == asked.port.device; }));
    cq += on(process->cqs);
    qp += on(process->qps);
    mr += on(process->mrs);
    srq += on(process->srqs);
    ctx += process->async.contains(asked.port.device) ? 1 : 0;
    for (const auto& each : process->cm_ids) cm_id += is_on(*each.second, asked.port) ? 1 : 0;
  }
  asked.reply.begin(asked.type);
  asked.reply.put(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{asked.port.device});
  asked.reply.put_text(RDMA_NLDEV_ATTR_DEV_NAME, asked.port.rdma);
  asked.reply.begin_nest(RDMA_NLDEV_ATTR_RES_SUMMARY);
  const std::pair<const char*, std::uint64_t> rows[] = {{"pd", pd}, {"cq", cq},   {"qp", qp},  {"cm_id", cm_id},
                                                        {"mr", mr}, {"ctx", ctx}, {"srq", srq}};
  for (const auto& [name, number] : rows) {
    asked.reply.begin_nest(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
    asked.reply.put_text(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name);
    asked.reply.put(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, number);
    asked.reply.end_nest();
  }
  asked.reply.end_nest();
}

}  // namespace

void answer_resources(Node& programs, const NodePort& port, std::uint16_t command, const NetlinkQuestion& question,
                      NetlinkReply& reply) {
  const Asked asked{programs, port, question.head.nlmsg_type, reply};
  if (command == RDMA_NLDEV_CMD_RES_GET) return put_summary(asked);
  for (const auto& process : programs.processes) {
    if (command == RDMA_NLDEV_CMD_RES_QP_GET) put_qps(asked, *process);
    if (command == RDMA_NLDEV_CMD_RES_CQ_GET) put_cqs(asked, *process);
    if (command == RDMA_NLDEV_CMD_RES_MR_GET) put_mrs(asked, *process);
    if (command == RDMA_NLDEV_CMD_RES_PD_GET) put_pds(asked, *process);
    if (command == RDMA_NLDEV_CMD_RES_SRQ_GET) put_srqs(asked, *process);
    if (command == RDMA_NLDEV_CMD_RES_CM_ID_GET) put_cm_ids(asked, *process);
  }
}

}  // namespace weft::live
