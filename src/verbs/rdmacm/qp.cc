// The queue pair of an id, with the queues that a caller did not bring, and its way through the states.
#include <cstring>

#include "verbs/rdmacm/objects.h"

namespace weft::verbs::cm {
namespace {

int step(Id& id, ibv_qp_state state, ibv_qp_attr& attr, int& mask) {
  attr = {};
  attr.qp_state = state;
  return rdma_init_qp_attr(&id, &attr, &mask);
}

int move(Id& id, ibv_qp_attr& attr, int mask) {
  return result(ibv_modify_qp(id.qp, &attr, mask));
}

void destroy_queue(ibv_cq*& cq, ibv_comp_channel*& channel) {
  if (cq != nullptr) ibv_destroy_cq(cq);
  if (channel != nullptr) ibv_destroy_comp_channel(channel);
  cq = nullptr;
  channel = nullptr;
}

// A program may have made one queue for both. The queue of a target of XRC is its shared receive queue's.
void destroy_queues(Id& id) {
  if (id.qp_type == IBV_QPT_XRC_RECV && id.srq != nullptr) return;
  if (id.send_cq == id.recv_cq) id.send_cq = nullptr;
  if (id.send_cq_channel == id.recv_cq_channel) id.send_cq_channel = nullptr;
  destroy_queue(id.recv_cq, id.recv_cq_channel);
  destroy_queue(id.send_cq, id.send_cq_channel);
}

bool create_queue(Id& id, std::uint32_t entries, ibv_cq*& cq, ibv_comp_channel*& channel) {
  channel = ibv_create_comp_channel(id.verbs);
  if (channel == nullptr) return false;
  cq = ibv_create_cq(id.verbs, static_cast<int>(entries == 0 ? 1 : entries), &id, channel, 0);
  return cq != nullptr;
}

}  // namespace

int to_init(Id& id) {
  ibv_qp_attr attr;
  int mask = 0;
  if (step(id, IBV_QPS_INIT, attr, mask) != 0) return -1;
  return move(id, attr, mask);
}

// Attributes that the connection allows are known only now: INIT once more, then RTR.
int to_rtr(Id& id, std::uint8_t responder_resources) {
  if (id.qp == nullptr) return 0;
  ibv_qp_attr attr;
  int mask = 0;
  if (to_init(id) != 0 || step(id, IBV_QPS_RTR, attr, mask) != 0) return -1;
  if (responder_resources != RDMA_MAX_RESP_RES) attr.max_dest_rd_atomic = responder_resources;
  return move(id, attr, mask);
}

int to_rts(Id& id, std::uint8_t initiator_depth) {
  if (id.qp == nullptr) return 0;
  ibv_qp_attr attr;
  int mask = 0;
  if (step(id, IBV_QPS_RTS, attr, mask) != 0) return -1;
  if (initiator_depth != RDMA_MAX_INIT_DEPTH) attr.max_rd_atomic = initiator_depth;
  return move(id, attr, mask);
}

int to_error(Id& id) {
  if (id.qp == nullptr || id.qp->qp_type == IBV_QPT_UD) return 0;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  return move(id, attr, IBV_QP_STATE);
}

int start_datagrams(Id& id) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  if (to_init(id) != 0 || move(id, attr, IBV_QP_STATE) != 0) return -1;
  attr.qp_state = IBV_QPS_RTS;
  return move(id, attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

}  // namespace weft::verbs::cm

using namespace weft::verbs;
using namespace weft::verbs::cm;

int rdma_init_qp_attr(rdma_cm_id* base, ibv_qp_attr* attr, int* mask) {
  CmQpAttr reply;
  const CmOption request{id_of(base).handle, 0, static_cast<std::uint32_t>(attr->qp_state)};
  if (const int error = call(Op::kCmInitQpAttr, request, reply); error != 0) return result(error);
  const QpAttr& from = reply.attr;
  *mask = static_cast<int>(reply.mask);
  attr->qp_state = static_cast<ibv_qp_state>(from.state);
  attr->path_mtu = static_cast<ibv_mtu>(from.path_mtu);
  attr->qkey = from.qkey;
  attr->rq_psn = from.rq_psn;
  attr->sq_psn = from.sq_psn;
  attr->dest_qp_num = from.dest_qpn;
  attr->qp_access_flags = from.access;
  attr->pkey_index = static_cast<std::uint16_t>(from.pkey_index);
  attr->port_num = static_cast<std::uint8_t>(from.port);
  attr->max_rd_atomic = static_cast<std::uint8_t>(from.max_rd_atomic);
  attr->max_dest_rd_atomic = static_cast<std::uint8_t>(from.max_dest_rd_atomic);
  attr->min_rnr_timer = static_cast<std::uint8_t>(from.min_rnr_timer);
  attr->timeout = static_cast<std::uint8_t>(from.timeout);
  attr->retry_cnt = static_cast<std::uint8_t>(from.retry_cnt);
  attr->rnr_retry = static_cast<std::uint8_t>(from.rnr_retry);
  attr->ah_attr = {};
  if ((reply.mask & IBV_QP_AV) == 0) return 0;
  attr->ah_attr.is_global = 1;
  attr->ah_attr.port_num = 1;
  std::memcpy(attr->ah_attr.grh.dgid.raw, from.ah.dgid, 16);
  attr->ah_attr.grh.sgid_index = static_cast<std::uint8_t>(from.ah.sgid_index);
  attr->ah_attr.grh.hop_limit = static_cast<std::uint8_t>(from.ah.hop_limit);
  attr->ah_attr.grh.traffic_class = static_cast<std::uint8_t>(from.ah.traffic_class);
  attr->ah_attr.grh.flow_label = from.ah.flow_label;
  return 0;
}

int rdma_create_qp_ex(rdma_cm_id* base, ibv_qp_init_attr_ex* init) {
  Id& id = id_of(base);
  if (id.qp != nullptr || id.verbs == nullptr) return result(EINVAL);
  if ((init->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || init->pd == nullptr) {
    init->comp_mask |= IBV_QP_INIT_ATTR_PD;
    init->pd = id.pd;
  } else if (init->pd->context != id.verbs) {
    return result(EINVAL);
  }
  // A target of XRC has no queues of its own, an initiator none to receive.
  const bool is_target = id.qp_type == IBV_QPT_XRC_RECV;
  if (is_target && ((init->comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || init->xrcd == nullptr)) {
    init->xrcd = xrc_domain_of(*id.device);
    if (init->xrcd == nullptr) return -1;
    init->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
  }
  const bool own_receive = init->recv_cq == nullptr && !is_target && id.qp_type != IBV_QPT_XRC_SEND;
  const bool own_send = init->send_cq == nullptr && !is_target;
  if ((own_receive && !create_queue(id, init->cap.max_recv_wr, id.recv_cq, id.recv_cq_channel)) ||
      (own_send && !create_queue(id, init->cap.max_send_wr, id.send_cq, id.send_cq_channel))) {
    const int error = errno;
    destroy_queues(id);
    return result(error);
  }
  if (own_receive) init->recv_cq = id.recv_cq;
  if (own_send) init->send_cq = id.send_cq;
  if (init->srq == nullptr) init->srq = id.srq;
  id.qp = ibv_create_qp_ex(id.verbs, init);
  const bool datagram = init->qp_type == IBV_QPT_UD;
  if (id.qp == nullptr || (datagram ? start_datagrams(id) : to_init(id)) != 0) {
    const int error = errno;
    if (id.qp != nullptr) ibv_destroy_qp(id.qp);
    id.qp = nullptr;
    destroy_queues(id);
    return result(error);
  }
  id.pd = init->pd;
  return 0;
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* init) {
  ibv_qp_init_attr_ex more{};
  std::memcpy(&more, init, sizeof *init);
  more.comp_mask = IBV_QP_INIT_ATTR_PD;
  more.pd = pd != nullptr ? pd : id->pd;
  const int status = rdma_create_qp_ex(id, &more);
  std::memcpy(init, &more, sizeof *init);
  return status;
}

void rdma_destroy_qp(rdma_cm_id* base) {
  Id& id = id_of(base);
  if (id.qp != nullptr) ibv_destroy_qp(id.qp);
  id.qp = nullptr;
  destroy_queues(id);
}

int rdma_create_srq_ex(rdma_cm_id* base, ibv_srq_init_attr_ex* init) {
  Id& id = id_of(base);
  const bool has_type = (init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  if (!has_type || id.srq != nullptr || id.verbs == nullptr) return result(EINVAL);
  if ((init->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || init->pd == nullptr) init->pd = id.pd;
  if (init->pd->context != id.verbs) return result(EINVAL);
  init->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
  if (init->srq_type == IBV_SRQT_XRC) {
    if ((init->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || init->xrcd == nullptr) {
      init->xrcd = xrc_domain_of(*id.device);
      if (init->xrcd == nullptr) return -1;
    }
    if ((init->comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 || init->cq == nullptr) {
      if (!create_queue(id, init->attr.max_wr, id.recv_cq, id.recv_cq_channel)) {
        const int error = errno;
        destroy_queues(id);
        return result(error);
      }
      init->cq = id.recv_cq;
    }
    init->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  }
  id.srq = ibv_create_srq_ex(id.verbs, init);
  if (id.srq == nullptr) {
    const int error = errno;
    if (init->srq_type == IBV_SRQT_XRC) destroy_queues(id);
    return result(error);
  }
  id.pd = init->pd;
  return 0;
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* init) {
  ibv_srq_init_attr_ex more{};
  std::memcpy(&more, init, sizeof *init);
  more.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  more.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
  more.pd = pd;
  const int status = rdma_create_srq_ex(id, &more);
  std::memcpy(init, &more, sizeof *init);
  return status;
}

void rdma_destroy_srq(rdma_cm_id* base) {
  Id& id = id_of(base);
  if (id.srq != nullptr) ibv_destroy_srq(id.srq);
  id.srq = nullptr;
  if (id.qp_type == IBV_QPT_XRC_RECV) destroy_queues(id);
}
