#include "base/huge_pages.h"

#include <cstdint>
#include <cstdlib>  // says whether this is glibc

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace weft {

#if defined(__linux__) && defined(__GLIBC__)
namespace {
std::uintptr_t g_advised_from = 0, g_advised_to = 0;
}  // namespace
#endif

void use_huge_pages() {
#if defined(__linux__) && defined(__GLIBC__)
  // The heap grows in steps of this size, and every new step is advised once.
  constexpr std::uintptr_t kStep_B = std::uintptr_t{512} << 20;  // of addresses, not of memory
  constexpr std::uintptr_t kHugePage_B = std::uintptr_t{2} << 20;
  mallopt(M_TOP_PAD, static_cast<int>(kStep_B));
  mallopt(M_MMAP_THRESHOLD, 32 << 20);           // the highest that glibc takes
  void* const block = std::malloc(kHugePage_B);  // makes the heap grow now
  auto first = (reinterpret_cast<std::uintptr_t>(block) + kHugePage_B - 1) & ~(kHugePage_B - 1);
  std::free(block);
  auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) & ~(kHugePage_B - 1);
  if (first < g_advised_to) first = g_advised_to;
  if (end <= first) return;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  if (g_advised_from == 0) g_advised_from = first;
  g_advised_to = end;
#endif
}

void use_small_pages() {
#if defined(__linux__) && defined(__GLIBC__)
  mallopt(M_TOP_PAD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  // Fixed: otherwise glibc raises it to the largest block that was ever freed, and large answers fragment the heap.
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  if (g_advised_to > g_advised_from)
    madvise(reinterpret_cast<void*>(g_advised_from), g_advised_to - g_advised_from, MADV_NOHUGEPAGE);
  malloc_trim(0);
#endif
}

}  // namespace weft
