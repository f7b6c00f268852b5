// Where a path of the program really leads.
#pragma once

#include <limits.h>

#include "verbs/protocol.h"

namespace weft::preload {

// WEFT_SYSFS: the folder with class/infiniband and dev/infiniband; null: paths stay as they are.
using verbs::kSysfsVariable;
void find_folder(const char* named);

class Path {
 public:
  explicit Path(const char* path);
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  operator const char*() const { return path_; }

 private:
  const char* path_;
  char room_[PATH_MAX];
};

}  // namespace weft::preload
