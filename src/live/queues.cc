// The rings: what a program posts goes to the NIC at the time of its doorbell, what the NIC completes goes to the
// program at the time from which a CPU can see it.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "live/node.h"

namespace weft::live {

using verbs::ReceiveEntry;
using verbs::SendEntry;
using verbs::Sge;

void Node::take_posts(Process& process, Time_ps from_ps, Time_ps until_ps) {
  for (std::size_t word = 0; word * 64 < process.doorbells.size(); ++word) {
    std::uint64_t bits = process.shared().doorbells[word].exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      std::size_t bit = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (bit >= process.doorbells.size() || process.doorbells[bit].kind == PostQueue::Kind::kNone) continue;
      const PostQueue queue = process.doorbells[bit];
      Ring& ring = *queue.ring;
      std::uint32_t produced = ring.head().produced.load(std::memory_order_acquire);
      // A program that counts wrongly loses what does not fit.
      std::uint32_t count = std::min(produced - ring.taken, ring.info.entries);
      Time_ps last_ps = from_ps;
      for (const auto& thread : process.threads)
        thread->posted = thread->posted || (queue.kind == PostQueue::Kind::kSend && count > 0);
      for (std::uint32_t i = 0; i < count; ++i) {
        std::uint32_t number = ring.taken++;
        const std::byte* entry = ring.entry(number);
        std::vector<std::byte> copy(entry, entry + ring.info.stride_B);
        std::int64_t post_ps = 0;
        std::memcpy(&post_ps, copy.data(), sizeof(post_ps));
        last_ps = std::clamp<Time_ps>(post_ps, last_ps, std::max(last_ps, until_ps));
        at(last_ps, 0, [this, &process, queue, number, copy = std::move(copy)](Time_ps now_ps) {
          post(process, queue.kind, queue.handle, number, copy, now_ps);
        });
      }
      ring.taken = produced;
      ring.head().consumed.store(produced, std::memory_order_release);
    }
  }
}

// The queue may be gone by now.
void Node::post(Process& process, PostQueue::Kind kind, std::uint32_t handle, std::uint32_t number,
                const std::vector<std::byte>& entry, Time_ps now_ps) {
  if (kind == PostQueue::Kind::kShared) {
    if (auto srq = process.srqs.find(handle); srq != process.srqs.end()) post_shared(*srq->second, entry);
    return;
  }
  auto qp = process.qps.find(handle);
  if (qp == process.qps.end()) return;
  if (kind == PostQueue::Kind::kSend) {
    post_send(*qp->second, number, entry, now_ps);
  } else {
    post_receive(*qp->second, number, entry);
  }
}

namespace {

// Fills the slot with the list behind the entry; false when it reaches outside of what the process has registered
// there. The NIC's key stays the same, its region takes the new length.
template <typename Queue>
bool fill(WorkSlot& slot, nic::Device& device, const Queue& qp, const std::byte* list, std::size_t count,
          std::size_t room_B, std::uint32_t& length_B) {
  slot.sges.clear();
  slot.inline_bytes.clear();
  if (count * sizeof(Sge) > room_B) return false;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Sge sge;
    std::memcpy(&sge, list + i * sizeof(Sge), sizeof(Sge));
    if (sge.length_B == 0) continue;
    bool found = false;
    for (const auto& [handle, mr] : qp.process->mrs) {
      if (mr->key != sge.lkey || mr->device != qp.device || mr->pd != qp.pd) continue;
      std::uint64_t offset = sge.address - mr->iova;
      found = sge.address >= mr->iova && offset <= mr->length_B && sge.length_B <= mr->length_B - offset;
      sge.address = mr->address + offset;
    }
    if (!found) return false;
    total += sge.length_B;
    slot.sges.push_back(sge);
  }
  if (total > UINT32_MAX) return false;
  length_B = static_cast<std::uint32_t>(total);
  if (nic::MemoryRegion* region = device.memory().find(slot.key)) region->length_B = total;
  return true;
}

}  // namespace

