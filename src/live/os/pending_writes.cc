#include "live/os/pending_writes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace weft::live {

namespace {

// The process's memory whatever its mappings allow (proc(5), /proc/PID/mem): pages were pinned with the rights that
// they had then. Slow, and rare.
class PinnedMemory {
 public:
  explicit PinnedMemory(int pid) {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    fd_ = open(path, O_RDWR | O_CLOEXEC);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

bool read_memory(int pid, std::uint64_t address, std::span<std::uint8_t> out) {
  iovec local{out.data(), out.size()};
  iovec remote{reinterpret_cast<void*>(address), out.size()};
  const auto size_B = static_cast<ssize_t>(out.size());
  if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == size_B) return true;
  const PinnedMemory memory(pid);
  return pread(memory.fd(), out.data(), out.size(), static_cast<off_t>(address)) == size_B;
}

bool write_memory(int pid, std::uint64_t address, std::span<const std::uint8_t> in) {
  iovec local{const_cast<std::uint8_t*>(in.data()), in.size()};
  iovec remote{reinterpret_cast<void*>(address), in.size()};
  const auto size_B = static_cast<ssize_t>(in.size());
  if (process_vm_writev(pid, &local, 1, &remote, 1, 0) == size_B) return true;
  const PinnedMemory memory(pid);
  return pwrite(memory.fd(), in.data(), in.size(), static_cast<off_t>(address)) == size_B;
}

void PendingWrites::add(PendingWrite write, nic::PayloadPool& pool) {
  pool_ = &pool;
  if (!writes_.empty()) write.visible_ps = std::max(write.visible_ps, writes_.back().visible_ps);
  writes_.push_back(write);
  size_B_ += write.size_B;
}

void PendingWrites::add(std::uint64_t address, std::span<const std::uint8_t> bytes, nic::PayloadPool& pool,
                        Time_ps visible_ps) {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t part_B = std::min(bytes.size() - done, engine::kPayloadSlot_B);
    const std::uint32_t slot = pool.take();
    std::memcpy(pool[slot].data(), bytes.data() + done, part_B);
    add({visible_ps, address + done, static_cast<std::uint32_t>(part_B), slot, 0, true}, pool);
    done += part_B;
  }
}

void PendingWrites::settle(int pid, Time_ps now_ps) {
  while (!writes_.empty() && writes_.front().visible_ps <= now_ps) settle_some(pid, now_ps);
}

// As many as one system call takes.
void PendingWrites::settle_some(int pid, Time_ps now_ps) {
  from_.clear();
  to_.clear();
  std::size_t size_B = 0;
  for (const PendingWrite& each : writes_) {
    if (each.visible_ps > now_ps || from_.size() == kMostPieces) break;
    auto* to = reinterpret_cast<std::uint8_t*>(each.address);
    if (!to_.empty() && static_cast<std::uint8_t*>(to_.back().iov_base) + to_.back().iov_len == to) {
      to_.back().iov_len += each.size_B;
    } else {
      to_.push_back({to, each.size_B});
    }
    from_.push_back({(*pool_)[each.slot].data() + each.at_B, each.size_B});
    size_B += each.size_B;
  }
  if (process_vm_writev(pid, from_.data(), from_.size(), to_.data(), to_.size(), 0) != static_cast<ssize_t>(size_B)) {
    // One of them has lost its memory: the others have not.
    for (std::size_t i = 0; i < from_.size(); ++i) {
      write_memory(pid, writes_[i].address, {static_cast<const std::uint8_t*>(from_[i].iov_base), from_[i].iov_len});
    }
  }
  end(from_.size());
}

void PendingWrites::end(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    size_B_ -= writes_[i].size_B;
    if (writes_[i].ends) pool_->give_back(writes_[i].slot);
  }
  writes_.erase(writes_.begin(), writes_.begin() + static_cast<std::ptrdiff_t>(count));
}

void PendingWrites::clear() {
  end(writes_.size());
}

}  // namespace weft::live
