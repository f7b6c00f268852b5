// The rings: what a program posts goes to the NIC at the time of its doorbell, what the NIC completes goes to the
// program at the time from which a CPU can see it.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "live/os/node.h"
#include "nic/queues/shared_receives.h"
#include "wire/ipv6.h"

namespace weft::live {

using verbs::ReceiveEntry;
using verbs::SendEntry;
using verbs::Sge;

void Node::take_posts(Process& process, Time_ps from_ps, Time_ps until_ps) {
  until_ps = std::min(until_ps, from_ps + kLongestTurn_ps);
  bool sends = false;
  for (std::size_t word = 0; word * 64 < process.doorbells.size(); ++word) {
    std::atomic<std::uint64_t>& rung = process.shared().doorbells[word];
    if (rung.load(std::memory_order_relaxed) == 0) continue;
    std::uint64_t bits = rung.exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      std::size_t bit = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      PostQueue* queue = bit < process.doorbells.size() ? process.doorbells[bit] : nullptr;
      if (queue == nullptr) continue;
      take_queue(*queue, from_ps, until_ps);
      sends = sends || queue->kind == PostQueue::Kind::kSend;
    }
  }
  if (!sends) return;
  for (const auto& thread : process.threads) thread->posted = true;
}

void Node::take_queue(PostQueue& queue, Time_ps from_ps, Time_ps until_ps) {
  Ring& ring = queue.ring;
  std::uint32_t produced = ring.head().produced.load(std::memory_order_acquire);
  // A program that counts wrongly loses what does not fit.
  std::uint32_t count = std::min(produced - ring.taken, ring.info.entries);
  Time_ps last_ps = from_ps;
  for (std::uint32_t number = ring.taken; number != ring.taken + count; ++number) {
    std::int64_t post_ps = 0;
    std::memcpy(&post_ps, ring.entry(number), sizeof(post_ps));
    last_ps = std::clamp<Time_ps>(post_ps, last_ps, std::max(last_ps, until_ps));
    if (queue.kind != PostQueue::Kind::kShared) queue.fill(queue.slot_of(number), number);
    if (queue.batches.empty() || queue.batches.back().due_ps != last_ps || queue.batches.back().end != number)
      queue.batches.push_back({last_ps, number, number});
    ++queue.batches.back().end;
  }
  ring.taken = produced;
  if (queue.has_event || queue.batches.empty()) return;
  queue.has_event = true;
  push(queue.batches.front().due_ps, 0, What::kPost, queue.id);
}

void Node::post_due(PostQueue& queue, Time_ps now_ps) {
  queue.has_event = false;
  while (!queue.batches.empty() && queue.batches.front().due_ps <= now_ps) {
    PostQueue::Batch batch = queue.batches.front();
    queue.batches.pop_front();
    for (std::uint32_t number = batch.first; number != batch.end; ++number) {
      switch (queue.kind) {
        case PostQueue::Kind::kSend:
          post_send(queue, number, now_ps);
          break;
        case PostQueue::Kind::kReceive:
          post_receive(queue, number);
          break;
        case PostQueue::Kind::kShared:
          post_shared(queue, number);
          break;
      }
    }
  }
  if (queue.batches.empty()) return;
  queue.has_event = true;
  push(queue.batches.front().due_ps, 0, What::kPost, queue.id);
}