void Node::post_send(VerbsQp& qp, std::uint32_t number, const std::vector<std::byte>& copy, Time_ps now_ps) {
  SendEntry entry;
  std::memcpy(&entry, copy.data(), sizeof(entry));
  nic::Device& device = host_.device(qp.device);
  WorkSlot& slot = *qp.send.slots[number & (qp.send.ring.info.entries - 1)];
  const std::byte* list = copy.data() + sizeof(entry);
  std::size_t room_B = copy.size() - sizeof(entry);
  nic::SendRequest request;
  request.wr_id = entry.wr_id;
  request.lkey = slot.key;
  request.signaled = qp.signal_all || (entry.flags & IBV_SEND_SIGNALED) != 0;
  request.solicited = (entry.flags & IBV_SEND_SOLICITED) != 0;
  request.remote_va = entry.remote_va;
  request.rkey = entry.rkey;
  request.imm = ntohl(entry.imm);
  switch (entry.opcode) {
    case IBV_WR_RDMA_WRITE:
      request.opcode = nic::WrOpcode::kWrite;
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      request.opcode = nic::WrOpcode::kWriteImm;
      break;
    case IBV_WR_SEND:
      request.opcode = nic::WrOpcode::kSend;
      break;
    case IBV_WR_SEND_WITH_IMM:
      request.opcode = nic::WrOpcode::kSendImm;
      break;
    case IBV_WR_SEND_WITH_INV:
      request.opcode = nic::WrOpcode::kSendInv;
      request.imm = entry.imm;
      break;
    case IBV_WR_RDMA_READ:
      request.opcode = nic::WrOpcode::kRead;
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      request.opcode = nic::WrOpcode::kCompareSwap;
      request.compare = entry.compare_add;
      request.swap_add = entry.swap;
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      request.opcode = nic::WrOpcode::kFetchAdd;
      request.swap_add = entry.compare_add;
      break;
    default:
      return;  // the library refuses these
  }
  if ((entry.flags & IBV_SEND_INLINE) != 0) {
    std::size_t size_B = std::min<std::size_t>(entry.inline_B, room_B);
    slot.sges.clear();
    slot.inline_bytes.resize(size_B);
    std::memcpy(slot.inline_bytes.data(), list, size_B);
    if (nic::MemoryRegion* region = device.memory().find(slot.key)) region->length_B = size_B;
    request.length_B = static_cast<std::uint32_t>(size_B);
    request.inline_data = true;
  } else if (!fill(slot, device, qp, list, entry.sges, room_B, request.length_B)) {
    request.lkey = 0;
    request.length_B = std::max<std::uint32_t>(request.length_B, 1);
  }
  if (qp.type == IBV_QPT_UD) {
    auto ah = qp.process->ahs.find(entry.ah);
    if (ah == qp.process->ahs.end()) return;
    request.dest_port = ah->second.remote_port;
    request.dest_qp = entry.remote_qpn;
    request.qkey = (entry.qkey & 0x80000000) != 0 ? qp.attr.qkey : entry.qkey;
  }
  device.post_send(qp.qpn, request, now_ps);
}

void Node::post_receive(VerbsQp& qp, std::uint32_t number, const std::vector<std::byte>& copy) {
  ReceiveEntry entry;
  std::memcpy(&entry, copy.data(), sizeof(entry));
  nic::Device& device = host_.device(qp.device);
  WorkSlot& slot = *qp.receive.slots[number & (qp.receive.ring.info.entries - 1)];
  nic::ReceiveRequest request;
  request.wr_id = entry.wr_id;
  request.lkey = slot.key;
  if (!fill(slot, device, qp, copy.data() + sizeof(entry), entry.sges, copy.size() - sizeof(entry), request.length_B))
    request.lkey = 0;
  device.post_receive(qp.qpn, request);
}

void Node::post_shared(VerbsSrq& srq, const std::vector<std::byte>& copy) {
  if (srq.free_slots.empty()) return;  // more than it has room for
  ReceiveEntry entry;
  std::memcpy(&entry, copy.data(), sizeof(entry));
  nic::Device& device = host_.device(srq.device);
  std::uint32_t index = srq.free_slots.back();
  WorkSlot& slot = *srq.receive.slots[index];
  nic::ReceiveRequest request;
  request.wr_id = index;
  request.lkey = slot.key;
  slot.wr_id = entry.wr_id;
  if (!fill(slot, device, srq, copy.data() + sizeof(entry), entry.sges, copy.size() - sizeof(entry), request.length_B))
    request.lkey = 0;
  if (device.post_srq_receive(srq.nic_srq, request)) srq.free_slots.pop_back();
}

