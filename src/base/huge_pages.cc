#include "base/huge_pages.h"

#include <cstdint>
#include <cstdlib>  // says whether this is glibc

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace weft {

void use_huge_pages() {
#if defined(__linux__) && defined(__GLIBC__)
  // The heap grows in steps of this size, and every new step is advised once.
  constexpr std::uintptr_t kStep_B = std::uintptr_t{512} << 20;  // of addresses, not of memory
  constexpr std::uintptr_t kHugePage_B = std::uintptr_t{2} << 20;
  static std::uintptr_t advised = 0;
  mallopt(M_TOP_PAD, static_cast<int>(kStep_B));
  mallopt(M_MMAP_THRESHOLD, 32 << 20);           // the highest that glibc takes
  void* const block = std::malloc(kHugePage_B);  // makes the heap grow now
  auto first = (reinterpret_cast<std::uintptr_t>(block) + kHugePage_B - 1) & ~(kHugePage_B - 1);
  std::free(block);
  auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) & ~(kHugePage_B - 1);
  if (first < advised) first = advised;
  if (end <= first) return;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  advised = end;
#endif
}

}  // namespace weft