namespace {

// Number that the NIC gives back with the completion: the queue, and its entry or, of an SRQ, its slot.
std::uint64_t work_id(const PostQueue& queue, std::uint32_t number) {
  return std::uint64_t{queue.id} << 32 | number;
}

// A list that names wrong memory has room for anything, so that what comes fails for that reason.
nic::ReceiveRequest receive_request(PostQueue& queue, std::uint32_t index, std::uint32_t number) {
  const WorkSlot& slot = queue.slot(index);
  std::uint64_t va = std::uint64_t{index} << 32;
  if (!slot.is_good) return {work_id(queue, number), va, 0, UINT32_MAX};
  return {work_id(queue, number), va, queue.key, slot.length_B};
}

// False: no such operation.
bool set_operation(const SendEntry& entry, nic::SendRequest& request) {
  request.remote_va = entry.remote_va;
  request.rkey = entry.rkey;
  request.imm = ntohl(entry.imm);
  switch (entry.opcode) {
    case IBV_WR_RDMA_WRITE:
      request.opcode = nic::WrOpcode::kWrite;
      return true;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      request.opcode = nic::WrOpcode::kWriteImm;
      return true;
    case IBV_WR_SEND:
      request.opcode = nic::WrOpcode::kSend;
      return true;
    case IBV_WR_SEND_WITH_IMM:
      request.opcode = nic::WrOpcode::kSendImm;
      return true;
    case IBV_WR_SEND_WITH_INV:
      request.opcode = nic::WrOpcode::kSendInv;
      request.imm = entry.imm;
      return true;
    case IBV_WR_RDMA_READ:
      request.opcode = nic::WrOpcode::kRead;
      return true;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      request.opcode = nic::WrOpcode::kCompareSwap;
      request.compare = entry.compare_add;
      request.swap_add = entry.swap;
      return true;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      request.opcode = nic::WrOpcode::kFetchAdd;
      request.swap_add = entry.compare_add;
      return true;
    default:
      return false;
  }
}

bool is_local(std::uint32_t opcode) {
  return opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV;
}

void set_local_operation(const SendEntry& entry, nic::SendRequest& request) {
  if (entry.opcode == IBV_WR_LOCAL_INV) {
    request.opcode = nic::WrOpcode::kLocalInvalidate;
    request.rkey = entry.imm;
    return;
  }
  request.opcode = nic::WrOpcode::kBindWindow;
  request.rkey = entry.rkey;
  request.lkey = entry.qkey;
  request.remote_va = entry.remote_va;
  request.swap_add = entry.swap;
  const std::uint32_t access = entry.remote_qpn;
  if ((access & IBV_ACCESS_REMOTE_WRITE) != 0) request.compare |= nic::kWindowWrite;
  if ((access & IBV_ACCESS_REMOTE_READ) != 0) request.compare |= nic::kWindowRead;
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) request.compare |= nic::kWindowAtomic;
}

}  // namespace

// An impossible request is posted all the same, so that it ends as an error in its turn.
void Node::post_send(PostQueue& queue, std::uint32_t number, Time_ps now_ps) {
  std::uint32_t index = queue.slot_of(number);
  const WorkSlot& slot = queue.slot(index);
  if (slot.number != number) return;  // written over by a program that counts wrongly
  VerbsQp& qp = *queue.qp;
  auto entry = queue.copy_of<SendEntry>(index);
  nic::SendRequest request;
  if (is_local(entry.opcode)) {
    request.wr_id = work_id(queue, number);
    request.signaled = qp.signal_all || (entry.flags & IBV_SEND_SIGNALED) != 0;
    set_local_operation(entry, request);
    host_.device(queue.device).post_local(qp.qpn, request, now_ps);
    return;
  }
  request.wr_id = work_id(queue, number);
  request.lkey = queue.key;
  request.local_va = std::uint64_t{index} << 32;
  request.length_B = slot.length_B;
  request.inline_data = slot.is_inline;
  request.signaled = qp.signal_all || (entry.flags & IBV_SEND_SIGNALED) != 0;
  request.solicited = (entry.flags & IBV_SEND_SOLICITED) != 0;
  bool is_good = set_operation(entry, request) && slot.is_good;
  if (nic::is_atomic(request.opcode)) is_good = is_good && slot.length_B == 8;
  if (qp.type == IBV_QPT_UD) {
    auto ah = qp.process->ahs.find(entry.ah);
    is_good = is_good && ah != qp.process->ahs.end() && ah->second.device == qp.device;
    if (is_good) {
      request.dest_port = ah->second.remote_port;
      nic::GroupGid group;
      std::copy_n(ah->second.attr.dgid, group.size(), group.begin());
      if (wire::is_multicast(group)) request.set_group(group);
      request.has_class = true;
      request.tos = ah->second.tos;
      request.priority = ah->second.priority;
    }
    request.dest_qp = entry.remote_qpn;
    request.qkey = (entry.qkey & 0x80000000) != 0 ? qp.attr.qkey : entry.qkey;
  }
  if (qp.type == IBV_QPT_XRC_SEND) request.dest_qp = entry.remote_qpn;
  if (!is_good) {
    request.lkey = 0;
    request.inline_data = false;
    request.length_B = std::max<std::uint32_t>(request.length_B, 1);
  }
  host_.device(queue.device).post_send(qp.qpn, request, now_ps);
}

