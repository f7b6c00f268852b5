#include "live/os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace weft::live {

namespace {

constexpr std::size_t kMostPending_B = 1 << 20;  // then what can be seen is written, though nobody looks

}  // namespace

void raise_event(int fd) {
  pollfd room{fd, POLLOUT, 0};
  const std::uint64_t one = 1;
  if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) {
    [[maybe_unused]] ssize_t size = write(fd, &one, sizeof(one));
  }
}

void lower_event(int fd) {
  std::uint64_t one = 0;
  const iovec into{&one, sizeof(one)};
  [[maybe_unused]] ssize_t size = preadv2(fd, &into, 1, -1, RWF_NOWAIT);
}

EventChannel::~EventChannel() {
  if (eventfd >= 0) close(eventfd);
}

void EventChannel::forget(std::uint32_t cq) {
  for (std::size_t count = std::erase(cqs, cq); count > 0; --count) lower_event(eventfd);
}

void OwnedDescriptor::reset() {
  if (fd >= 0) close(fd);
  fd = -1;
}

namespace {

// The process's memory whatever its mappings allow (proc(5), /proc/PID/mem): pages were pinned with the rights that
// they had then. Slow, and rare.
struct PinnedMemory {
  OwnedDescriptor file;
  explicit PinnedMemory(int pid) {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    file.fd = open(path, O_RDWR | O_CLOEXEC);
  }
};

}  // namespace

bool Process::has_thread_outside() const {
  return std::any_of(threads.begin(), threads.end(), [](const auto& thread) {
    return thread->state == ThreadState::kOutside || thread->state == ThreadState::kRunning;
  });
}

bool Process::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  iovec local{out.data(), out.size()};
  iovec remote{reinterpret_cast<void*>(address), out.size()};
  const auto size_B = static_cast<ssize_t>(out.size());
  if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == size_B) return true;
  const PinnedMemory memory(pid);
  return pread(memory.file.fd, out.data(), out.size(), static_cast<off_t>(address)) == size_B;
}

bool Process::write(std::uint64_t address, std::span<const std::uint8_t> in) const {
  iovec local{const_cast<std::uint8_t*>(in.data()), in.size()};
  iovec remote{reinterpret_cast<void*>(address), in.size()};
  const auto size_B = static_cast<ssize_t>(in.size());
  if (process_vm_writev(pid, &local, 1, &remote, 1, 0) == size_B) return true;
  const PinnedMemory memory(pid);
  return pwrite(memory.file.fd, in.data(), in.size(), static_cast<off_t>(address)) == size_B;
}

bool Process::read_pieces(std::span<const iovec> from, std::span<std::uint8_t> out) const {
  iovec local{out.data(), out.size()};
  return process_vm_readv(pid, &local, 1, from.data(), from.size(), 0) == static_cast<ssize_t>(out.size());
}

void Process::add_write(std::uint64_t address, std::span<const std::uint8_t> bytes, Time_ps visible_ps,
                        Time_ps now_ps) {
  if (!writes.empty()) visible_ps = std::max(visible_ps, writes.back().visible_ps);
  writes.push_back({visible_ps, address, bytes.size()});
  written_.insert(written_.end(), bytes.begin(), bytes.end());
  if (written_.size() - settled_B_ > kMostPending_B && now_ps < visible_ps) settle_writes(now_ps);
}

void Process::settle_writes(Time_ps now_ps) {
  while (!writes.empty() && writes.front().visible_ps <= now_ps) settled_B_ += settle_some(now_ps);
  if (writes.empty()) {
    written_.clear();
    settled_B_ = 0;
  } else if (settled_B_ > kMostPending_B) {
    written_.erase(written_.begin(), written_.begin() + static_cast<std::ptrdiff_t>(settled_B_));
    settled_B_ = 0;
  }
}

// As many as one system call takes. Returns their bytes.
std::size_t Process::settle_some(Time_ps now_ps) {
  pieces.clear();
  std::size_t size_B = 0, count = 0;
  for (; count < writes.size() && writes[count].visible_ps <= now_ps; ++count) {
    const PendingWrite& each = writes[count];
    auto* to = reinterpret_cast<std::uint8_t*>(each.address);
    if (!pieces.empty() && static_cast<std::uint8_t*>(pieces.back().iov_base) + pieces.back().iov_len == to) {
      pieces.back().iov_len += each.size_B;
    } else if (pieces.size() < kMostPieces) {
      pieces.push_back({to, each.size_B});
    } else {
      break;
    }
    size_B += each.size_B;
  }
  iovec local{written_.data() + settled_B_, size_B};
  if (process_vm_writev(pid, &local, 1, pieces.data(), pieces.size(), 0) != static_cast<ssize_t>(size_B)) {
    // One of them has lost its memory: the others have not.
    std::size_t at_B = settled_B_;
    for (std::size_t i = 0; i < count; at_B += writes[i++].size_B)
      write(writes[i].address, std::span(written_).subspan(at_B, writes[i].size_B));
  }
  writes.erase(writes.begin(), writes.begin() + static_cast<std::ptrdiff_t>(count));
  return size_B;
}

}  // namespace weft::live
