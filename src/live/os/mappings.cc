#include "live/os/mappings.h"

#include <sys/uio.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace weft::live {

namespace {

bool is_readable(int pid, std::uint64_t address) {
  std::uint8_t byte = 0;
  iovec local{&byte, 1};
  iovec remote{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1;
}

}  // namespace

bool can_pin(int pid, std::uint64_t address, std::uint64_t length_B, bool writes) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/maps", pid);
  std::FILE* maps = std::fopen(path, "re");
  if (maps == nullptr) return false;
  const std::uint64_t end = address + length_B;
  std::uint64_t next = address;  // the first byte that no mapping has covered so far
  char line[256];
  bool at_start = true, good = true;
  while (good && next < end && std::fgets(line, sizeof(line), maps) != nullptr) {
    // A long path comes in several pieces, of which the first counts.
    const bool is_first = at_start;
    at_start = std::find(line, line + sizeof(line), '\0')[-1] == '\n';
    std::uint64_t from = 0, to = 0, inode = 0;
    char rights[5] = {};
    if (!is_first ||
        std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &from, &to, rights, &inode) != 4 ||
        to <= next)
      continue;
    good = from <= next && rights[writes ? 1 : 0] != '-';
    next = to;
    // Pages behind the end of a file have nothing behind them; they are the last of its mapping.
    if (good && inode != 0) good = is_readable(pid, std::min(to, end) - 1);
  }
  std::fclose(maps);
  return good && next >= end;
}

}  // namespace weft::live