void Node::post_receive(PostQueue& queue, std::uint32_t number) {
  std::uint32_t index = queue.slot_of(number);
  if (queue.slot(index).number != number) return;
  nic::ReceiveRequest request = receive_request(queue, index, number);
  host_.device(queue.device).post_receive(queue.qp->qpn, request);
}

void Node::post_shared(PostQueue& queue, std::uint32_t number) {
  if (queue.free_slots.empty()) return;  // more than it has room for
  std::uint32_t index = queue.free_slots.back();
  queue.free_slots.pop_back();
  queue.fill(index, number);
  nic::ReceiveRequest request = receive_request(queue, index, index);
  if (!nic::SharedReceives(host_.device(queue.device)).post(queue.srq->nic_srq, request)) end_shared(queue, index);
}

// The library counts how many have ended: so many more may be posted.
void Node::end_shared(PostQueue& queue, std::uint32_t slot) {
  queue.free_slots.push_back(slot);
  queue.ring.head().consumed.store(++queue.srq->ended, std::memory_order_release);
}

void Node::end_shared(std::uint64_t work_id) {
  PostQueue* queue = queues_.find(static_cast<std::uint32_t>(work_id >> 32));
  if (queue != nullptr && queue->kind == PostQueue::Kind::kShared)
    end_shared(*queue, static_cast<std::uint32_t>(work_id));
}

void Node::open(PostQueue& queue) {
  queue.id = queues_.add(queue);
  queue.open(host_.device(queue.device));
}

void Node::renew(PostQueue& queue) {
  queues_.remove(queue.id);
  queue.id = queues_.add(queue);
  queue.batches.clear();
  queue.has_event = false;
}

void Node::close(PostQueue& queue) {
  queues_.remove(queue.id);
  queue.close();
}

// False: the completion is not wanted, its queue pair is gone or was reset.
bool Node::translate(const CompletionRing& cq, const nic::Completion& completion, verbs::CqEntry& entry) {
  PostQueue* queue = queues_.find(static_cast<std::uint32_t>(completion.wr_id >> 32));
  if (queue == nullptr || queue->process != cq.process) return false;
  auto number = static_cast<std::uint32_t>(completion.wr_id);
  bool receive = completion.opcode >= nic::WcOpcode::kReceive;
  if (queue->kind == PostQueue::Kind::kShared) {
    entry.wr_id = queue->slot(number).wr_id;
    end_shared(*queue, number);
    if (!host_.device(cq.device).has_qp(completion.qpn)) return false;
  } else {
    entry.wr_id = queue->slot(queue->slot_of(number)).wr_id;
    if (!receive) entry.freed = number + 1;
  }
  entry.status = static_cast<std::uint32_t>(completion.status);
  entry.vendor_error = completion.vendor_error;
  entry.byte_len = completion.byte_len;
  entry.qpn = completion.qpn;
  entry.src_qp = completion.src_qp;
  entry.time_ps = completion.visible_ps;
  static constexpr std::uint32_t kOpcode[] = {IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
                                              IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,  IBV_WC_BIND_MW,
                                              IBV_WC_LOCAL_INV, IBV_WC_RECV,       IBV_WC_RECV_RDMA_WITH_IMM};
  entry.opcode = kOpcode[static_cast<std::size_t>(completion.opcode)];
  if (completion.with_imm) {
    entry.imm = htonl(completion.imm);
    entry.flags |= IBV_WC_WITH_IMM;
  }
  if (completion.with_invalidate) {
    entry.imm = completion.imm;
    entry.flags |= IBV_WC_WITH_INV;
  }
  if (receive && completion.src_qp != 0) {
    entry.flags |= IBV_WC_GRH;
    entry.sl = 2;  // UCX reads the kind of the GRH out of it: IPv4
  }
  return true;
}