// What is visible goes into the program's ring, and whoever waits for it goes on.
void Node::drain(CompletionRing& cq, Time_ps now_ps) {
  nic::CompletionQueue& queue = host_.device(cq.device).cq(cq.nic_cq);
  bool any = false;
  bool solicited = false;
  while (const nic::Completion* completion = queue.peek(now_ps)) {
    std::uint32_t consumed = cq.ring.head().consumed.load(std::memory_order_acquire);
    if (cq.ring.taken - consumed >= cq.ring.info.entries) {
      cq.overrun = true;  // what comes now is lost, as with a real one
      queue.pop();
      continue;
    }
    verbs::CqEntry entry{};
    entry.wr_id = completion->wr_id;
    entry.status = static_cast<std::uint32_t>(completion->status);
    entry.vendor_error = completion->vendor_error;
    entry.byte_len = completion->byte_len;
    entry.qpn = completion->qpn;
    entry.src_qp = completion->src_qp;
    entry.freed = completion->freed;
    bool receive = completion->opcode >= nic::WcOpcode::kReceive;
    if (receive) {
      auto qp = cq.process->qp_by_number.find({cq.device, completion->qpn});
      auto srq = qp == cq.process->qp_by_number.end() ? cq.process->srqs.end() : cq.process->srqs.find(qp->second->srq);
      if (srq != cq.process->srqs.end()) {
        auto index = static_cast<std::uint32_t>(completion->wr_id);
        entry.wr_id = srq->second->receive.slots[index]->wr_id;
        srq->second->free_slots.push_back(index);
      }
    }
    static constexpr std::uint32_t kOpcode[] = {
        IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,         IBV_WC_COMP_SWAP,
        IBV_WC_FETCH_ADD, IBV_WC_RECV,       IBV_WC_RECV_RDMA_WITH_IMM};
    entry.opcode = kOpcode[static_cast<std::size_t>(completion->opcode)];
    if (completion->with_imm) {
      entry.imm = htonl(completion->imm);
      entry.flags |= IBV_WC_WITH_IMM;
    }
    if (completion->with_invalidate) {
      entry.imm = completion->imm;
      entry.flags |= IBV_WC_WITH_INV;
    }
    if (receive && completion->src_qp != 0) {
      entry.flags |= IBV_WC_GRH;
      entry.sl = 2;  // UCX reads the kind of the GRH out of it: IPv4
    }
    std::memcpy(cq.ring.entry(cq.ring.taken++), &entry, sizeof(entry));
    cq.ring.head().produced.store(cq.ring.taken, std::memory_order_release);
    any = true;
    solicited = solicited || completion->solicited || completion->status != nic::WcStatus::kSuccess;
    queue.pop();
  }
  Time_ps next_ps = host_.wait(program_, host_.device(cq.device), cq.nic_cq);
  if (next_ps != kNever_ps) {
    std::uint32_t handle = cq.handle;
    Process* process = cq.process;
    at(std::max(next_ps, now_ps + 1), 0, [this, process, handle](Time_ps then_ps) {
      auto found = process->cqs.find(handle);
      if (found != process->cqs.end()) drain(*found->second, then_ps);
    });
  }
  if (!any) return;
  notify(cq, solicited);
  retry_waits(*cq.process, now_ps);
}

void Node::notify(CompletionRing& cq, bool solicited) {
  bool event = cq.armed == CompletionRing::Armed::kAny || (cq.armed == CompletionRing::Armed::kSolicited && solicited);
  auto channel = cq.process->channels.find(cq.channel);
  if (!event || channel == cq.process->channels.end()) return;
  cq.armed = CompletionRing::Armed::kNo;
  channel->second->cookies.push_back(cq.cookie);
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(channel->second->eventfd, &one, sizeof(one));
}

}  // namespace weft::live
