// Files that users name: read without surprises, and written so that they are there whole or not at all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace weft {

// All of a file or pipe of at most `most_B`. The error is a reason such as "it is a directory" or "Permission denied".
// Devices are refused: /dev/zero has no end.
tl::expected<std::string, std::string> read_file(const std::string& path, std::size_t most_B);

// Something is written under temporary() and gets its own name with commit(). Without that, nothing of it stays. What
// is not a regular file (/dev/stdout, a pipe) is written where it is. A symbolic link keeps pointing where it did.
class ReplacedFile {
 public:
  ReplacedFile() = default;
  explicit ReplacedFile(const std::string& path);
  ~ReplacedFile() { discard(); }
  ReplacedFile(ReplacedFile&& other) noexcept { *this = std::move(other); }
  ReplacedFile& operator=(ReplacedFile&& other) noexcept;

  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }
  // The error gives the reason.
  tl::expected<void, std::string> commit();
  void discard();

 private:
  std::string path_;
  std::string temporary_;  // equal to path_ when there is nothing to rename
};

// Text that goes into a ReplacedFile piece by piece.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(std::string_view text);
  // The file is there now, or the error names it and the reason.
  tl::expected<void, std::string> close();

 private:
  std::string name_;  // as given
  ReplacedFile file_;
  std::FILE* stream_ = nullptr;
  int errno_ = 0;  // of what went wrong first
};

// The whole text; the error names the file and the reason.
tl::expected<void, std::string> write_file(const std::string& path, std::string_view text);

}  // namespace weft
