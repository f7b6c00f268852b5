// Queues that change their size, XRC, and objects that another open device may import.
#include <fcntl.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "live/verbs/service.h"
#include "nic/queues/shared_receives.h"
#include "verbs/extended_protocol.h"

namespace weft::live {

using verbs::Op;

std::optional<Reply> VerbsService::answer_extended(Process& process, const Request& request, Time_ps now_ps) {
  switch (request.op) {
    case Op::kReregMr:
      return rereg_mr(process, request);
    case Op::kResizeCq:
      return resize_cq(process, request, now_ps);
    case Op::kAdviseMr:
      return advise_mr(process, request);
    case Op::kAllocNullMr:
      return alloc_null_mr(process, request);
    case Op::kAllocMw:
      return alloc_mw(process, request);
    case Op::kAllocDm:
      return alloc_dm(process, request);
    case Op::kCopyDm:
      return copy_dm(process, request);
    case Op::kRegDmMr:
      return reg_dm_mr(process, request);
    case Op::kOpenXrcd:
      return open_xrcd(process, request);
    case Op::kCreateXrcSrq:
      return create_xrc_srq(process, request);
    case Op::kCreateXrcTarget:
      return create_xrc_target(process, request);
    case Op::kImport:
      return import_object(process, request);
    case Op::kModerateCq:
      return moderate_cq(process, request);
    default:
      return Reply::failed(EOPNOTSUPP);
  }
}

// The card counts the entries when the command gets there; what it completes until then is in the queue.
std::optional<Reply> VerbsService::resize_cq(Process& process, const Request& request, Time_ps now_ps) {
  verbs::ResizeCq ask;
  if (!request.read(ask) || ask.entries == 0 || ask.entries > kMaxCqe) return Reply::failed(EINVAL);
  auto found = process.cqs.find(ask.cq);
  if (found == process.cqs.end()) return Reply::failed(EINVAL);
  CompletionRing& cq = *found->second;
  if (cq.resized_at_ps == kNever_ps) cq.resized_at_ps = now_ps + kCommandTime_ps;
  if (now_ps < cq.resized_at_ps) return std::nullopt;
  cq.resized_at_ps = kNever_ps;
  const verbs::QueueInfo was = cq.ring.info;
  const std::uint32_t entries = std::bit_ceil(ask.entries);
  const std::uint32_t consumed = cq.ring.head().consumed.load(std::memory_order_acquire);
  const std::uint32_t waiting = std::min(cq.ring.taken - consumed, was.entries);
  if (waiting > entries) return Reply::failed(EINVAL);
  Ring ring;
  ring.info = was;
  ring.info.entries = entries;
  ring.info.mapping_B = static_cast<std::uint32_t>(sizeof(verbs::RingHead) + std::size_t{entries} * was.stride_B);
  SharedMemory memory = SharedMemory::make("weft-cq", ring.info.mapping_B);
  if (memory.data() == nullptr) return Reply::failed(ENOMEM);
  ring.base = memory.data();
  ring.taken = cq.ring.taken;
  for (std::uint32_t number = ring.taken - waiting; number != ring.taken; ++number)
    std::memcpy(ring.entry(number), cq.ring.entry(number), was.stride_B);
  ring.head().consumed.store(ring.taken - waiting, std::memory_order_relaxed);
  ring.head().produced.store(ring.taken, std::memory_order_release);
  device(cq.device)->cq(cq.nic_cq).resize(2 * entries + 64);
  cq.ring = ring;
  cq.memory = std::move(memory);
  Reply reply = Reply::of(verbs::CqInfo{ring.info});
  give(reply, cq.memory);
  return reply;
}

Reply VerbsService::moderate_cq(Process& process, const Request& request) {
  verbs::ModerateCq ask;
  if (!request.read(ask) || ask.count > kMaxModeration || ask.period_us > kMaxModeration) return Reply::failed(EINVAL);
  auto found = process.cqs.find(ask.cq);
  if (found == process.cqs.end()) return Reply::failed(EINVAL);
  found->second->event_count = ask.count;
  found->second->event_period_ps = us(ask.period_us);
  return {};
}

Reply VerbsService::open_xrcd(Process& process, const Request& request) {
  verbs::OpenXrcd ask;
  if (!request.read(ask) || device(ask.device) == nullptr) return Reply::failed(EINVAL);
  if (process.xrcds.size() >= kMaxPd) return Reply::failed(ENOMEM);
  XrcDomain domain{ask.device, 0, {}};
  if (ask.has_file != 0) {
    domain.file = {ask.file_device, ask.inode};
    for (const auto& each : node_.processes) {
      for (const auto& [handle, other] : each->xrcds) {
        if (other.device == ask.device && other.file == domain.file) domain.number = other.number;
      }
    }
    if (domain.number != 0 && (ask.oflags & O_EXCL) != 0) return Reply::failed(EINVAL);
  }
  if (domain.number == 0) {
    if (ask.has_file != 0 && (ask.oflags & O_CREAT) == 0) return Reply::failed(EAGAIN);
    domain.number = next_xrc_domain_++;
  }
  std::uint32_t handle = process.new_handle();
  process.xrcds[handle] = domain;
  return Reply::of(verbs::Handle{handle});
}

Reply VerbsService::create_xrc_srq(Process& process, const Request& request) {
  verbs::CreateXrcSrq ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto xrcd = process.xrcds.find(ask.xrcd);
  auto cq = process.cqs.find(ask.cq);
  if (xrcd == process.xrcds.end() || cq == process.cqs.end()) return Reply::failed(EINVAL);
  VerbsSrq* srq = nullptr;
  Reply reply = make_srq(process, ask.srq, srq);
  if (srq == nullptr) return reply;
  if (srq->device != xrcd->second.device || srq->device != cq->second->device) {
    destroy_srq(process, *srq);
    return Reply::failed(EINVAL);
  }
  srq->xrcd = ask.xrcd;
  srq->cq = ask.cq;
  nic::SharedReceives(*device(srq->device))
      .set_xrc_queue(srq->nic_srq, xrcd->second.number, cq->second->nic_cq, srq->pd);
  Reply answer = Reply::of(verbs::XrcSrqInfo{srq->receive.ring.info, nic::kFirstXrcSrq + srq->nic_srq});
  give(answer, srq->memory);
  return answer;
}

Reply VerbsService::create_xrc_target(Process& process, const Request& request) {
  verbs::CreateXrcTarget ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto xrcd = process.xrcds.find(ask.xrcd);
  if (xrcd == process.xrcds.end()) return Reply::failed(EINVAL);
  if (process.qps.size() >= kMaxQp) return Reply::failed(ENOMEM);
  auto qp = std::make_unique<VerbsQp>();
  qp->process = &process;
  qp->handle = process.new_handle();
  qp->device = xrcd->second.device;
  qp->type = IBV_QPT_XRC_RECV;
  qp->send_cq = qp->receive_cq = verbs::kNoHandle;
  qp->xrcd = ask.xrcd;
  qp->has_send = qp->has_receive = false;
  qp->cookie = ask.cookie;
  nic::Device& nic = *device(qp->device);
  qp->qpn = nic.create_qp(nic::QpType::kXrc, nic::kNoCq, nic::kNoCq, 1, 1);
  nic::SharedReceives(nic).set_xrc_target(qp->qpn, xrcd->second.number);
  process.qp_by_number[{qp->device, qp->qpn}] = qp.get();
  verbs::QpInfo info{};
  info.qpn = qp->qpn;
  info.send.handle = qp->handle;
  process.qps[qp->handle] = std::move(qp);
  return Reply::of(info);
}

Reply VerbsService::close_xrcd(Process& process, std::uint32_t handle) {
  auto uses = [&](const auto& each) { return each.second->xrcd == handle; };
  if (std::any_of(process.qps.begin(), process.qps.end(), uses) ||
      std::any_of(process.srqs.begin(), process.srqs.end(), uses))
    return Reply::failed(EBUSY);
  return process.xrcds.erase(handle) == 1 ? Reply::of(verbs::Destroyed{}) : Reply::failed(EINVAL);
}

Reply VerbsService::import_object(Process& process, const Request& request) {
  verbs::Import ask;
  if (!request.read(ask) || ask.secret == 0) return Reply::failed(EINVAL);
  auto owner = std::find_if(node_.processes.begin(), node_.processes.end(),
                            [&](const auto& each) { return each->secret == ask.secret; });
  if (owner == node_.processes.end()) return Reply::failed(EINVAL);
  bool own = owner->get() == &process;
  verbs::Imported imported{};
  imported.handle = ask.handle;
  if (ask.kind == verbs::Kind::kPd) {
    auto pd = (*owner)->pds.find(ask.handle);
    if (pd == (*owner)->pds.end()) return Reply::failed(EINVAL);
    process.pds[ask.handle] = pd->second;  // the numbers are the node's
  } else if (ask.kind == verbs::Kind::kMr) {
    auto mr = (*owner)->mrs.find(ask.handle);
    if (mr == (*owner)->mrs.end()) return Reply::failed(EINVAL);
    imported.lkey = imported.rkey = mr->second->key;
    imported.length_B = mr->second->length_B;
  } else if (ask.kind == verbs::Kind::kDm) {
    auto dm = (*owner)->dms.find(ask.handle);
    if (dm == (*owner)->dms.end()) return Reply::failed(EINVAL);
    if (!own) process.dms[imported.handle = process.new_handle()] = dm->second;
    imported.length_B = dm->second.bytes->size();
  } else {
    return Reply::failed(EINVAL);
  }
  return Reply::of(imported);
}

}  // namespace weft::live
