// Registered memory, memory windows and memory of the device.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "live/os/mappings.h"
#include "live/verbs/service.h"
#include "verbs/extended_protocol.h"

namespace weft::live {

namespace {

// The memory of a registered range, by its iova.
bool read_range(void* self, std::uint64_t va, std::span<std::uint8_t> out) {
  auto& mr = *static_cast<MemoryRange*>(self);
  return mr.read(mr.address + (va - mr.iova), out);
}
bool write_range(void* self, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps) {
  auto& mr = *static_cast<MemoryRange*>(self);
  return mr.write(mr.address + (va - mr.iova), in, visible_ps) && !mr.process->gone;
}

std::uint32_t take_from_range(void* self, std::uint64_t va, std::uint32_t size_B, nic::PayloadPool& pool) {
  const std::uint32_t slot = pool.take();
  if (read_range(self, va, std::span(pool[slot]).first(size_B))) return slot;
  pool.give_back(slot);
  return engine::kNoSlot;
}
bool give_to_range(void* self, std::uint64_t va, std::uint32_t size_B, nic::PayloadPool& pool, std::uint32_t slot,
                   Time_ps visible_ps) {
  auto& mr = *static_cast<MemoryRange*>(self);
  return mr.give(mr.address + (va - mr.iova), size_B, pool, slot, visible_ps) && !mr.process->gone;
}

constexpr std::uint32_t kWritesByPeers = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

// Memory that peers may write must be writable by the device.
bool is_consistent(std::uint32_t access) {
  return (access & kWritesByPeers) == 0 || (access & IBV_ACCESS_LOCAL_WRITE) != 0;
}

constexpr std::uint64_t kMostPrefetched_B = 64 << 20;  // by one piece of advice
constexpr std::size_t kLeastDm_B = 64;                 // what an allocation takes of the device

constexpr std::uint64_t kPage_B = 4096;  // the smallest; larger ones are several of them

// As one block, or as several with holes where nothing is mapped.
void copy_pages(const Process& process, std::uint64_t from, std::uint64_t end,
                std::vector<MemoryRange::KeptPages>& blocks) {
  const std::size_t size_B = end - from;
  if (auto block = std::make_shared<std::vector<std::uint8_t>>(size_B); process.read(from, *block)) {
    blocks.push_back({from, size_B, std::move(block), 0});
    return;
  }
  const std::uint64_t middle = (from + size_B / 2) / kPage_B * kPage_B;
  const std::uint64_t next = (from / kPage_B + 1) * kPage_B;
  if (next >= end) return;
  const std::uint64_t cut = middle > from ? middle : next;
  copy_pages(process, from, cut, blocks);
  copy_pages(process, cut, end, blocks);
}

bool has_room(std::uint64_t offset_B, std::uint64_t length_B, std::uint64_t size_B) {
  return offset_B <= size_B && length_B <= size_B - offset_B;
}

}  // namespace

nic::Access access_of(std::uint32_t flags) {
  nic::Access access;
  access.local_write = (flags & IBV_ACCESS_LOCAL_WRITE) != 0;
  access.remote_write = (flags & IBV_ACCESS_REMOTE_WRITE) != 0;
  access.remote_read = (flags & IBV_ACCESS_REMOTE_READ) != 0;
  access.remote_atomic = (flags & IBV_ACCESS_REMOTE_ATOMIC) != 0;
  return access;
}

MemoryRange* find_range(nic::MemoryTable& memory, std::uint32_t pd, std::uint32_t key, bool writes) {
  const nic::MemoryRegion* region = memory.find(key);
  // The regions of queues have keys too, which a program could guess.
  bool is_range = region != nullptr && region->elsewhere != nullptr && region->elsewhere->read == read_range &&
                  !region->is_window();
  if (!is_range || region->pd != pd || (writes && !region->access.local_write)) return nullptr;
  return static_cast<MemoryRange*>(region->elsewhere->self);
}

Reply VerbsService::reg_mr(Process& process, const Request& request) {
  verbs::RegMr ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto pd = process.pds.find(ask.pd);
  if (pd == process.pds.end() || ask.address + ask.length_B < ask.address || ask.iova + ask.length_B < ask.iova)
    return Reply::failed(EINVAL);
  if (!is_consistent(ask.access)) return Reply::failed(EINVAL);
  if (process.mrs.size() >= kMaxMr) return Reply::failed(ENOMEM);
  bool on_demand = (ask.access & IBV_ACCESS_ON_DEMAND) != 0;
  if (!on_demand && !can_pin(process.pid, ask.address, ask.length_B, (ask.access & IBV_ACCESS_LOCAL_WRITE) != 0))
    return Reply::failed(EFAULT);
  auto mr = std::make_unique<MemoryRange>();
  mr->pd = ask.pd;
  mr->device = pd->second;
  mr->access = ask.access;
  mr->address = ask.address;
  mr->iova = ask.iova;
  mr->length_B = ask.length_B;
  mr->on_demand = on_demand;
  return add_range(process, std::move(mr));
}

Reply VerbsService::add_range(Process& process, std::unique_ptr<MemoryRange> mr) {
  nic::MemoryTable& memory = device(mr->device)->memory();
  mr->process = &process;
  mr->reach = {mr.get(), read_range, write_range, take_from_range, give_to_range};
  mr->key = memory.add(mr->iova, mr->length_B, access_of(mr->access), mr->reach, mr->pd);
  nic::MemoryRegion& region = *memory.find(mr->key);
  region.watched = true;
  if ((mr->access & IBV_ACCESS_MW_BIND) != 0) region.kind = nic::RegionKind::kBindable;
  std::uint32_t handle = process.new_handle();
  verbs::MrKeys keys{handle, mr->key, mr->key};
  process.mrs[handle] = std::move(mr);
  return Reply::of(keys);
}

// One copy of the pages for all regions over them. What is not mapped any more has none.
Reply VerbsService::keep_pages(Process& process, const Request& request) {
  verbs::Unmapping ask;
  if (!request.read(ask) || ask.address + ask.length_B < ask.address) return Reply::failed(EINVAL);
  std::set<const std::vector<std::uint8_t>*> held;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;  // from, end
  for (const auto& [handle, mr] : process.mrs) {
    for (const MemoryRange::KeptPages& each : mr->kept) held.insert(each.block.get());
    const std::uint64_t from = std::max(ask.address, mr->address);
    const std::uint64_t end = std::min(ask.address + ask.length_B, mr->address + mr->length_B);
    if (mr->is_pinned() && from < end) stretches.emplace_back(from, end);
  }
  std::sort(stretches.begin(), stretches.end());
  std::size_t used_B = 0;
  for (const auto* block : held) used_B += block->size();
  std::vector<MemoryRange::KeptPages> blocks;
  process.settle_writes(kNever_ps);
  for (std::size_t i = 0; i < stretches.size();) {
    auto [from, end] = stretches[i];
    for (++i; i < stretches.size() && stretches[i].first <= end; ++i) end = std::max(end, stretches[i].second);
    used_B += end - from;
    if (used_B > kMaxKept_B) return Reply::failed(ENOMEM);
    copy_pages(process, from, end, blocks);
  }
  for (const auto& [handle, mr] : process.mrs) {
    if (!mr->is_pinned()) continue;
    for (const MemoryRange::KeptPages& block : blocks) {
      if (block.address < mr->address + mr->length_B && mr->address < block.address + block.size_B) mr->keep(block);
    }
  }
  ++process.ranges_ended;  // what was read ahead is read again
  return {};
}

// The key stays. What was posted before and names what is not there any more fails when its turn comes.
Reply VerbsService::rereg_mr(Process& process, const Request& request) {
  verbs::ReregMr ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto found = process.mrs.find(ask.mr);
  if (found == process.mrs.end() || ask.flags == 0) return Reply::failed(EINVAL);
  MemoryRange& mr = *found->second;
  if (mr.inside || mr.is_null) return Reply::failed(EOPNOTSUPP);
  MemoryRange to = mr;
  if ((ask.flags & IBV_REREG_MR_CHANGE_PD) != 0) {
    auto pd = process.pds.find(ask.pd);
    if (pd == process.pds.end() || pd->second != mr.device) return Reply::failed(EINVAL);
    to.pd = ask.pd;
  }
  if ((ask.flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
    if (!is_consistent(ask.access)) return Reply::failed(EINVAL);
    to.access = ask.access;
    to.on_demand = (ask.access & IBV_ACCESS_ON_DEMAND) != 0;
  }
  if ((ask.flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    if (ask.address + ask.length_B < ask.address) return Reply::failed(EINVAL);
    to.address = to.iova = ask.address;
    to.length_B = ask.length_B;
    to.kept.clear();
  }
  bool writes = (to.access & IBV_ACCESS_LOCAL_WRITE) != 0;
  bool moved = (ask.flags & (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS)) != 0;
  if (moved && !to.on_demand && to.kept.empty() && !can_pin(process.pid, to.address, to.length_B, writes))
    return Reply::failed(EFAULT);
  nic::MemoryTable& memory = device(mr.device)->memory();
  process.settle_writes(kNever_ps);
  if (!memory.change(mr.key, to.iova, to.length_B, access_of(to.access), to.pd)) return Reply::failed(EBUSY);
  bool bindable = (to.access & IBV_ACCESS_MW_BIND) != 0;
  if (nic::MemoryRegion* region = memory.find_any(mr.key))
    region->kind = bindable ? nic::RegionKind::kBindable : nic::RegionKind::kRegion;
  mr = std::move(to);
  ++process.ranges_ended;  // what was read ahead is read again
  return Reply::of(verbs::MrKeys{ask.mr, mr.key, mr.key});
}

// Pages are paged in; without IBV_ADVISE_MR_FLAG_FLUSH nobody hears whether they could be.
Reply VerbsService::advise_mr(Process& process, const Request& request) {
  verbs::AdviseMr ask;
  if (!request.read_head(ask) || ask.sges > verbs::kMaxAdvisedSges ||
      request.body.size() != sizeof(ask) + ask.sges * sizeof(verbs::Sge) || ask.sges == 0)
    return Reply::failed(EINVAL);
  bool known = ask.advice == IBV_ADVISE_MR_ADVICE_PREFETCH || ask.advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ||
               ask.advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
  if (!known || (ask.flags & ~std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0) return Reply::failed(EOPNOTSUPP);
  auto pd = process.pds.find(ask.pd);
  if (pd == process.pds.end()) return Reply::failed(EINVAL);
  bool writes = ask.advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  std::uint64_t room_B = kMostPrefetched_B;  // more is not taken up
  for (std::uint32_t i = 0; i < ask.sges; ++i) {
    verbs::Sge sge;
    std::memcpy(&sge, request.body.data() + sizeof(ask) + i * sizeof(sge), sizeof(sge));
    const MemoryRange* range = find_range(device(pd->second)->memory(), ask.pd, sge.lkey, writes);
    if (range == nullptr || !range->on_demand) return Reply::failed(EINVAL);
    if (sge.address < range->iova || !has_room(sge.address - range->iova, sge.length_B, range->length_B))
      return Reply::failed(EFAULT);
    bool faults = ask.advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT && ask.flags != 0;
    const std::uint64_t part_B = faults ? std::min<std::uint64_t>(sge.length_B, room_B) : 0;
    room_B -= part_B;
    if (!range->page_in(range->address + (sge.address - range->iova), part_B)) return Reply::failed(EFAULT);
  }
  return {};
}

Reply VerbsService::alloc_null_mr(Process& process, const Request& request) {
  verbs::Handle ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto pd = process.pds.find(ask.handle);
  if (pd == process.pds.end()) return Reply::failed(EINVAL);
  if (process.mrs.size() >= kMaxMr) return Reply::failed(ENOMEM);
  auto mr = std::make_unique<MemoryRange>();
  mr->pd = ask.handle;
  mr->device = pd->second;
  mr->access = IBV_ACCESS_LOCAL_WRITE;
  mr->length_B = UINT64_MAX;
  mr->is_null = true;
  return add_range(process, std::move(mr));
}

Reply VerbsService::alloc_mw(Process& process, const Request& request) {
  verbs::AllocMw ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto pd = process.pds.find(ask.pd);
  bool known = ask.type == IBV_MW_TYPE_1 || ask.type == IBV_MW_TYPE_2;
  if (pd == process.pds.end() || !known) return Reply::failed(EINVAL);
  if (process.mws.size() >= kMaxMr) return Reply::failed(ENOMEM);
  auto kind = ask.type == IBV_MW_TYPE_1 ? nic::RegionKind::kWindow1 : nic::RegionKind::kWindow2;
  std::uint32_t key = device(pd->second)->memory().add_window(ask.pd, kind);
  std::uint32_t handle = process.new_handle();
  process.mws[handle] = {pd->second, ask.pd, key};
  return Reply::of(verbs::MrKeys{handle, 0, key});
}

void VerbsService::destroy_mw(const MemoryWindow& mw) {
  nic::MemoryTable& memory = device(mw.device)->memory();
  memory.remove(memory.current_key(mw.key));
}

Reply VerbsService::alloc_dm(Process& process, const Request& request) {
  verbs::AllocDm ask;
  if (!request.read(ask) || device(ask.device) == nullptr || ask.length_B == 0) return Reply::failed(EINVAL);
  std::uint64_t used_B = 0;
  for (const auto& each : node_.processes) {
    for (const auto& [handle, dm] : each->dms)
      used_B += dm.device == ask.device ? std::max<std::size_t>(dm.bytes->size(), kLeastDm_B) : 0;
  }
  std::uint64_t most_B = describe(ask.device).max_dm_B;
  if (most_B == 0) return Reply::failed(EOPNOTSUPP);
  if (used_B > most_B || ask.length_B > most_B - used_B || ask.log_align > kMaxDmAlignment)
    return Reply::failed(ENOMEM);
  std::uint32_t handle = process.new_handle();
  process.dms[handle] = {ask.device, std::make_shared<std::vector<std::uint8_t>>(ask.length_B)};
  return Reply::of(verbs::Handle{handle});
}

Reply VerbsService::copy_dm(Process& process, const Request& request) {
  verbs::CopyDm ask;
  if (!request.read_head(ask)) return Reply::failed(EINVAL);
  auto found = process.dms.find(ask.dm);
  if (found == process.dms.end()) return Reply::failed(EINVAL);
  std::vector<std::uint8_t>& bytes = *found->second.bytes;
  // The card's memory is reached in words of four bytes.
  if (!has_room(ask.offset_B, ask.length_B, bytes.size()) || ask.offset_B % 4 != 0 || ask.length_B % 4 != 0)
    return Reply::failed(EFAULT);
  if (ask.length_B > verbs::kMaxStreamChunk_B) return Reply::failed(EINVAL);
  if (ask.to_device != 0) {
    if (request.body.size() != sizeof(ask) + ask.length_B) return Reply::failed(EINVAL);
    std::memcpy(bytes.data() + ask.offset_B, request.body.data() + sizeof(ask), ask.length_B);
    return {};
  }
  Reply reply;
  reply.body.resize(ask.length_B);
  if (ask.length_B > 0) std::memcpy(reply.body.data(), bytes.data() + ask.offset_B, ask.length_B);
  return reply;
}

Reply VerbsService::reg_dm_mr(Process& process, const Request& request) {
  verbs::RegDmMr ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto pd = process.pds.find(ask.pd);
  auto dm = process.dms.find(ask.dm);
  if (pd == process.pds.end() || dm == process.dms.end() || dm->second.device != pd->second)
    return Reply::failed(EINVAL);
  // Its addresses are offsets.
  if (!has_room(ask.offset_B, ask.length_B, dm->second.bytes->size()) || (ask.access & IBV_ACCESS_ZERO_BASED) == 0 ||
      !is_consistent(ask.access))
    return Reply::failed(EINVAL);
  if (process.mrs.size() >= kMaxMr) return Reply::failed(ENOMEM);
  auto mr = std::make_unique<MemoryRange>();
  mr->pd = ask.pd;
  mr->device = pd->second;
  mr->access = ask.access;
  mr->address = ask.offset_B;
  mr->length_B = ask.length_B;
  mr->inside = dm->second.bytes;
  return add_range(process, std::move(mr));
}

}  // namespace weft::live
