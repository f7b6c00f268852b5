// Where a path of the program leads: what the node shows under /sys, /dev/infiniband, /proc and /etc is in a folder
// that the world has filled; everything else is the machine's.
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>

#include "verbs/protocol.h"

namespace weft::preload {

// WEFT_SYSFS: the folder with sys, dev, proc and etc of the node; null: paths stay as they are.
using verbs::kSysfsVariable;
void find_folder(const char* named);

class Path {
 public:
  explicit Path(const char* path) : Path(AT_FDCWD, path) {}
  // Relative to an open folder, as openat has it.
  Path(int folder_fd, const char* path);
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  operator const char*() const { return path_; }
  // It leads into the folder: `program_path` is what the program calls it.
  bool is_of_node() const { return of_node_; }
  const char* program_path() const { return room_ + skip_; }

 private:
  [[gnu::noinline]] void take(const char* absolute, bool composed);
  [[gnu::noinline]] void take_relative(int folder_fd, const char* path);

  const char* path_;
  bool of_node_ = false;
  std::size_t skip_ = 0;
  char room_[PATH_MAX];
};

// A path that the kernel or the C library returned, as the program has to see it: its size, or 0 when nothing changed.
std::size_t to_program_path(char* path, std::size_t size);
// The working directory may have changed.
void working_directory_changed();
// Before a file of the node is read whose content changes: the world writes what it is now.
void refresh(const Path& path);

}  // namespace weft::preload
