// Calls that return paths, and those of the C library that walk a tree by themselves: what they say of the folder is
// said of the node.
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/files/paths.h"
#include "preload/real.h"

namespace weft::preload {

namespace {

char* program_path(char* path) {
  if (path == nullptr) return nullptr;
  if (const std::size_t size = to_program_path(path, strlen(path))) path[size] = '\0';
  return path;
}

// A link's target may be cut: it has to be read whole to see where it leads.
template <typename Read>
ssize_t read_link(Read read, char* out, std::size_t room_B) {
  char target[PATH_MAX];
  const ssize_t size = read(target, sizeof target);
  if (size < 0) return size;
  const std::size_t shown = to_program_path(target, static_cast<std::size_t>(size));
  const std::size_t wanted = shown != 0 ? shown : static_cast<std::size_t>(size);
  const std::size_t copied = wanted < room_B ? wanted : room_B;
  memcpy(out, target, copied);
  return static_cast<ssize_t>(copied);
}

// nftw has no argument for its function. A walk inside a walk restores it.
template <typename Visit>
struct Walk {
  static inline thread_local Visit visit = nullptr;

  template <typename Stat>
  static int step(const char* path, const Stat* info, int flag, FTW* where) {
    char shown[PATH_MAX];
    const std::size_t size = strlen(path);
    if (size >= sizeof shown) return visit(path, info, flag, where);
    memcpy(shown, path, size + 1);
    FTW moved = *where;
    if (const std::size_t rest = to_program_path(shown, size)) {
      shown[rest] = '\0';
      moved.base -= static_cast<int>(size - rest);
    }
    return visit(shown, info, flag, &moved);
  }
};

template <typename Visit, typename Real>
int walk(Real real, const char* path, Visit visit, int descriptors, int flags, Visit step) {
  const Visit outer = Walk<Visit>::visit;
  Walk<Visit>::visit = visit;
  const int done = real(Path(path), step, descriptors, flags);
  Walk<Visit>::visit = outer;
  return done;
}

}  // namespace

WEFT_EXPORT ssize_t readlink(const char* __restrict path, char* __restrict out, size_t room_B) noexcept {
  const Path leads(path);
  return read_link([&](char* to, std::size_t size) { return WEFT_REAL(readlink)(leads, to, size); }, out, room_B);
}
WEFT_EXPORT ssize_t readlinkat(int folder_fd, const char* __restrict path, char* __restrict out,
                               size_t room_B) noexcept {
  const Path leads(folder_fd, path);
  return read_link([&](char* to, std::size_t size) { return WEFT_REAL(readlinkat)(folder_fd, leads, to, size); }, out,
                   room_B);
}
WEFT_EXPORT ssize_t __readlink_chk(const char* path, char* out, size_t room_B, size_t object_B) {
  if (room_B > object_B) die("%s: more bytes requested than fit", "readlink");
  return readlink(path, out, room_B);
}
WEFT_EXPORT ssize_t __readlinkat_chk(int folder_fd, const char* path, char* out, size_t room_B, size_t object_B) {
  if (room_B > object_B) die("%s: more bytes requested than fit", "readlinkat");
  return readlinkat(folder_fd, path, out, room_B);
}

WEFT_EXPORT char* realpath(const char* __restrict path, char* __restrict out) noexcept {
  return program_path(WEFT_REAL(realpath)(Path(path), out));
}
WEFT_EXPORT char* __realpath_chk(const char* path, char* out, size_t object_B) {
  if (object_B < PATH_MAX) die("%s: too small for a path", "realpath");
  return realpath(path, out);
}
WEFT_EXPORT char* canonicalize_file_name(const char* path) noexcept {
  return realpath(path, nullptr);
}

WEFT_EXPORT char* getcwd(char* out, size_t room_B) noexcept {
  char* whole = program_path(WEFT_REAL(getcwd)(nullptr, 0));
  if (whole == nullptr) return nullptr;
  if (out == nullptr) {
    if (room_B == 0 || strlen(whole) < room_B) return whole;
  } else if (strlen(whole) < room_B) {
    strcpy(out, whole);
    free(whole);
    return out;
  }
  free(whole);
  errno = room_B == 0 ? EINVAL : ERANGE;
  return nullptr;
}
WEFT_EXPORT char* __getcwd_chk(char* out, size_t room_B, size_t object_B) {
  if (room_B > object_B) die("%s: more bytes requested than fit", "getcwd");
  return getcwd(out, room_B);
}
WEFT_EXPORT char* get_current_dir_name() noexcept {
  return program_path(WEFT_REAL(get_current_dir_name)());
}

#define WEFT_SCANDIR(NAME, DIRENT)                                                                           \
  WEFT_EXPORT int NAME(const char* __restrict path, DIRENT*** __restrict list, int (*filter)(const DIRENT*), \
                       int (*compare)(const DIRENT**, const DIRENT**)) {                                     \
    return WEFT_REAL(NAME)(Path(path), list, filter, compare);                                               \
  }
WEFT_SCANDIR(scandir, dirent)
WEFT_SCANDIR(scandir64, dirent64)

WEFT_EXPORT int nftw(const char* path, __nftw_func_t visit, int descriptors, int flags) {
  return walk<__nftw_func_t>(WEFT_REAL(nftw), path, visit, descriptors, flags, Walk<__nftw_func_t>::step);
}
WEFT_EXPORT int nftw64(const char* path, __nftw64_func_t visit, int descriptors, int flags) {
  return walk<__nftw64_func_t>(WEFT_REAL(nftw64), path, visit, descriptors, flags, Walk<__nftw64_func_t>::step);
}

// glob can be given functions to open and examine with; ours know the node.
#define WEFT_GLOB(NAME, TYPE, DIRENT, STAT, READDIR, STAT_CALL, LSTAT_CALL)                                       \
  WEFT_EXPORT int NAME(const char* __restrict pattern, int flags, int (*on_error)(const char*, int),              \
                       TYPE* __restrict out) noexcept {                                                           \
    if ((flags & GLOB_ALTDIRFUNC) != 0) return WEFT_REAL(NAME)(pattern, flags, on_error, out);                    \
    out->gl_closedir = [](void* folder) { closedir(static_cast<DIR*>(folder)); };                                 \
    out->gl_readdir = [](void* folder) -> DIRENT* { return READDIR(static_cast<DIR*>(folder)); };                 \
    out->gl_opendir = [](const char* path) -> void* { return opendir(path); };                                    \
    out->gl_lstat = [](const char* __restrict path, STAT* __restrict to) -> int { return LSTAT_CALL(path, to); }; \
    out->gl_stat = [](const char* __restrict path, STAT* __restrict to) -> int { return STAT_CALL(path, to); };   \
    return WEFT_REAL(NAME)(pattern, flags | GLOB_ALTDIRFUNC, on_error, out);                                      \
  }
WEFT_GLOB(glob, glob_t, struct dirent, struct stat, readdir, stat, lstat)
WEFT_GLOB(glob64, glob64_t, struct dirent64, struct stat64, readdir64, stat64, lstat64)

}  // namespace weft::preload
