#include "preload/files/paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "preload/process/process.h"
#include "preload/real.h"
#include "verbs/world_call.h"

namespace weft::preload {

namespace {

char node_folder[PATH_MAX];
std::size_t node_folder_size;

enum class Match : unsigned char {
  kTree,       // this and everything below
  kBeginning,  // every name that begins so: /sys/class/infiniband_verbs
  kDevices,    // likewise, but what the folder does not have is the machine's: the links of its disks lead there
  kNames,      // those of kNetFiles below it
  kOnly,       // this alone: a list of what is below, where the machine's own things are too
};
// Files of /proc/net about interfaces, addresses, routes and sockets. The rest is the kernel's.
constexpr const char* kNetFiles[] = {
    "arp",   "dev",      "dev_mcast",  "dev_snmp6", "fib_trie",  "fib_triestat", "icmp",      "icmp6", "if_inet6",
    "igmp",  "igmp6",    "ipv6_route", "mcfilter",  "mcfilter6", "netstat",      "packet",    "raw",   "raw6",
    "route", "rt_cache", "rt6_stats",  "snmp",      "snmp6",     "sockstat",     "sockstat6", "tcp",   "tcp6",
    "udp",   "udp6",     "udplite",    "udplite6",  "unix",      "vlan",         "wireless"};
struct Owned {
  const char* path;
  Match match;
};
constexpr Owned kOwned[] = {
    {"/sys/class/infiniband", Match::kBeginning},
    {"/sys/class/net", Match::kTree},
    {"/sys/bus/pci", Match::kTree},
    {"/sys/devices/pci", Match::kDevices},
    {"/sys/devices/virtual/net", Match::kTree},
    {"/sys", Match::kOnly},
    {"/sys/class", Match::kOnly},
    {"/sys/bus", Match::kOnly},
    {"/sys/devices", Match::kOnly},
    {"/sys/devices/virtual", Match::kOnly},
    {"/dev/infiniband", Match::kTree},
    {"/proc/bus/pci", Match::kTree},
    {"/proc/cpuinfo", Match::kDevices},  // in virtual time, where it names a frequency
    {"/proc/net/", Match::kNames},
    {"/proc/sys/kernel/hostname", Match::kTree},
    {"/etc/hosts", Match::kTree},
    {"/etc/hostname", Match::kTree},
};
// Folders that one of those is in: relative paths from there are looked at.
constexpr const char* kParents[] = {"/",   "/dev", "/proc", "/proc/bus", "/proc/net", "/proc/sys", "/proc/sys/kernel",
                                    "/etc"};

// Copies an absolute path without empty and "." components; ".." takes one away. False: too long.
bool normalize(const char* from, char* to, std::size_t room) {
  std::size_t size = 0;
  while (*from != '\0') {
    while (*from == '/') ++from;
    const std::size_t part = strcspn(from, "/");
    if (part == 0) break;
    if (part == 2 && from[0] == '.' && from[1] == '.') {
      while (size > 0 && to[--size] != '/') {
      }
    } else if (part != 1 || from[0] != '.') {
      if (size + part + 2 > room) return false;
      to[size++] = '/';
      memcpy(to + size, from, part);
      size += part;
    }
    from += part;
  }
  if (size == 0) to[size++] = '/';
  to[size] = '\0';
  return true;
}

bool begins(const char* path, const char* with, bool whole_name) {
  const std::size_t size = strlen(with);
  return strncmp(path, with, size) == 0 && (!whole_name || path[size] == '\0' || path[size] == '/');
}

bool is_net_file(const char* name) {
  for (const char* each : kNetFiles) {
    if (begins(name, each, true)) return true;
  }
  return false;
}

// Every process has the network of its node: /proc/PID/net is /proc/net.
void name_own_net(char* path) {
  if (strncmp(path, "/proc/", 6) != 0) return;
  char* process = path + 6;
  const std::size_t size = strcspn(process, "/");
  const bool named = begins(process, "self", true) || begins(process, "thread-self", true) ||
                     (size > 0 && strspn(process, "0123456789") == size);
  if (named && begins(process + size, "/net", true)) memmove(process, process + size + 1, strlen(process + size));
}

const Owned* owner_of(const char* path) {
  for (const Owned& each : kOwned) {
    const bool found = each.match == Match::kOnly ? strcmp(path, each.path) == 0
                       : each.match == Match::kNames
                           ? begins(path, each.path, false) && is_net_file(path + strlen(each.path))
                           : begins(path, each.path, each.match == Match::kTree);
    if (found) return &each;
  }
  return nullptr;
}

bool is_in_folder(const char* path) {
  return strncmp(path, node_folder, node_folder_size) == 0 &&
         (path[node_folder_size] == '/' || path[node_folder_size] == '\0');
}

// Whether a relative path from there may be the node's.
bool is_near(const char* directory) {
  if (is_in_folder(directory)) return true;
  for (const char* each : kParents) {
    if (strcmp(directory, each) == 0) return true;
  }
  // Folder of a process: /proc/PID, which has its net.
  if (strncmp(directory, "/proc/", 6) == 0 && directory[6 + strspn(directory + 6, "0123456789")] == '\0') return true;
  // Folders that the program entered before they were ours, or by a link that the kernel followed.
  return owner_of(directory) != nullptr && owner_of(directory)->match != Match::kDevices;
}

// Test by first name: an absolute path that cannot be owned is left alone at once.
bool may_be_owned(const char* path) {
  if (is_in_folder(path)) return true;
  path += strspn(path, "/");
  for (const char* name : {"sys", "dev", "proc", "etc", ".", ".."}) {
    const std::size_t size = strlen(name);
    if (strncmp(path, name, size) == 0 && (path[size] == '/' || path[size] == '\0')) return true;
  }
  return strstr(path, "..") != nullptr;
}

enum class Directory : int { kUnknown, kFar, kNear };
std::atomic<Directory> working_directory{Directory::kUnknown};

bool directory_of(int folder_fd, char (&out)[PATH_MAX]) {
  if (folder_fd == AT_FDCWD) {
    if (working_directory.load(std::memory_order_relaxed) == Directory::kFar) return false;
    if (kernel_call(SYS_getcwd, out, sizeof out) <= 0) return false;
    name_own_net(out);
    const bool near = is_near(out);
    working_directory.store(near ? Directory::kNear : Directory::kFar, std::memory_order_relaxed);
    return near;
  }
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder_fd);
  const long size = kernel_call(SYS_readlinkat, AT_FDCWD, link, out, sizeof out - 1);
  if (size <= 0) return false;
  out[size] = '\0';
  name_own_net(out);
  return is_near(out);
}

constexpr const char* kChanging[] = {"/hw_counters/", "/counters/", "/statistics/",  "/proc/net/", "/state",
                                     "/phys_state",   "/rate",      "/operstate",    "/carrier",   "/carrier_changes",
                                     "/speed",        "/mtu",       "/traffic_class"};

}  // namespace

