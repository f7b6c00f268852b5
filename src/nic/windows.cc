// Memory windows (IBTA vol 1, 10.6.7): how a queue pair binds them and ends them, in the memory table and in the send
// queue. A window that is bound reaches the bytes of its region, which stays registered as long.
#include "base/check.h"
#include "nic/memory.h"
#include "nic/transmit.h"
#include "nic/transports/recovery.h"
#include "nic/transports/requester.h"
#include "nic/transports/transport.h"

namespace weft::nic {

std::uint32_t MemoryTable::add_window(std::uint32_t pd, RegionKind kind) {
  MemoryRegion window;
  window.pd = pd;
  window.kind = kind;
  window.valid = false;
  return insert(window);
}

MemoryRegion* MemoryTable::find_any(std::uint32_t key) {
  std::uint32_t index = key >> 8;
  if (index == 0 || index >= regions_.size() || regions_[index].key != key || regions_[index].removed) return nullptr;
  return &regions_[index];
}

bool MemoryTable::bind(const Binding& binding) {
  std::uint32_t index = binding.key >> 8;
  if (index == 0 || index >= regions_.size()) return false;
  MemoryRegion& window = regions_[index];
  if (window.removed || !window.is_window()) return false;
  // One of type 2 is bound once; a bind of type 1 takes the place of the one before.
  bool second = window.kind == RegionKind::kWindow2;
  if (window.valid && second) return false;
  std::uint32_t own_pd = window.valid ? regions_[window.parent].pd : window.pd;
  if (own_pd != binding.pd) return false;
  if (binding.length_B == 0) {
    if (second) return false;
    close(window);
    window.key = binding.key;
    ++changes_;
    return true;
  }
  MemoryRegion* region = find(binding.region_key);
  if (region == nullptr || region->kind != RegionKind::kBindable || region->pd != binding.pd) return false;
  if (!region->covers(binding.va, binding.length_B)) return false;
  // Memory that peers may write through a window must be writable by the device (o10-40.2.1).
  bool writes = binding.access.remote_write || binding.access.remote_atomic;
  if (writes && !region->access.local_write) return false;
  close(window);
  window.key = binding.key;
  window.va = binding.va;
  window.length_B = binding.length_B;
  window.access = binding.access;
  window.access.local_write = false;
  window.pd = second ? kOfQueuePair | binding.qpn : binding.pd;
  window.watched = region->watched;
  window.bytes = region->bytes.empty()
                     ? region->bytes
                     : region->bytes.subspan(static_cast<std::size_t>(binding.va - region->va), binding.length_B);
  window.elsewhere = region->elsewhere;
  window.parent = binding.region_key >> 8;
  window.valid = true;
  WEFT_CHECK(window.parent != 0 && window.parent != binding.key >> 8, "a window of no region, or of itself");
  ++region->windows;
  ++changes_;
  return true;
}

void MemoryTable::close(MemoryRegion& region) {
  if (region.is_window() && region.valid) {
    WEFT_CHECK(regions_[region.parent].windows > 0, "a window of a region that has none");
    region.pd = regions_[region.parent].pd;
    --regions_[region.parent].windows;
    region.bytes = {};
    region.elsewhere = nullptr;
  }
  region.valid = false;
}

bool MemoryTable::invalidate_window(std::uint32_t key, std::uint32_t pd, std::uint32_t qpn) {
  MemoryRegion* window = find(key);
  if (window == nullptr || window->kind != RegionKind::kWindow2 || !window->admits(pd, qpn)) return false;
  close(*window);
  ++changes_;
  return true;
}

void MemoryTable::remove_with_windows(std::uint32_t key) {
  const MemoryRegion* region = find_any(key);
  for (std::size_t i = 1; region != nullptr && region->windows > 0 && i < regions_.size(); ++i) {
    MemoryRegion& window = regions_[i];
    if (window.is_window() && window.valid && window.parent == key >> 8) close(window);
  }
  remove(key);
}

bool MemoryTable::change(std::uint32_t key, std::uint64_t va, std::uint64_t length_B, Access access, std::uint32_t pd) {
  MemoryRegion* region = find_any(key);
  if (region == nullptr || region->is_window() || region->windows > 0) return false;
  region->va = va;
  region->length_B = length_B;
  region->access = access;
  region->pd = pd;
  ++changes_;
  return true;
}

// Done when everything before it is, and before anything behind it begins.
bool send_local(Port& port, QueuePair& qp, const SendRequest& request, Time_ps now_ps) {
  if (!is_local(request.opcode) || !qp.transport->connected) {
    fail_sending(port, qp, WcStatus::kLocalQpOperationError, now_ps);
    return false;
  }
  if (qp.req.tx != qp.req.head) return false;  // what acknowledges those before resumes here
  bool done;
  if (request.opcode == WrOpcode::kBindWindow) {
    MemoryTable::Binding binding{request.rkey, request.lkey, request.remote_va, request.swap_add, {}, qp.pd, qp.qpn};
    binding.access.remote_write = (request.compare & kWindowWrite) != 0;
    binding.access.remote_read = (request.compare & kWindowRead) != 0;
    binding.access.remote_atomic = (request.compare & kWindowAtomic) != 0;
    done = port.memory.bind(binding);
  } else {
    done = port.memory.invalidate_window(request.rkey, qp.pd, qp.qpn);
  }
  if (!done) {
    fail_send_queue(port, qp, WcStatus::kWindowBindError, now_ps);
    return false;
  }
  finish_head(port, qp, WcStatus::kSuccess, now_ps, 0);
  if (qp.req.tx != qp.req.tail) queue_request(port, qp, now_ps);
  return false;
}

}  // namespace weft::nic
