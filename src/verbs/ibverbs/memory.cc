// Protection domains and memory regions. The world reads and writes the program's memory itself, so that nothing is
// pinned and fork() needs no care.
#include <cerrno>

#include "verbs/ibverbs/objects.h"

using namespace weft::verbs;

namespace {

constexpr unsigned int kNotModelled = IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND;

ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length_B, std::uint64_t iova, unsigned int access) {
  if ((access & kNotModelled) != 0) return fail(EOPNOTSUPP);
  // What a peer may write, the program must let the device write.
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return fail(EINVAL);
  }
  auto* mr = make<ibv_mr>();
  if (mr == nullptr) return fail(ENOMEM);
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) iova = 0;
  const RegMr request{pd->handle, access, reinterpret_cast<std::uintptr_t>(address), length_B, iova};
  MrKeys keys;
  if (const int error = call(Op::kRegMr, request, keys); error != 0) {
    std::free(mr);
    return fail(error);
  }
  weft_count_region(1);
  *mr = {pd->context, pd, address, length_B, keys.handle, keys.lkey, keys.rkey};
  return mr;
}

}  // namespace

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* pd = make<ibv_pd>();
  if (pd == nullptr) return fail(ENOMEM);
  Handle reply;
  if (const int error = call(Op::kAllocPd, OnDevice{device_index(context)}, reply); error != 0) {
    std::free(pd);
    return fail(error);
  }
  *pd = {context, reply.handle};
  return pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
  if (const int error = destroy(Kind::kPd, pd->handle); error != 0) return error;
  std::free(pd);
  return 0;
}

#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length_B, int access) {
  return register_memory(pd, address, length_B, reinterpret_cast<std::uintptr_t>(address),
                         static_cast<unsigned int>(access));
}

#undef ibv_reg_mr_iova
ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length_B, std::uint64_t iova, int access) {
  return register_memory(pd, address, length_B, iova, static_cast<unsigned int>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length_B, std::uint64_t iova, unsigned int access) {
  return register_memory(pd, address, length_B, iova, access);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  return fail(EOPNOTSUPP);
}

int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, std::size_t, int) {
  errno = EOPNOTSUPP;
  return IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(ibv_mr* mr) {
  if (const int error = destroy(Kind::kMr, mr->handle); error != 0) return error;
  weft_count_region(-1);
  std::free(mr);
  return 0;
}

// Nothing is pinned, so a child's copy of a page never takes the parent's away.
int ibv_fork_init() {
  return 0;
}

ibv_fork_status ibv_is_fork_initialized() {
  return IBV_FORK_UNNEEDED;
}

WEFT_VERB int ibv_dontfork_range(void*, std::size_t) {
  return 0;
}

WEFT_VERB int ibv_dofork_range(void*, std::size_t) {
  return 0;
}
