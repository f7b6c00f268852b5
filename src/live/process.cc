#include "live/process.h"

#include <sys/uio.h>
#include <unistd.h>

namespace weft::live {

EventChannel::~EventChannel() {
  if (eventfd >= 0) close(eventfd);
}

void OwnedDescriptor::reset() {
  if (fd >= 0) close(fd);
  fd = -1;
}

bool Process::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  iovec local{out.data(), out.size()};
  iovec remote{reinterpret_cast<void*>(address), out.size()};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(out.size());
}

bool Process::write(std::uint64_t address, std::span<const std::uint8_t> in) const {
  iovec local{const_cast<std::uint8_t*>(in.data()), in.size()};
  iovec remote{reinterpret_cast<void*>(address), in.size()};
  return process_vm_writev(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(in.size());
}

void Process::settle_writes(Time_ps now_ps) {
  while (!writes.empty() && writes.front().visible_ps <= now_ps) {
    write(writes.front().address, writes.front().bytes);
    writes.pop_front();
  }
}

}  // namespace weft::live
