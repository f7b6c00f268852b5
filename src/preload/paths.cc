// Files of RDMA devices under /sys and /dev, answered from a folder that `weft exec` has filled and named in
// WEFT_SYSFS. Paths are rewritten, nothing else.
#include "preload/paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload/real.h"

namespace weft::preload {

namespace {

char folder[PATH_MAX];

struct Prefix {
  const char *from, *to;
};
// /sys/class/infiniband_verbs and its sisters begin with the first.
constexpr Prefix kPrefixes[] = {{"/sys/class/infiniband", "/class/infiniband"}, {"/dev/infiniband", "/dev/infiniband"}};

constexpr char kVerbsDevice[] = "/dev/infiniband/uverbs";
constexpr unsigned kVerbsMajor = 231, kFirstVerbsMinor = 192;  // Documentation/admin-guide/devices.txt of Linux

// uverbsN is a plain file in the folder; programs look for a character device.
template <typename Stat>
int pretend_device(const char* path, int done, Stat* out) {
  if (done == 0 && folder[0] != '\0' && strncmp(path, kVerbsDevice, sizeof kVerbsDevice - 1) == 0) {
    const auto number = static_cast<unsigned>(atoi(path + sizeof kVerbsDevice - 1));
    out->st_mode = S_IFCHR | 0666;
    out->st_rdev = makedev(kVerbsMajor, kFirstVerbsMinor + number);
  }
  return done;
}

bool takes_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

mode_t mode_of(int flags, va_list rest) {
  return takes_mode(flags) ? va_arg(rest, mode_t) : 0;
}

}  // namespace

void find_folder(const char* named) {
  if (named != nullptr && strlen(named) < sizeof folder) strcpy(folder, named);
}

Path::Path(const char* path) : path_(path) {
  if (folder[0] == '\0' || path == nullptr || path[0] != '/') return;
  for (const Prefix& prefix : kPrefixes) {
    const std::size_t size = strlen(prefix.from);
    if (strncmp(path, prefix.from, size) != 0) continue;
    if (strlen(folder) + strlen(prefix.to) + strlen(path + size) >= sizeof room_) return;
    stpcpy(stpcpy(stpcpy(room_, folder), prefix.to), path + size);
    path_ = room_;
    return;
  }
}

#define WEFT_OPEN(NAME)                                    \
  WEFT_EXPORT int NAME(const char* path, int flags, ...) { \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    const mode_t mode = mode_of(flags, rest);              \
    va_end(rest);                                          \
    return WEFT_REAL(NAME)(Path(path), flags, mode);       \
  }
#define WEFT_OPENAT(NAME)                                                 \
  WEFT_EXPORT int NAME(int folder_fd, const char* path, int flags, ...) { \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    const mode_t mode = mode_of(flags, rest);                             \
    va_end(rest);                                                         \
    return WEFT_REAL(NAME)(folder_fd, Path(path), flags, mode);           \
  }
WEFT_OPEN(open)
WEFT_OPEN(open64)
WEFT_OPENAT(openat)
WEFT_OPENAT(openat64)

// What a compiler makes of open without a mode (_FORTIFY_SOURCE).
WEFT_EXPORT int __open_2(const char* path, int flags) {
  return open(path, flags);
}
WEFT_EXPORT int __open64_2(const char* path, int flags) {
  return open64(path, flags);
}
WEFT_EXPORT int __openat_2(int folder_fd, const char* path, int flags) {
  return openat(folder_fd, path, flags);
}
WEFT_EXPORT int __openat64_2(int folder_fd, const char* path, int flags) {
  return openat64(folder_fd, path, flags);
}

WEFT_EXPORT FILE* fopen(const char* __restrict path, const char* __restrict mode) {
  return WEFT_REAL(fopen)(Path(path), mode);
}
WEFT_EXPORT FILE* fopen64(const char* __restrict path, const char* __restrict mode) {
  return WEFT_REAL(fopen64)(Path(path), mode);
}
WEFT_EXPORT DIR* opendir(const char* path) {
  return WEFT_REAL(opendir)(Path(path));
}

WEFT_EXPORT int scandir(const char* __restrict path, dirent*** __restrict list, int (*filter)(const dirent*),
                        int (*compare)(const dirent**, const dirent**)) {
  return WEFT_REAL(scandir)(Path(path), list, filter, compare);
}

WEFT_EXPORT ssize_t readlink(const char* __restrict path, char* __restrict out, size_t room_B) noexcept {
  return WEFT_REAL(readlink)(Path(path), out, room_B);
}
WEFT_EXPORT ssize_t __readlink_chk(const char* path, char* out, size_t room_B, size_t object_B) {
  if (room_B > object_B) die("%s: more bytes asked for than there is room", "readlink");
  return readlink(path, out, room_B);
}
WEFT_EXPORT char* realpath(const char* __restrict path, char* __restrict out) noexcept {
  return WEFT_REAL(realpath)(Path(path), out);
}
WEFT_EXPORT char* __realpath_chk(const char* path, char* out, size_t object_B) {
  if (object_B < PATH_MAX) die("%s: less room than a path may need", "realpath");
  return realpath(path, out);
}

WEFT_EXPORT int access(const char* path, int mode) noexcept {
  return WEFT_REAL(access)(Path(path), mode);
}
WEFT_EXPORT int faccessat(int folder_fd, const char* path, int mode, int flags) noexcept {
  return WEFT_REAL(faccessat)(folder_fd, Path(path), mode, flags);
}

WEFT_EXPORT int stat(const char* __restrict path, struct stat* __restrict out) noexcept {
  return pretend_device(path, WEFT_REAL(stat)(Path(path), out), out);
}
WEFT_EXPORT int lstat(const char* __restrict path, struct stat* __restrict out) noexcept {
  return pretend_device(path, WEFT_REAL(lstat)(Path(path), out), out);
}
WEFT_EXPORT int fstatat(int folder_fd, const char* __restrict path, struct stat* __restrict out, int flags) noexcept {
  return pretend_device(path, WEFT_REAL(fstatat)(folder_fd, Path(path), out, flags), out);
}
WEFT_EXPORT int stat64(const char* __restrict path, struct stat64* __restrict out) noexcept {
  return pretend_device(path, WEFT_REAL(stat64)(Path(path), out), out);
}
WEFT_EXPORT int lstat64(const char* __restrict path, struct stat64* __restrict out) noexcept {
  return pretend_device(path, WEFT_REAL(lstat64)(Path(path), out), out);
}
WEFT_EXPORT int fstatat64(int folder_fd, const char* __restrict path, struct stat64* __restrict out,
                          int flags) noexcept {
  return pretend_device(path, WEFT_REAL(fstatat64)(folder_fd, Path(path), out, flags), out);
}

}  // namespace weft::preload
