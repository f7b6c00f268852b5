#include "live/os/post_queue.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>

#include "live/os/node.h"

namespace weft::live {

using verbs::ReceiveEntry;
using verbs::SendEntry;
using verbs::Sge;

namespace {

constexpr std::uint32_t kMaxMessage_B = 1u << 30;

bool brings_data_here(std::uint32_t opcode) {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

}  // namespace

void PostQueue::open(nic::Device& nic) {
  nic_ = &nic;
  slots_.resize(ring.info.entries);
  // Not cleared: a slot is written before it is read, and most of a deep queue is never used.
  copies_.reset(new std::byte[std::size_t{ring.info.entries} * ring.info.stride_B]);
  reach_ = {this, &PostQueue::read, &PostQueue::write, &PostQueue::take, &PostQueue::give};
  key = nic.memory().add(0, std::uint64_t{ring.info.entries} << 32, {true, false, false, false}, reach_, pd);
  if (kind != Kind::kShared) return;
  for (std::uint32_t i = ring.info.entries; i > 0; --i) free_slots.push_back(i - 1);
}

void PostQueue::close() {
  if (nic_ != nullptr) {
    nic_->memory().remove(key);
    ahead_.clear(nic_->payload_pool());
  }
  nic_ = nullptr;
}

std::size_t PostQueue::head_B() const {
  return kind == Kind::kSend ? sizeof(SendEntry) : sizeof(ReceiveEntry);
}

Sge PostQueue::sge(std::uint32_t slot, std::size_t index) const {
  Sge sge;
  std::memcpy(&sge, copy(slot) + head_B() + index * sizeof(Sge), sizeof(sge));
  return sge;
}

PostQueue::Place PostQueue::place_of(const Sge& sge, bool writes) const {
  MemoryRange* range = find_range(nic_->memory(), pd, sge.lkey, writes);
  if (range == nullptr || sge.address < range->iova) return {};
  std::uint64_t offset = sge.address - range->iova;
  if (offset > range->length_B || sge.length_B > range->length_B - offset) return {};
  return {range, range->address + offset};
}

bool PostQueue::check_list(std::uint32_t index, std::size_t count, bool writes) {
  std::size_t room_B = ring.info.stride_B - head_B();
  if (count * sizeof(Sge) > room_B) return false;
  WorkSlot& slot = slots_[index];
  std::uint64_t total_B = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Sge each = sge(index, i);
    if (each.length_B == 0) continue;
    if (place_of(each, writes).range == nullptr) return false;
    total_B += each.length_B;
    std::memcpy(copy(index) + head_B() + slot.sges++ * sizeof(Sge), &each, sizeof(each));
  }
  if (total_B > kMaxMessage_B) return false;
  slot.length_B = static_cast<std::uint32_t>(total_B);
  return true;
}

void PostQueue::fill(std::uint32_t index, std::uint32_t number) {
  std::memcpy(copy(index), ring.entry(number), ring.info.stride_B);
  WorkSlot& slot = slots_[index];
  slot = {};
  slot.number = number;
  if (kind != Kind::kSend) {
    auto entry = copy_of<ReceiveEntry>(index);
    slot.wr_id = entry.wr_id;
    slot.is_good = check_list(index, entry.sges, true);
    return;
  }
  auto entry = copy_of<SendEntry>(index);
  slot.wr_id = entry.wr_id;
  slot.is_payload = !brings_data_here(entry.opcode);
  if (entry.opcode == IBV_WR_BIND_MW || entry.opcode == IBV_WR_LOCAL_INV) {
    slot.is_good = true;
    return;
  }
  slot.is_inline = (entry.flags & IBV_SEND_INLINE) != 0;
  if (slot.is_inline) {
    slot.length_B = entry.inline_B;
    slot.is_good = entry.inline_B <= ring.info.stride_B - sizeof(SendEntry) && slot.is_payload;
  } else {
    slot.is_good = check_list(index, entry.sges, !slot.is_payload);
  }
}

// The list as one range from 0. What was registered when it was posted need not be any more.
template <typename Piece>
bool PostQueue::each_piece(std::uint32_t slot, std::uint64_t offset, std::size_t size_B, bool writes,
                           Piece piece) const {
  std::size_t done = 0;
  for (std::size_t i = 0; i < slots_[slot].sges && done < size_B; ++i) {
    Sge each = sge(slot, i);
    if (offset >= each.length_B) {
      offset -= each.length_B;
      continue;
    }
    const Place place = place_of(each, writes);
    if (place.range == nullptr) return false;
    std::size_t part_B = std::min<std::size_t>(size_B - done, each.length_B - offset);
    if (!piece(*place.range, place.address + offset, done, part_B)) return false;
    done += part_B;
    offset = 0;
  }
  return done == size_B;
}

bool PostQueue::read_list(std::uint32_t slot, std::uint32_t offset_B, std::span<std::uint8_t> out) {
  return each_piece(slot, offset_B, out.size(), false,
                    [&](MemoryRange& range, std::uint64_t address, std::size_t at, std::size_t part_B) {
                      return range.read(address, out.subspan(at, part_B));
                    });
}

// From there on whatever has been posted, as far as there is room. False: not even what is asked for can be read.
bool PostQueue::read_ahead(std::uint32_t index, std::uint32_t offset_B, std::uint32_t size_B, nic::PayloadPool& pool) {
  ahead_.clear(pool);
  ahead_.ranges_ended = process->ranges_ended;
  pieces_.clear();
  // All packets of a message but its last one are of the path MTU.
  const bool is_last = slots_[index].length_B - offset_B == size_B;
  const std::uint32_t packet_B = is_last ? static_cast<std::uint32_t>(engine::kPayloadSlot_B) : size_B;
  for (std::uint32_t number = slots_[index].number; number != ring.taken; ++number, offset_B = 0) {
    std::uint32_t at = slot_of(number);
    const WorkSlot& slot = slots_[at];
    if (slot.number != number) break;
    if (!slot.is_good || !slot.is_payload || slot.is_inline || slot.length_B == 0) continue;
    const std::size_t parts = ahead_.count(), pieces = pieces_.size();
    std::uint32_t end_B = offset_B;
    while (end_B < slot.length_B) {
      const std::uint32_t part_B = std::min(packet_B, slot.length_B - end_B);
      if (!ahead_.add(number, end_B, part_B, pool)) break;
      end_B += part_B;
    }
    auto list = [&](const MemoryRange& range, std::uint64_t address, std::size_t, std::size_t part_B) {
      pieces_.push_back({reinterpret_cast<void*>(address), part_B});
      return pieces_.size() <= kMostPieces && range.is_plain() && range.process == process;
    };
    if (!each_piece(at, offset_B, end_B - offset_B, false, list)) {
      pieces_.resize(pieces);
      ahead_.cut(parts, pool);
      break;
    }
    if (end_B < slot.length_B) break;
  }
  if (ahead_.count() > 0 && ahead_.read(process->pid, pieces_)) return true;
  ahead_.clear(pool);
  return false;
}

bool PostQueue::read(void* self, std::uint64_t va, std::span<std::uint8_t> out) {
  auto& queue = *static_cast<PostQueue*>(self);
  std::uint64_t index = va >> 32;
  if (index >= queue.slots_.size()) return false;
  auto at = static_cast<std::uint32_t>(index);
  auto offset_B = static_cast<std::uint32_t>(va);
  const WorkSlot& slot = queue.slots_[at];
  if (offset_B > slot.length_B || out.size() > slot.length_B - offset_B) return false;
  if (slot.is_inline) {
    std::memcpy(out.data(), queue.copy(at) + sizeof(SendEntry) + offset_B, out.size());
    return true;
  }
  return queue.read_list(at, offset_B, out);
}

std::uint32_t PostQueue::take(void* self, std::uint64_t va, std::uint32_t size_B, nic::PayloadPool& pool) {
  auto& queue = *static_cast<PostQueue*>(self);
  const std::uint64_t index = va >> 32;
  const auto offset_B = static_cast<std::uint32_t>(va);
  if (queue.kind == Kind::kSend && index < queue.slots_.size() && !queue.slots_[index].is_inline) {
    const auto at = static_cast<std::uint32_t>(index);
    const WorkSlot& work = queue.slots_[at];
    if (offset_B > work.length_B || size_B > work.length_B - offset_B) return engine::kNoSlot;
    if (queue.ahead_.ranges_ended == queue.process->ranges_ended) {
      const std::uint32_t slot = queue.ahead_.take(work.number, offset_B, size_B, pool);
      if (slot != engine::kNoSlot) return slot;
    }
    queue.process->settle_writes(kNever_ps);  // a DMA read does not pass a posted write
    if (queue.read_ahead(at, offset_B, size_B, pool)) {
      const std::uint32_t slot = queue.ahead_.take(work.number, offset_B, size_B, pool);
      if (slot != engine::kNoSlot) return slot;
    }
  }
  const std::uint32_t slot = pool.take();
  if (read(self, va, std::span(pool[slot]).first(size_B))) return slot;
  pool.give_back(slot);
  return engine::kNoSlot;
}

bool PostQueue::write(void* self, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps) {
  auto& queue = *static_cast<PostQueue*>(self);
  std::uint64_t index = va >> 32;
  if (index >= queue.slots_.size()) return false;
  auto write = [&](MemoryRange& range, std::uint64_t address, std::size_t at, std::size_t part_B) {
    return range.write(address, in.subspan(at, part_B), visible_ps);
  };
  return queue.each_piece(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(va), in.size(), true, write) &&
         !queue.process->gone;
}

bool PostQueue::give(void* self, std::uint64_t va, std::uint32_t size_B, nic::PayloadPool& pool, std::uint32_t slot,
                     Time_ps visible_ps) {
  auto& queue = *static_cast<PostQueue*>(self);
  const std::uint64_t index = va >> 32;
  bool is_plain = index < queue.slots_.size();
  const auto at = static_cast<std::uint32_t>(index), offset_B = static_cast<std::uint32_t>(va);
  is_plain = is_plain && queue.each_piece(at, offset_B, size_B, true, [](const MemoryRange& range, auto...) {
    return range.is_plain() && !range.on_demand;
  });
  if (!is_plain) {
    const bool written = write(self, va, std::span(pool[slot]).first(size_B), visible_ps);
    pool.give_back(slot);
    return written;
  }
  queue.each_piece(at, offset_B, size_B, true,
                   [&](MemoryRange& range, std::uint64_t address, std::size_t done, std::size_t part_B) {
                     const PendingWrite write{visible_ps,
                                              address,
                                              static_cast<std::uint32_t>(part_B),
                                              slot,
                                              static_cast<std::uint16_t>(done),
                                              done + part_B == size_B};
                     range.process->node->note_write(*range.process, write, pool);
                     return true;
                   });
  return !queue.process->gone;
}

}  // namespace weft::live
