#include "live/os/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::live {

SharedMemory SharedMemory::make(const char* name, std::size_t size_B) {
  SharedMemory memory;
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return memory;
  bool sized = ftruncate(fd, static_cast<off_t>(size_B)) == 0 &&
               fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  void* data = sized ? mmap(nullptr, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (data == MAP_FAILED) {
    close(fd);
    return memory;
  }
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_B_ = size_B;
  memory.fd_ = fd;
  return memory;
}

void SharedMemory::close_fd() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

SharedMemory::~SharedMemory() {
  close_fd();
  if (data_ != nullptr) munmap(data_, size_B_);
}

}  // namespace weft::live
