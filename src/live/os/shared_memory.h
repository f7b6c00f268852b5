// Memory that the world makes and a program maps: a sealed memfd, so that the program can write into it but neither
// shrink nor grow it under the world's feet.
#pragma once

#include <cstddef>
#include <utility>

namespace weft::live {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_B_, other.size_B_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~SharedMemory();

  // Zeroed; without data when the system has none left.
  static SharedMemory make(const char* name, std::size_t size_B);

  std::byte* data() const { return data_; }
  std::size_t size_B() const { return size_B_; }
  int fd() const { return fd_; }  // to pass on
  // Once the program has it.
  void close_fd();
  // The caller closes it.
  int release_fd() { return std::exchange(fd_, -1); }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_B_ = 0;
  int fd_ = -1;
};

}  // namespace weft::live
