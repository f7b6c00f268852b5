// Address handles, and the attributes and states of queue pairs.
#include <infiniband/verbs.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "live/verbs/qp_transition.h"
#include "live/verbs/service.h"

namespace weft::live {

namespace {

// A program that asks for traffic class 0 or service level 0 asks for nothing: the lab's QoS decides, as
// /sys/class/infiniband/mlx5_0/tc/1/traffic_class does on a real host. ECN is the NIC's.
std::uint8_t tos_of(const verbs::AhAttr& attr, std::uint8_t usual_tos) {
  constexpr std::uint32_t kDscpMask = 0xfc, kEcnMask = 3;
  if (attr.traffic_class == 0) return usual_tos;
  return static_cast<std::uint8_t>((attr.traffic_class & kDscpMask) | (usual_tos & kEcnMask));
}
std::uint8_t priority_of(const verbs::AhAttr& attr) {
  return attr.sl == 0 ? nic::kPortPriority : static_cast<std::uint8_t>(attr.sl & 7);
}

std::uint32_t mtu_B(std::uint32_t ibv_mtu) {
  return ibv_mtu >= 1 && ibv_mtu <= 5 ? 128u << ibv_mtu : 0;
}

}  // namespace

std::uint32_t ibv_state(nic::QpState state) {
  static constexpr std::uint32_t kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                              IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
  return kStates[static_cast<std::size_t>(state)];
}

// Error of the GID table entry that packets leave from. RoCE v1 has another frame, which is not simulated.
int VerbsService::source_error(std::uint32_t index, const verbs::AhAttr& attr) const {
  const verbs::DeviceInfo info = describe(index);
  if (attr.sgid_index >= info.gid_count) return EINVAL;
  return info.gids[attr.sgid_index].type == IBV_GID_TYPE_ROCE_V2 ? 0 : EOPNOTSUPP;
}

Reply VerbsService::create_ah(Process& process, const Request& request) {
  verbs::CreateAh ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto pd = process.pds.find(ask.pd);
  if (pd == process.pds.end()) return Reply::failed(EINVAL);
  wire::IpAddress to;
  std::copy_n(ask.attr.dgid, to.size(), to.begin());
  // A group is no port's: its datagrams carry its GID.
  auto port = wire::is_multicast(to) ? device(pd->second)->port_id() : port_of_gid(ask.attr.dgid);
  if (!port) return Reply::failed(ENETUNREACH);
  if (int error = source_error(pd->second, ask.attr); error != 0) return Reply::failed(error);
  if (process.ahs.size() >= kMaxAh) return Reply::failed(ENOMEM);
  std::uint32_t handle = process.new_handle();
  const std::uint8_t tos = world_.endpoint(port_ref(pd->second), 0).tos;
  process.ahs[handle] = {pd->second, *port, ask.attr, tos_of(ask.attr, tos), priority_of(ask.attr)};
  return Reply::of(verbs::Handle{handle});
}

Reply VerbsService::modify_qp(Process& caller, const Request& request, Time_ps now_ps) {
  verbs::ModifyQp ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  Process& process = holder_of(caller, verbs::Kind::kQp, ask.qp);
  auto found = process.qps.find(ask.qp);
  if (found == process.qps.end()) return Reply::failed(EINVAL);
  VerbsQp& qp = *found->second;
  ask.mask = attributes_that_count(qp.type, ask.mask);
  nic::Device& nic = *device(qp.device);
  const std::uint32_t from = ibv_state(nic.qp(qp.qpn).state);
  const std::uint32_t step_to = (ask.mask & IBV_QP_STATE) != 0 ? ask.attr.state : from;
  if (!may_modify(qp.type, from, step_to, ask.mask)) return Reply::failed(EINVAL);
  if ((ask.mask & IBV_QP_AV) != 0) {
    if (int error = source_error(qp.device, ask.attr.ah); error != 0) return Reply::failed(error);
  }
  // Given attributes count only if all of them do.
  verbs::QpAttr attr = step_to == IBV_QPS_RESET ? verbs::QpAttr{} : qp.attr;
  auto take = [&](std::uint32_t bit, auto field) {
    if ((ask.mask & bit) != 0) attr.*field = ask.attr.*field;
  };
  take(IBV_QP_ACCESS_FLAGS, &verbs::QpAttr::access);
  take(IBV_QP_PKEY_INDEX, &verbs::QpAttr::pkey_index);
  take(IBV_QP_PORT, &verbs::QpAttr::port);
  take(IBV_QP_QKEY, &verbs::QpAttr::qkey);
  take(IBV_QP_AV, &verbs::QpAttr::ah);
  take(IBV_QP_PATH_MTU, &verbs::QpAttr::path_mtu);
  take(IBV_QP_DEST_QPN, &verbs::QpAttr::dest_qpn);
  take(IBV_QP_RQ_PSN, &verbs::QpAttr::rq_psn);
  take(IBV_QP_SQ_PSN, &verbs::QpAttr::sq_psn);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &verbs::QpAttr::max_dest_rd_atomic);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &verbs::QpAttr::max_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, &verbs::QpAttr::min_rnr_timer);
  take(IBV_QP_TIMEOUT, &verbs::QpAttr::timeout);
  take(IBV_QP_RETRY_CNT, &verbs::QpAttr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &verbs::QpAttr::rnr_retry);
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, &verbs::QpAttr::sqd_event);
  nic::QpAttributes to;
  to.tells_drained = (ask.mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 && ask.attr.sqd_event != 0;
  to.access = access_of(attr.access);
  to.qkey = attr.qkey;
  const workload::Endpoint end = world_.endpoint(port_ref(qp.device), 0);
  to.path_mtu_B = qp.type == IBV_QPT_UD ? end.active_mtu_B : mtu_B(attr.path_mtu);
  to.tos = tos_of(attr.ah, end.tos);
  to.priority = priority_of(attr.ah);
  to.remote_qpn = attr.dest_qpn & 0xffffff;
  to.rq_psn = attr.rq_psn & 0xffffff;
  to.sq_psn = attr.sq_psn & 0xffffff;
  to.min_rnr_timer = static_cast<std::uint8_t>(attr.min_rnr_timer & 31);
  to.timeout = static_cast<std::uint8_t>(attr.timeout & 31);
  to.retry_cnt = static_cast<std::uint8_t>(attr.retry_cnt & 7);
  to.rnr_retry = static_cast<std::uint8_t>(attr.rnr_retry & 7);
  to.max_rd_atomic = attr.max_rd_atomic;
  to.max_dest_rd_atomic = attr.max_dest_rd_atomic;
  nic::QpState state;
  switch (step_to) {
    case IBV_QPS_RESET:
      state = nic::QpState::kReset;
      break;
    case IBV_QPS_INIT:
      state = nic::QpState::kInit;
      break;
    case IBV_QPS_RTR:
      state = nic::QpState::kRtr;
      if (qp.type != IBV_QPT_UD) {
        auto port = port_of_gid(attr.ah.dgid);
        if (!port) return Reply::failed(ENETUNREACH);
        if (to.path_mtu_B == 0 || to.path_mtu_B > end.active_mtu_B) return Reply::failed(EINVAL);
        to.remote_port = *port;
      }
      break;
    case IBV_QPS_RTS:
      state = nic::QpState::kRts;
      break;
    case IBV_QPS_SQD:
      state = nic::QpState::kSqd;
      if (from == IBV_QPS_SQD && qp.type != IBV_QPT_UD) {
        auto port = port_of_gid(attr.ah.dgid);
        if (!port) return Reply::failed(ENETUNREACH);
        to.remote_port = *port;
      }
      break;
    case IBV_QPS_ERR:
      state = nic::QpState::kErr;
      break;
    default:
      return Reply::failed(EINVAL);
  }
  if (!nic.transition_error(qp.qpn, state, to).empty()) return Reply::failed(EINVAL);
  if (state == nic::QpState::kReset) {
    forget_work(qp);
    process.settle_writes(kNever_ps);  // its buffers are the program's alone again
  }
  nic.modify(qp.qpn, state, to, now_ps);
  qp.attr = attr;
  return {};
}

Reply VerbsService::query_qp(Process& caller, const Request& request) {
  verbs::Handle ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  Process& process = holder_of(caller, verbs::Kind::kQp, ask.handle);
  auto found = process.qps.find(ask.handle);
  if (found == process.qps.end()) return Reply::failed(EINVAL);
  VerbsQp& qp = *found->second;
  const nic::QueuePair& at = device(qp.device)->qp(qp.qpn);
  qp.attr.state = ibv_state(at.state);
  qp.attr.sq_draining = at.state == nic::QpState::kSqd && (at.flags & nic::QueuePair::kDrained) == 0 ? 1 : 0;
  return Reply::of(qp.attr);
}

}  // namespace weft::live
