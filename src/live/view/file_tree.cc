#include "live/view/file_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace weft::live {

namespace fs = std::filesystem;

void FileTree::folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(root_ + "/" + path, error);
  good_ = good_ && !error;
}

void FileTree::make_parent(const std::string& path) {
  std::string parent = path.substr(0, path.rfind('/'));
  if (parent == last_parent_) return;
  folder(parent);
  last_parent_ = std::move(parent);
}

void FileTree::put(const std::string& path, std::string_view text) {
  put_bytes(path, std::string(text) + "\n");
}

// Never empty while it is written: a program may read it at any moment.
void FileTree::put_bytes(const std::string& path, const std::string& bytes) {
  auto [entry, is_new] = written_.try_emplace(path, bytes);
  if (!is_new && entry->second == bytes) return;
  entry->second = bytes;
  if (is_new) make_parent(path);
  const std::string whole = root_ + "/" + path;
  const int fd = open(whole.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  const auto size_B = static_cast<ssize_t>(bytes.size());
  good_ = good_ && fd >= 0 && pwrite(fd, bytes.data(), bytes.size(), 0) == size_B && ftruncate(fd, size_B) == 0;
  if (fd < 0) return;
  close(fd);
}

void FileTree::link(const std::string& path, const std::string& to) {
  make_parent(path);
  const fs::path target = fs::path(to).lexically_relative(fs::path(path).parent_path());
  std::error_code error;
  fs::create_symlink(target, root_ + "/" + path, error);
  good_ = good_ && !error;
}

}  // namespace weft::live
