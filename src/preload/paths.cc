// Files of RDMA devices under /sys and /dev, answered from a folder that `weft exec` has filled and named in
// WEFT_SYSFS. Paths are rewritten; before a counter is read, the world writes what it is now.
#include "preload/paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload/process.h"
#include "preload/real.h"
#include "verbs/world_call.h"

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

// Of a file that is about to be opened, by its path in the folder: a shell may have gone there before.
void refresh_counter(const char* path) {
  if (folder[0] == '\0' || path == nullptr || !this_process().attached || !is_own_process()) return;
  char whole[PATH_MAX];
  if (path[0] != '/') {
    if (syscall(SYS_getcwd, whole, sizeof whole) <= 0 || strlen(whole) + 1 + strlen(path) >= sizeof whole) return;
    strcat(strcat(whole, "/"), path);
    path = whole;
  }
  if (strncmp(path, folder, strlen(folder)) != 0 || strstr(path + strlen(folder), "/hw_counters/") == nullptr) return;
  std::size_t reply_B = 0;
  verbs::weft_call(static_cast<std::uint32_t>(verbs::Op::kRefreshCounters), nullptr, 0, nullptr, &reply_B, nullptr);
}

class OpenedPath : public Path {
 public:
  explicit OpenedPath(const char* path) : Path(path) { refresh_counter(*this); }
};

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
    return WEFT_REAL(NAME)(OpenedPath(path), flags, mode); \
  }
#define WEFT_OPENAT(NAME)                                                 \
  WEFT_EXPORT int NAME(int folder_fd, const char* path, int flags, ...) { \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    const mode_t mode = mode_of(flags, rest);                             \
    va_end(rest);                                                         \
    return WEFT_REAL(NAME)(folder_fd, OpenedPath(path), flags, mode);     \
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
  return WEFT_REAL(fopen)(OpenedPath(path), mode);
}
WEFT_EXPORT FILE* fopen64(const char* __restrict path, const char* __restrict mode) {
  return WEFT_REAL(fopen64)(OpenedPath(path), mode);
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
  if (room_B > object_B) die("%s: more bytes requested than fit", "readlink");
  return readlink(path, out, room_B);
}
WEFT_EXPORT char* realpath(const char* __restrict path, char* __restrict out) noexcept {
  return WEFT_REAL(realpath)(Path(path), out);
}
WEFT_EXPORT char* __realpath_chk(const char* path, char* out, size_t object_B) {
  if (object_B < PATH_MAX) die("%s: too small for a path", "realpath");
  return realpath(path, out);
}

WEFT_EXPORT int chdir(const char* path) noexcept {
  return WEFT_REAL(chdir)(Path(path));
}

WEFT_EXPORT int statx(int folder_fd, const char* __restrict path, int flags, unsigned mask,
                      struct statx* __restrict out) noexcept {
  return WEFT_REAL(statx)(folder_fd, Path(path), flags, mask, out);
}
WEFT_EXPORT ssize_t getxattr(const char* path, const char* name, void* out, size_t room_B) noexcept {
  return WEFT_REAL(getxattr)(Path(path), name, out, room_B);
}
WEFT_EXPORT ssize_t lgetxattr(const char* path, const char* name, void* out, size_t room_B) noexcept {
  return WEFT_REAL(lgetxattr)(Path(path), name, out, room_B);
}
WEFT_EXPORT ssize_t listxattr(const char* path, char* out, size_t room_B) noexcept {
  return WEFT_REAL(listxattr)(Path(path), out, room_B);
}
WEFT_EXPORT ssize_t llistxattr(const char* path, char* out, size_t room_B) noexcept {
  return WEFT_REAL(llistxattr)(Path(path), out, room_B);
}

WEFT_EXPORT int eaccess(const char* path, int mode) noexcept {
  return WEFT_REAL(eaccess)(Path(path), mode);
}
WEFT_EXPORT int euidaccess(const char* path, int mode) noexcept {
  return WEFT_REAL(euidaccess)(Path(path), mode);
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
