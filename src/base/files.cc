#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace weft {

namespace fs = std::filesystem;

tl::expected<std::string, std::string> read_file(const std::string& path, std::size_t most_B) {
  const auto problem = [](std::string what) { return tl::make_unexpected(std::move(what)); };
  // Without O_NONBLOCK the open of a named pipe waits for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return problem(std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  struct stat info {};
  if (fstat(fd, &info) != 0) return problem(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return problem("it is a directory");
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) return problem("it is a device, not a file");
  fcntl(fd, F_SETFL, 0);
  std::string text;
  for (;;) {
    constexpr std::size_t kPiece_B = 64 * 1024;
    const std::size_t had_B = text.size();
    text.resize(had_B + kPiece_B);
    const ssize_t got = read(fd, text.data() + had_B, kPiece_B);
    text.resize(had_B + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return problem(std::strerror(errno));
    if (text.size() > most_B) return problem(fmt::format("it is larger than {} MB", most_B / 1'000'000));
  }
}

ReplacedFile::ReplacedFile(const std::string& path) : path_(path) {
  std::error_code error;
  // Where a symbolic link points: renaming must not replace the link.
  if (fs::is_symlink(path, error)) {
    if (fs::path target = fs::weakly_canonical(path, error); !error) path_ = target.string();
  }
  const fs::file_status status = fs::status(path_, error);
  const bool plain = status.type() == fs::file_type::not_found || status.type() == fs::file_type::regular;
  temporary_ = plain ? path_ + ".part" : path_;
}

ReplacedFile& ReplacedFile::operator=(ReplacedFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::exchange(other.path_, {});
  temporary_ = std::exchange(other.temporary_, {});
  return *this;
}

tl::expected<void, std::string> ReplacedFile::commit() {
  const std::string temporary = std::exchange(temporary_, {});
  if (temporary.empty() || temporary == path_) return {};
  if (std::rename(temporary.c_str(), path_.c_str()) == 0) return {};
  const std::string reason = std::strerror(errno);
  unlink(temporary.c_str());
  return tl::make_unexpected(fmt::format("cannot write {}: {}", path_, reason));
}

void ReplacedFile::discard() {
  if (!temporary_.empty() && temporary_ != path_) unlink(temporary_.c_str());
  temporary_.clear();
}

OutputFile::OutputFile(const std::string& path) : name_(path), file_(path) {
  stream_ = std::fopen(file_.temporary().c_str(), "wbe");
  if (stream_ == nullptr) errno_ = errno;
}

OutputFile::~OutputFile() {
  if (stream_ != nullptr) std::fclose(stream_);
}

void OutputFile::write(std::string_view text) {
  if (errno_ == 0 && std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) errno_ = errno;
}

tl::expected<void, std::string> OutputFile::close() {
  if (stream_ != nullptr && std::fclose(std::exchange(stream_, nullptr)) != 0 && errno_ == 0) errno_ = errno;
  if (errno_ == 0) return file_.commit();
  return tl::make_unexpected(fmt::format("cannot write {}: {}", name_, std::strerror(errno_)));
}

tl::expected<void, std::string> write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  return file.close();
}

}  // namespace weft