void find_folder(const char* named) {
  if (named == nullptr || strlen(named) >= sizeof node_folder) return;
  strcpy(node_folder, named);
  node_folder_size = strlen(node_folder);
}

// Most paths are the machine's: those that cannot be the node's cost little, and little stack.
Path::Path(int folder_fd, const char* path) : path_(path) {
  if (node_folder_size == 0 || path == nullptr || path[0] == '\0') return;
  const bool far = folder_fd == AT_FDCWD && working_directory.load(std::memory_order_relaxed) == Directory::kFar;
  if (path[0] == '/' ? !may_be_owned(path) : far) return;
  const int saved = errno;
  if (path[0] == '/') {
    take(path, false);
  } else {
    take_relative(folder_fd, path);
  }
  errno = saved;
}

void Path::take_relative(int folder_fd, const char* path) {
  char directory[PATH_MAX], whole[PATH_MAX];
  if (!directory_of(folder_fd, directory)) return;
  char* seen = is_in_folder(directory) ? directory + node_folder_size : directory;
  // A working directory has no links in it: its last name goes with each "..".
  while (path[0] == '.' && path[1] == '.' && (path[2] == '/' || path[2] == '\0')) {
    if (char* last = strrchr(seen, '/')) *last = '\0';
    path += path[2] == '/' ? 3 : 2;
    while (*path == '/') ++path;
  }
  if (strlen(seen) + strlen(path) + 2 > sizeof whole) return;
  strcat(strcat(strcpy(whole, seen), "/"), path);
  take(whole, true);
}

// `composed`: of a relative path, which the kernel would look for in the folder.
void Path::take(const char* absolute, bool composed) {
  char clean[PATH_MAX], head[PATH_MAX];
  const bool inside = is_in_folder(absolute);
  if (inside) absolute += node_folder_size;
  const std::size_t size = strlen(absolute);
  if (node_folder_size + size + 2 > sizeof room_) return;
  // A ".." behind a link goes where the link leads: only the kernel knows.
  const char* up = strstr(absolute, "/..");
  bool links = false;
  if (up != nullptr) {
    memcpy(clean, absolute, static_cast<std::size_t>(up - absolute));
    clean[up - absolute] = '\0';
    links = normalize(clean, head, sizeof head) && owner_of(head) != nullptr && owner_of(head)->match != Match::kOnly;
  }
  if (!normalize(absolute, clean, sizeof clean)) return;
  name_own_net(clean);
  const Owned* owner = owner_of(links ? head : clean);
  const bool slash = size > 0 && absolute[size - 1] == '/' && clean[1] != '\0';
  skip_ = node_folder_size;
  strcat(strcat(strcpy(room_, node_folder), links ? absolute : clean), slash && !links ? "/" : "");
  const bool absent =
      owner != nullptr && owner->match == Match::kDevices && kernel_call(SYS_faccessat, AT_FDCWD, room_, F_OK) != 0;
  if (owner != nullptr && !absent) {
    path_ = room_;
    of_node_ = true;
  } else if (composed || inside) {
    path_ = room_ + skip_;
  }
}

std::size_t to_program_path(char* path, std::size_t size) {
  if (node_folder_size == 0 || size < node_folder_size || strncmp(path, node_folder, node_folder_size) != 0) return 0;
  if (size > node_folder_size && path[node_folder_size] != '/') return 0;
  if (size == node_folder_size) {
    path[0] = '/';
    return 1;
  }
  memmove(path, path + node_folder_size, size - node_folder_size);
  return size - node_folder_size;
}

void working_directory_changed() {
  working_directory.store(Directory::kUnknown, std::memory_order_relaxed);
}

void refresh(const Path& path) {
  if (!path.is_of_node() || !this_process().attached || !is_own_process()) return;
  bool changes = false;
  const std::size_t size = strlen(path);
  for (const char* each : kChanging) {
    const std::size_t part = strlen(each);
    changes = changes || (each[part - 1] == '/' ? strstr(path.program_path(), each) != nullptr
                                                : size > part && strcmp(path + size - part, each) == 0);
  }
  if (!changes) return;
  std::size_t reply_B = 0;
  verbs::weft_call(static_cast<std::uint32_t>(verbs::Op::kRefreshCounters), nullptr, 0, nullptr, &reply_B, nullptr);
}

}  // namespace weft::preload
