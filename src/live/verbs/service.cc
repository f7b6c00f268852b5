#include "live/verbs/service.h"

#include <infiniband/verbs.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "nic/queues/shared_receives.h"
#include "verbs/extended_protocol.h"

namespace weft::live {

namespace {

constexpr std::uint32_t kStrideUnit_B = 64;

std::uint32_t stride(std::size_t head_B, std::uint32_t sges, std::uint32_t inline_B) {
  std::size_t list_B = std::max<std::size_t>(std::size_t{sges} * sizeof(verbs::Sge), inline_B);
  return static_cast<std::uint32_t>((head_B + list_B + kStrideUnit_B - 1) / kStrideUnit_B * kStrideUnit_B);
}

}  // namespace

void give(Reply& reply, SharedMemory& memory) {
  auto given = std::make_shared<Lent>();
  given->fds.push_back(memory.release_fd());
  reply.fds[0] = given->fds.front();
  reply.given = std::move(given);
}

nic::Device* VerbsService::device(std::uint32_t index) const {
  return index < node_.host().device_count() ? &node_.host().device(index) : nullptr;
}

Reply VerbsService::alloc_pd(Process& process, const Request& request) {
  verbs::OnDevice ask;
  if (!request.read(ask) || device(ask.device) == nullptr) return Reply::failed(EINVAL);
  if (process.pds.size() >= kMaxPd) return Reply::failed(ENOMEM);
  std::uint32_t handle = node_.new_pd();
  process.pds[handle] = ask.device;
  return Reply::of(verbs::Handle{handle});
}

Reply VerbsService::create_channel(Process& process, const Request& request) {
  verbs::OnDevice ask;
  if (!request.read(ask) || device(ask.device) == nullptr) return Reply::failed(EINVAL);
  auto channel = std::make_unique<EventChannel>();
  channel->eventfd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  if (channel->eventfd < 0) return Reply::failed(EMFILE);
  std::uint32_t handle = process.new_handle();
  Reply reply = Reply::of(verbs::Handle{handle});
  reply.fds[0] = channel->eventfd;
  process.channels[handle] = std::move(channel);
  return reply;
}

Reply VerbsService::open_events(Process& process, const Request& request) {
  verbs::OnDevice ask;
  if (!request.read(ask) || device(ask.device) == nullptr) return Reply::failed(EINVAL);
  auto& events = process.async[ask.device];
  if (!events) {
    events = std::make_unique<AsyncChannel>();
    events->eventfd.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  }
  if (events->eventfd.fd < 0) return Reply::failed(EMFILE);
  while (process.secret == 0) {
    if (getentropy(&process.secret, sizeof(process.secret)) != 0) return Reply::failed(EIO);
  }
  Reply reply = Reply::of(verbs::DeviceToken{process.secret, ask.device, 0});
  reply.fds[0] = events->eventfd.fd;
  return reply;
}

Reply VerbsService::create_cq(Process& process, const Request& request) {
  verbs::CreateCq ask;
  if (!request.read(ask) || device(ask.device) == nullptr || ask.entries == 0 || ask.entries > kMaxCqe)
    return Reply::failed(EINVAL);
  if (ask.channel != verbs::kNoHandle && !process.channels.contains(ask.channel)) return Reply::failed(EINVAL);
  if (process.cqs.size() >= kMaxCq) return Reply::failed(ENOMEM);
  auto cq = std::make_unique<CompletionRing>();
  cq->process = &process;
  cq->device = ask.device;
  cq->channel = ask.channel;
  cq->cookie = ask.cookie;
  cq->handle = process.new_handle();
  verbs::QueueInfo& info = cq->ring.info;
  info = {cq->handle, verbs::kNoHandle, std::bit_ceil(ask.entries), sizeof(verbs::CqEntry), 0, 0};
  info.mapping_B = static_cast<std::uint32_t>(sizeof(verbs::RingHead) + std::size_t{info.entries} * info.stride_B);
  cq->memory = SharedMemory::make("weft-cq", info.mapping_B);
  if (cq->memory.data() == nullptr) return Reply::failed(ENOMEM);
  cq->ring.base = cq->memory.data();
  cq->nic_cq = device(ask.device)->create_cq(2 * info.entries + 64);
  Reply reply = Reply::of(verbs::CqInfo{info});
  give(reply, cq->memory);
  node_.watch(*cq);
  process.cqs[cq->handle] = std::move(cq);
  return reply;
}

bool VerbsService::make_queue(Process& process, PostQueue& queue, const verbs::QueueInfo& info, std::byte* memory) {
  queue.ring.info = info;
  if (process.free_doorbells.empty()) {
    if (process.doorbells.size() >= verbs::kDoorbellWords * 64) return false;
    queue.ring.info.doorbell = static_cast<std::uint32_t>(process.doorbells.size());
    process.doorbells.push_back(nullptr);
  } else {
    queue.ring.info.doorbell = process.free_doorbells.back();
    process.free_doorbells.pop_back();
  }
  process.doorbells[queue.ring.info.doorbell] = &queue;
  queue.process = &process;
  queue.ring.base = memory + info.offset_B;
  node_.open(queue);
  return true;
}

Reply VerbsService::create_srq(Process& process, const Request& request) {
  verbs::CreateSrq ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  VerbsSrq* srq = nullptr;
  Reply reply = make_srq(process, ask, srq);
  if (srq != nullptr) give(reply, srq->memory);
  return reply;
}

Reply VerbsService::make_srq(Process& process, const verbs::CreateSrq& ask, VerbsSrq*& made) {
  auto pd = process.pds.find(ask.pd);
  if (pd == process.pds.end() || ask.max_wr > kMaxQpWr || ask.max_sge > kMaxSge) return Reply::failed(EINVAL);
  auto srq = std::make_unique<VerbsSrq>();
  srq->process = &process;
  srq->handle = process.new_handle();
  srq->device = pd->second;
  srq->pd = ask.pd;
  srq->cookie = ask.cookie;
  std::uint32_t entries = std::bit_ceil(std::max(ask.max_wr, 1u));
  std::uint32_t stride_B = stride(sizeof(verbs::ReceiveEntry), std::max(ask.max_sge, 1u), 0);
  auto mapping_B = static_cast<std::uint32_t>(sizeof(verbs::RingHead) + std::size_t{entries} * stride_B);
  srq->memory = SharedMemory::make("weft-srq", mapping_B);
  verbs::QueueInfo info{srq->handle, 0, entries, stride_B, 0, mapping_B};
  srq->receive.kind = PostQueue::Kind::kShared;
  srq->receive.srq = srq.get();
  srq->receive.device = srq->device;
  srq->receive.pd = ask.pd;
  if (srq->memory.data() == nullptr || !make_queue(process, srq->receive, info, srq->memory.data()))
    return Reply::failed(ENOMEM);
  srq->nic_srq = nic::SharedReceives(*device(srq->device)).create(entries);
  made = srq.get();
  process.srqs[srq->handle] = std::move(srq);
  return Reply::of(made->receive.ring.info);
}

Reply VerbsService::modify_srq(Process& caller, const Request& request, Time_ps now_ps) {
  verbs::ModifySrq ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  Process& process = holder_of(caller, verbs::Kind::kSrq, ask.srq);
  auto found = process.srqs.find(ask.srq);
  if (found == process.srqs.end() || ask.limit > found->second->receive.ring.info.entries) return Reply::failed(EINVAL);
  nic::SharedReceives(*device(found->second->device)).set_limit(found->second->nic_srq, ask.limit, now_ps);
  return {};
}

Reply VerbsService::query_srq(Process& caller, const Request& request) {
  verbs::Handle ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  Process& process = holder_of(caller, verbs::Kind::kSrq, ask.handle);
  auto found = process.srqs.find(ask.handle);
  if (found == process.srqs.end()) return Reply::failed(EINVAL);
  return Reply::of(
      verbs::SrqLimit{nic::SharedReceives(*device(found->second->device)).at(found->second->nic_srq).limit});
}

Reply VerbsService::create_qp(Process& process, const Request& request) {
  verbs::CreateQp ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto pd = process.pds.find(ask.pd);
  auto send_cq = process.cqs.find(ask.send_cq);
  // An initiator of XRC receives nothing.
  bool initiator = ask.type == IBV_QPT_XRC_SEND;
  auto receive_cq = initiator ? send_cq : process.cqs.find(ask.receive_cq);
  if (pd == process.pds.end() || send_cq == process.cqs.end() || receive_cq == process.cqs.end())
    return Reply::failed(EINVAL);
  std::uint32_t on = pd->second;
  nic::Device* nic = device(on);
  bool known = ask.type == IBV_QPT_RC || ask.type == IBV_QPT_UC || ask.type == IBV_QPT_UD || initiator;
  if (!known) return Reply::failed(EOPNOTSUPP);
  if (ask.max_send_wr > kMaxQpWr || ask.max_receive_wr > kMaxQpWr || ask.max_send_sge > kMaxSge ||
      ask.max_receive_sge > kMaxSge || ask.max_inline_B > nic->model().max_inline_B || send_cq->second->device != on ||
      receive_cq->second->device != on)
    return Reply::failed(EINVAL);
  auto srq = process.srqs.find(ask.srq);
  bool shares = ask.srq != verbs::kNoHandle;
  if (shares && (srq == process.srqs.end() || srq->second->device != on || initiator)) return Reply::failed(EINVAL);
  if (process.qps.size() >= kMaxQp) return Reply::failed(ENOMEM);
  auto qp = std::make_unique<VerbsQp>();
  qp->process = &process;
  qp->handle = process.new_handle();
  qp->device = on;
  qp->pd = ask.pd;
  qp->type = ask.type;
  qp->send_cq = ask.send_cq;
  qp->receive_cq = receive_cq->first;
  qp->srq = ask.srq;
  qp->has_receive = !shares && !initiator;
  qp->signal_all = ask.signal_all != 0;
  qp->cookie = ask.cookie;
  std::uint32_t sends = std::bit_ceil(std::max(ask.max_send_wr, 1u));
  std::uint32_t receives = std::bit_ceil(std::max(ask.max_receive_wr, 1u));
  std::uint32_t send_stride_B = stride(sizeof(verbs::SendEntry), std::max(ask.max_send_sge, 1u), ask.max_inline_B);
  std::uint32_t receive_stride_B = stride(sizeof(verbs::ReceiveEntry), std::max(ask.max_receive_sge, 1u), 0);
  auto send_B = static_cast<std::uint32_t>(sizeof(verbs::RingHead) + std::size_t{sends} * send_stride_B);
  auto receive_B = static_cast<std::uint32_t>(sizeof(verbs::RingHead) + std::size_t{receives} * receive_stride_B);
  qp->memory = SharedMemory::make("weft-qp", std::size_t{send_B} + receive_B);
  verbs::QueueInfo send{qp->handle, 0, sends, send_stride_B, 0, send_B + receive_B};
  verbs::QueueInfo receive{qp->handle, 0, receives, receive_stride_B, send_B, send_B + receive_B};
  qp->receive.kind = PostQueue::Kind::kReceive;
  for (PostQueue* queue : {&qp->send, &qp->receive}) {
    queue->qp = qp.get();
    queue->device = on;
    queue->pd = ask.pd;
  }
  if (qp->memory.data() == nullptr || !make_queue(process, qp->send, send, qp->memory.data()))
    return Reply::failed(ENOMEM);
  if (!qp->has_receive) {
    receive.entries = 0;
    qp->receive.ring.info = receive;
  } else if (!make_queue(process, qp->receive, receive, qp->memory.data())) {
    destroy_queue(process, qp->send);
    return Reply::failed(ENOMEM);
  }
  nic::QpType type = ask.type == IBV_QPT_RC   ? nic::QpType::kRc
                     : ask.type == IBV_QPT_UC ? nic::QpType::kUc
                     : initiator              ? nic::QpType::kXrc
                                              : nic::QpType::kUd;
  qp->qpn = nic->create_qp(type, send_cq->second->nic_cq, receive_cq->second->nic_cq, sends, receives, 0,
                           shares ? srq->second->nic_srq : nic::kNoSrq, ask.pd);
  process.qp_by_number[{on, qp->qpn}] = qp.get();
  Reply reply = Reply::of(verbs::QpInfo{qp->qpn, qp->send.ring.info, qp->receive.ring.info});
  give(reply, qp->memory);
  process.qps[qp->handle] = std::move(qp);
  return reply;
}

}  // namespace weft::live
