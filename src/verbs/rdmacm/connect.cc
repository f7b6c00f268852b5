// Connections: asking for one, accepting, rejecting, ending.
#include <cstring>

#include "verbs/rdmacm/objects.h"

namespace weft::verbs::cm {

CmConn conn_of(const Id& id, const rdma_conn_param* param) {
  CmConn conn{};
  conn.responder_resources = id.responder_resources;
  conn.initiator_depth = id.initiator_depth;
  conn.retry_count = conn.rnr_retry_count = 7;
  if (param != nullptr) {
    conn.flow_control = param->flow_control;
    conn.retry_count = param->retry_count;
    conn.rnr_retry_count = param->rnr_retry_count;
    conn.srq = param->srq;
    conn.qpn = param->qp_num;
    if (param->private_data != nullptr && param->private_data_len > 0) {
      conn.private_B = param->private_data_len;
      std::memcpy(conn.private_data, param->private_data, param->private_data_len);
    }
  }
  if (id.qp != nullptr) {
    conn.qpn = id.qp->qp_num;
    conn.srq = id.qp->srq != nullptr ? 1 : 0;
  }
  return conn;
}

namespace {

std::uint8_t lesser(std::uint8_t a, std::uint8_t b) {
  return a < b ? a : b;
}

// 0, or EINVAL where a program asks for more than the device has. An id that is not bound has no device to ask.
int check(const Id& id, const rdma_conn_param* param) {
  if (id.device == nullptr) return EINVAL;
  if (id.ps == RDMA_PS_UDP || id.qp == nullptr || param == nullptr) return 0;
  const bool too_many_resources = param->responder_resources != RDMA_MAX_RESP_RES &&
                                  param->responder_resources > id.device->max_responder_resources;
  const bool too_deep =
      param->initiator_depth != RDMA_MAX_INIT_DEPTH && param->initiator_depth > id.device->max_initiator_depth;
  return too_many_resources || too_deep ? EINVAL : 0;
}

}  // namespace
}  // namespace weft::verbs::cm

using namespace weft::verbs;
using namespace weft::verbs::cm;

int rdma_connect(rdma_cm_id* base, rdma_conn_param* param) {
  Id& id = id_of(base);
  if (const int error = check(id, param); error != 0) return result(error);
  const bool most_resources = param == nullptr || param->responder_resources == RDMA_MAX_RESP_RES;
  const bool deepest = param == nullptr || param->initiator_depth == RDMA_MAX_INIT_DEPTH;
  id.responder_resources = most_resources ? id.device->max_responder_resources : param->responder_resources;
  id.initiator_depth = deepest ? id.device->max_initiator_depth : param->initiator_depth;
  const CmConnect request{id.handle, conn_of(id, param)};
  if (const int error = call(Op::kCmConnect, request); error != 0) return result(error);
  return complete(id);
}

int rdma_accept(rdma_cm_id* base, rdma_conn_param* param) {
  Id& id = id_of(base);
  if (const int error = check(id, param); error != 0) return result(error);
  const bool as_asked = param == nullptr || param->responder_resources == RDMA_MAX_RESP_RES;
  const bool as_deep = param == nullptr || param->initiator_depth == RDMA_MAX_INIT_DEPTH;
  id.responder_resources =
      as_asked ? lesser(id.responder_resources, id.device->max_responder_resources) : param->responder_resources;
  id.initiator_depth = as_deep ? lesser(id.initiator_depth, id.device->max_initiator_depth) : param->initiator_depth;
  const bool datagram = id.qp_type == IBV_QPT_UD;
  if (id.qp != nullptr && !datagram) {
    if (to_rtr(id, id.responder_resources) != 0 || to_rts(id, id.initiator_depth) != 0) return -1;
  }
  const CmConnect request{id.handle, conn_of(id, param)};
  if (const int error = call(Op::kCmAccept, request); error != 0) {
    to_error(id);
    return result(error);
  }
  return datagram ? 0 : complete(id);
}

int rdma_reject(rdma_cm_id* base, const void* private_data, std::uint8_t private_data_len) {
  CmConnect request{};
  request.id = id_of(base).handle;
  if (private_data != nullptr) {
    request.conn.private_B = private_data_len;
    std::memcpy(request.conn.private_data, private_data, private_data_len);
  }
  return result(call(Op::kCmReject, request));
}

// The other end does not hear that it was for ECE; there is none here.
int rdma_reject_ece(rdma_cm_id* id, const void* private_data, std::uint8_t private_data_len) {
  return rdma_reject(id, private_data, private_data_len);
}

// For those who move their queue pair themselves.
int rdma_establish(rdma_cm_id* base) {
  Id& id = id_of(base);
  if (id.qp != nullptr) return result(EINVAL);
  CmConnect request{};
  request.id = id.handle;
  return result(call(Op::kCmAccept, request));
}

int rdma_disconnect(rdma_cm_id* base) {
  Id& id = id_of(base);
  if (to_error(id) != 0) return -1;
  if (const int error = call(Op::kCmDisconnect, Handle{id.handle}); error != 0) return result(error);
  return complete(id);
}

int rdma_notify(rdma_cm_id* base, ibv_event_type event) {
  return result(call(Op::kCmNotify, CmOption{id_of(base).handle, 0, static_cast<std::uint32_t>(event)}));
}
