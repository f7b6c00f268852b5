// Files of /sys, which programs read through this library. The files of a device are answered by the preloaded library,
// which sees every open().
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "verbs/ibverbs/objects.h"

WEFT_VERB const char* ibv_get_sysfs_path() {
  const char* elsewhere = std::getenv("SYSFS_PATH");
  return elsewhere != nullptr ? elsewhere : "/sys";
}

// One line without its end. Returns its length, or -1.
WEFT_VERB int ibv_read_sysfs_file(const char* directory, const char* file, char* text, std::size_t room_B) {
  char path[IBV_SYSFS_PATH_MAX * 2];
  const int path_B = std::snprintf(path, sizeof path, "%s/%s", directory, file);
  if (path_B < 0 || static_cast<std::size_t>(path_B) >= sizeof path || room_B == 0) {
    errno = EINVAL;
    return -1;
  }
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t size_B = read(fd, text, room_B);
  close(fd);
  if (size_B <= 0) return -1;
  if (text[size_B - 1] == '\n') {
    text[--size_B] = 0;
  } else if (static_cast<std::size_t>(size_B) < room_B) {
    text[size_B] = 0;
  } else {
    errno = EOVERFLOW;
    return -1;
  }
  return static_cast<int>(size_B);
}
