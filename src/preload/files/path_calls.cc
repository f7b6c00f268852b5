// The calls that open, examine and enter what a path names. Files of the node belong to root there and cannot be
// written, as those of sysfs.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload/files/paths.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/refusals.h"
#include "preload/sockets/streams.h"

namespace weft::preload {

namespace {

constexpr char kVerbsDevice[] = "/dev/infiniband/uverbs";
constexpr unsigned kVerbsMajor = 231, kFirstVerbsMinor = 192;  // Documentation/admin-guide/devices.txt of Linux
constexpr long kAttribute_B = 4096;                            // what sysfs says of every attribute's size

bool begins_with(const Path& path, const char* with) {
  return path.is_of_node() && strncmp(path.program_path(), with, strlen(with)) == 0;
}

// A world in virtual time came up at the start of 2026 (docs/live.md).
constexpr time_t kEpoch_s = 1'767'225'600;

// As the kernel of the node would say it. uverbsN is a plain file in the folder; programs look for a character device.
template <typename Stat>
int present(const Path& path, int done, Stat* out) {
  if (done != 0 || !path.is_of_node()) return done;
  out->st_uid = out->st_gid = 0;
  if (begins_with(path, kVerbsDevice)) {
    const auto number = static_cast<unsigned>(atoi(path.program_path() + sizeof kVerbsDevice - 1));
    out->st_mode = S_IFCHR | 0666;
    out->st_rdev = makedev(kVerbsMajor, kFirstVerbsMinor + number);
  } else if (S_ISREG(out->st_mode) && begins_with(path, "/sys/")) {
    out->st_mode &= ~static_cast<mode_t>(0222);
    if (out->st_size < kAttribute_B) out->st_size = kAttribute_B;
  }
  if (!this_process().wall_clock) {
    out->st_atim = out->st_mtim = out->st_ctim = {kEpoch_s, 0};
  }
  return done;
}

int present_extended(const Path& path, int done, struct statx* out) {
  if (done != 0 || !path.is_of_node()) return done;
  struct stat plain {};
  plain.st_mode = out->stx_mode;
  plain.st_size = static_cast<off_t>(out->stx_size);
  present(path, 0, &plain);
  out->stx_uid = out->stx_gid = 0;
  out->stx_mode = static_cast<std::uint16_t>(plain.st_mode);
  out->stx_size = static_cast<std::uint64_t>(plain.st_size);
  out->stx_rdev_major = major(plain.st_rdev);
  out->stx_rdev_minor = minor(plain.st_rdev);
  if (!this_process().wall_clock) {
    for (statx_timestamp* time : {&out->stx_atime, &out->stx_mtime, &out->stx_ctime, &out->stx_btime})
      *time = {kEpoch_s, 0, {}};
  }
  return done;
}

bool takes_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

mode_t mode_of(int flags, va_list rest) {
  return takes_mode(flags) ? va_arg(rest, mode_t) : 0;
}

// A path that is about to be opened.
class OpenedPath : public Path {
 public:
  OpenedPath(int folder_fd, const char* path, bool writes) : Path(folder_fd, path) {
    refused_ = writes && is_of_node() && !begins_with(*this, "/dev/");
    if (refused_) say_refusal_of(*this);
    if (!refused_) refresh(*this);
  }
  bool is_refused() const { return refused_; }

 private:
  bool refused_;
};

bool writes(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_TRUNC | O_CREAT)) != 0;
}
bool writes(const char* mode) {
  return strpbrk(mode, "wa+") != nullptr;
}

}  // namespace

#define WEFT_OPEN(NAME)                                     \
  WEFT_EXPORT int NAME(const char* path, int flags, ...) {  \
    va_list rest;                                           \
    va_start(rest, flags);                                  \
    const mode_t mode = mode_of(flags, rest);               \
    va_end(rest);                                           \
    const OpenedPath opened(AT_FDCWD, path, writes(flags)); \
    if (opened.is_refused()) return fail(EACCES);           \
    return WEFT_REAL(NAME)(opened, flags, mode);            \
  }
#define WEFT_OPENAT(NAME)                                                 \
  WEFT_EXPORT int NAME(int folder_fd, const char* path, int flags, ...) { \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    const mode_t mode = mode_of(flags, rest);                             \
    va_end(rest);                                                         \
    const OpenedPath opened(folder_fd, path, writes(flags));              \
    if (opened.is_refused()) return fail(EACCES);                         \
    return WEFT_REAL(NAME)(folder_fd, opened, flags, mode);               \
  }
WEFT_OPEN(open)
WEFT_OPEN(open64)
WEFT_OPENAT(openat)
WEFT_OPENAT(openat64)

// Compilers make this of open without a mode (_FORTIFY_SOURCE).
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

#define WEFT_FOPEN(NAME)                                                             \
  WEFT_EXPORT FILE* NAME(const char* __restrict path, const char* __restrict mode) { \
    const OpenedPath opened(AT_FDCWD, path, writes(mode));                           \
    if (opened.is_refused()) {                                                       \
      errno = EACCES;                                                                \
      return nullptr;                                                                \
    }                                                                                \
    return WEFT_REAL(NAME)(opened, mode);                                            \
  }
WEFT_FOPEN(fopen)
WEFT_FOPEN(fopen64)

WEFT_EXPORT DIR* opendir(const char* path) {
  return WEFT_REAL(opendir)(Path(path));
}

WEFT_EXPORT int chdir(const char* path) noexcept {
  working_directory_changed();
  const int done = WEFT_REAL(chdir)(Path(path));
  working_directory_changed();
  return done;
}
WEFT_EXPORT int fchdir(int fd) noexcept {
  const int done = WEFT_REAL(fchdir)(fd);
  working_directory_changed();
  return done;
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
  return WEFT_REAL(faccessat)(folder_fd, Path(folder_fd, path), mode, flags);
}

WEFT_EXPORT int statx(int folder_fd, const char* __restrict path, int flags, unsigned mask,
                      struct statx* __restrict out) noexcept {
  const Path leads(folder_fd, path);
  return present_extended(leads, WEFT_REAL(statx)(folder_fd, leads, flags, mask, out), out);
}

#define WEFT_STAT(NAME, TYPE)                                                               \
  WEFT_EXPORT int NAME(const char* __restrict path, struct TYPE* __restrict out) noexcept { \
    const Path leads(path);                                                                 \
    return present(leads, WEFT_REAL(NAME)(leads, out), out);                                \
  }
#define WEFT_STATAT(NAME, TYPE)                                                                                       \
  WEFT_EXPORT int NAME(int folder_fd, const char* __restrict path, struct TYPE* __restrict out, int flags) noexcept { \
    const Path leads(folder_fd, path);                                                                                \
    return present(leads, WEFT_REAL(NAME)(folder_fd, leads, out, flags), out);                                        \
  }
WEFT_STAT(stat, stat)
WEFT_STAT(lstat, stat)
WEFT_STATAT(fstatat, stat)
WEFT_STAT(stat64, stat64)
WEFT_STAT(lstat64, stat64)
WEFT_STATAT(fstatat64, stat64)

}  // namespace weft::preload
