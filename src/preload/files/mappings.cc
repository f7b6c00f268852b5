// Unmapping memory that is registered. On a real host its pages are pinned: the NIC goes on with them, whatever becomes
// of the addresses. So the world takes a copy before they go. What the C library unmaps for itself (a large block that
// is freed) does not come by here.
#include <errno.h>
#include <sys/mman.h>

#include <cstdarg>

#include "preload/process/process.h"
#include "preload/real.h"
#include "verbs/world_call.h"

namespace weft::preload {

namespace {

bool keep_pages(void* address, std::size_t length_B) {
  if (this_process().regions.load(std::memory_order_relaxed) == 0 || !is_own_process()) return true;
  const verbs::Unmapping request{reinterpret_cast<std::uintptr_t>(address), length_B};
  const int error = verbs::call(verbs::Op::kUnmapping, request);
  if (error == ENOMEM) errno = ENOMEM;
  return error != ENOMEM;
}

}  // namespace

}  // namespace weft::preload

namespace weft::verbs {

WEFT_EXPORT void weft_count_region(int change) {
  preload::this_process().regions.fetch_add(change, std::memory_order_relaxed);
}

}  // namespace weft::verbs

using namespace weft::preload;

WEFT_EXPORT int munmap(void* address, std::size_t length_B) noexcept {
  return keep_pages(address, length_B) ? WEFT_REAL(munmap)(address, length_B) : -1;
}

WEFT_EXPORT void* mremap(void* address, std::size_t length_B, std::size_t new_B, int flags, ...) noexcept {
  va_list rest;
  va_start(rest, flags);
  void* to = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  if (!keep_pages(address, length_B) || (to != nullptr && !keep_pages(to, new_B))) return MAP_FAILED;
  return WEFT_REAL(mremap)(address, length_B, new_B, flags, to);
}
