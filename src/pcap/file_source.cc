#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "pcap/byte_source.h"

namespace weft::pcap {
namespace {

// read(2) into a buffer that stays in the cache is as fast as a mapping, works for pipes, and a file that is cut while
// it is read gives its end instead of SIGBUS.
class FileSource final : public ByteSource {
 public:
  FileSource(int fd, bool owns_fd, std::optional<std::uint64_t> file_B) : fd_(fd), owns_fd_(owns_fd), file_B_(file_B) {}
  ~FileSource() override {
    if (owns_fd_) ::close(fd_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  tl::expected<std::size_t, const char*> read(std::span<std::uint8_t> into) override {
    for (;;) {
      const ssize_t got_B = ::read(fd_, into.data(), into.size());
      if (got_B >= 0) {
        consumed_B_ += static_cast<std::uint64_t>(got_B);
        return static_cast<std::size_t>(got_B);
      }
      if (errno != EINTR) return tl::unexpected<const char*>(std::strerror(errno));
    }
  }

  std::uint64_t consumed_B() const override { return consumed_B_; }
  std::optional<std::uint64_t> file_B() const override { return file_B_; }

 private:
  int fd_;
  bool owns_fd_;
  std::optional<std::uint64_t> file_B_;
  std::uint64_t consumed_B_ = 0;
};

}  // namespace

tl::expected<std::unique_ptr<ByteSource>, std::string> open_file_source(const std::string& path,
                                                                        std::uint64_t offset_B) {
  const bool is_stdin = path == "-";
  const int fd = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(path + ": " + std::strerror(errno));
  std::optional<std::uint64_t> file_B;
  struct stat status = {};
  if (::fstat(fd, &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      if (!is_stdin) ::close(fd);
      return tl::unexpected(path + ": is a directory");
    }
    if (S_ISREG(status.st_mode)) file_B = static_cast<std::uint64_t>(status.st_size);
  }
  if (offset_B != 0 && ::lseek(fd, static_cast<off_t>(offset_B), SEEK_SET) < 0) {
    const std::string reason = path + ": " + std::strerror(errno);
    if (!is_stdin) ::close(fd);
    return tl::unexpected(reason);
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);  // pipes refuse it
  return std::make_unique<FileSource>(fd, !is_stdin, file_B);
}

}  // namespace weft::pcap