// Visible completions go into the program's ring, and waiting threads continue.
void Node::drain(CompletionRing& cq, Time_ps now_ps) {
  nic::CompletionQueue& queue = host_.device(cq.device).cq(cq.nic_cq);
  std::uint32_t entries = 0;
  bool solicited = false;
  while (const nic::Completion* completion = queue.peek(now_ps)) {
    verbs::CqEntry entry{};
    bool wanted = translate(cq, *completion, entry);
    const bool counts = completion->solicited || completion->status != nic::WcStatus::kSuccess;
    solicited = solicited || counts;
    queue.pop();
    if (!wanted) continue;
    if (cq.unpolled() >= cq.ring.info.entries) {
      if (queue.lost() == 0) host_.device(cq.device).overrun_cq(cq.nic_cq, now_ps);
      continue;
    }
    // A thread that is not parked may look at the ring at any moment, and then at what was written before.
    if (entries == 0 && cq.process->wall_clock) cq.process->settle_writes(kNever_ps);
    if (entries == 0 && cq.process->has_thread_outside()) cq.process->settle_writes(now_ps);
    std::memcpy(cq.ring.entry(cq.ring.taken++), &entry, sizeof(entry));
    cq.ring.head().produced.store(cq.ring.taken, std::memory_order_release);
    if (counts) cq.solicited_end = cq.ring.taken;
    ++entries;
  }
  Time_ps next_ps = host_.wait(program_, host_.device(cq.device), cq.nic_cq);
  if (next_ps != kNever_ps) push(std::max(next_ps, now_ps + 1), 0, What::kDrain, cq.id);
  if (entries == 0) return;
  cq.looks = 0;
  if (cq.poller != 0 && !cq.listed && !cq.process->wall_clock) {
    cq.listed = true;
    cq.process->filled.push_back(cq.handle);
  }
  notify(cq, solicited, entries);
  retry_waits(*cq.process, now_ps);
}

// Not when it is armed: a program that arms the queue and then polls it (perftest -e) takes every event for an entry.
void Node::announce_unpolled(Process& process, EventChannel& channel) {
  for (std::uint32_t handle : std::exchange(channel.unpolled, {})) {
    CompletionRing& cq = *process.cqs.at(handle);
    const std::uint32_t entries = cq.unpolled();
    if (entries != 0) notify(cq, cq.ring.taken - cq.solicited_end < entries, std::min(entries, cq.ring.info.entries));
  }
}

// Longer than a busy machine keeps a thread from its core between the two calls.
constexpr Time_ps kUnpolledFor_ps = ms(100);

void Node::announce_unpolled_later(CompletionRing& cq, Time_ps now_ps) {
  const auto is_unpolled = [this, id = cq.id, arm = cq.arm] {
    const CompletionRing* ring = cqs_.find(id);
    return ring != nullptr && ring->arm == arm && ring->armed != CompletionRing::Armed::kNo && ring->unpolled() != 0;
  };
  at_if(is_unpolled, now_ps + kUnpolledFor_ps, 0, [this, id = cq.id, is_unpolled](Time_ps at_ps) {
    if (!is_unpolled()) return;
    CompletionRing& ring = *cqs_.find(id);
    auto channel = ring.process->channels.find(ring.channel);
    if (channel == ring.process->channels.end()) return;
    announce_unpolled(*ring.process, *channel->second);
    tell(*ring.process, at_ps);
  });
}

void Node::notify(CompletionRing& cq, bool solicited, std::uint32_t entries) {
  bool event = cq.armed == CompletionRing::Armed::kAny || (cq.armed == CompletionRing::Armed::kSolicited && solicited);
  if (!event) return;
  const bool is_first = cq.held == 0;
  cq.held += entries;
  if (cq.held < cq.event_count && cq.event_period_ps > 0) {
    if (!is_first) return;
    at(now_ps_ + cq.event_period_ps, 0, [this, id = cq.id, arm = cq.arm](Time_ps at_ps) {
      CompletionRing* ring = cqs_.find(id);
      if (ring == nullptr || ring->arm != arm || ring->armed == CompletionRing::Armed::kNo) return;
      raise(*ring);
      tell(*ring->process, at_ps);
    });
    return;
  }
  raise(cq);
}

void Node::raise(CompletionRing& cq) {
  cq.held = 0;
  auto channel = cq.process->channels.find(cq.channel);
  if (channel == cq.process->channels.end()) return;
  cq.armed = CompletionRing::Armed::kNo;
  channel->second->cqs.push_back(cq.handle);
  raise_event(channel->second->eventfd);
}

}  // namespace weft::live
