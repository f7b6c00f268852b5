// Memory regions. The world reads and writes the program's memory itself, so that nothing is
// pinned and fork() needs no care.
#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

using namespace weft::verbs;

namespace {

ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length_B, std::uint64_t iova, unsigned int access) {
  // Memory that a peer may write must be writable by the device.
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return fail(EINVAL);
  }
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) iova = 0;
  const RegMr request{pd->handle, access, reinterpret_cast<std::uintptr_t>(address), length_B, iova};
  MrKeys keys;
  if (const int error = call(Op::kRegMr, request, keys); error != 0) return fail(error);
  return make_mr(pd, address, length_B, keys, (access & IBV_ACCESS_ON_DEMAND) == 0);
}

}  // namespace

namespace weft::verbs {

ibv_mr* make_mr(ibv_pd* pd, void* address, std::size_t length_B, const MrKeys& keys, bool is_counted) {
  auto* mr = make<Mr>();
  if (mr == nullptr) {
    destroy(Kind::kMr, keys.handle);
    return fail(ENOMEM);
  }
  static_cast<ibv_mr&>(*mr) = {pd->context, pd, address, length_B, keys.handle, keys.lkey, keys.rkey};
  mr->is_counted = is_counted;
  if (is_counted) weft_count_region(1);
  return mr;
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  MrKeys keys;
  if (const int error = call(Op::kAllocNullMr, Handle{pd->handle}, keys); error != 0) return fail(error);
  return make_mr(pd, nullptr, SIZE_MAX, keys, false);
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count) {
  if (count > kMaxAdvisedSges) return EINVAL;
  const std::size_t size_B = sizeof(AdviseMr) + count * sizeof(Sge);
  auto* message = static_cast<std::uint8_t*>(std::malloc(size_B));
  if (message == nullptr) return ENOMEM;
  const AdviseMr head{pd->handle, static_cast<std::uint32_t>(advice), flags, count};
  std::memcpy(message, &head, sizeof head);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Sge sge{list[i].addr, list[i].length, list[i].lkey};
    std::memcpy(message + sizeof head + i * sizeof sge, &sge, sizeof sge);
  }
  std::size_t reply_B = 0;
  const int error = weft_call(static_cast<std::uint32_t>(Op::kAdviseMr), message, size_B, nullptr, &reply_B, nullptr);
  std::free(message);
  return error;
}

}  // namespace weft::verbs

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

int ibv_rereg_mr(ibv_mr* base, int flags, ibv_pd* pd, void* address, std::size_t length_B, int access) {
  auto* mr = static_cast<Mr*>(base);
  constexpr int kKnown = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const bool changes_place = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  int error = (flags & ~kKnown) != 0 || flags == 0 || (changes_pd && pd == nullptr) ? EINVAL : 0;
  if (changes_place && (address == nullptr || length_B == 0)) error = EINVAL;
  MrKeys keys{};
  if (error == 0) {
    const ReregMr request{mr->handle,
                          static_cast<std::uint32_t>(flags),
                          changes_pd ? pd->handle : 0,
                          static_cast<std::uint32_t>(access),
                          reinterpret_cast<std::uintptr_t>(address),
                          length_B};
    error = call(Op::kReregMr, request, keys);
  }
  if (error != 0) {
    errno = error;
    return IBV_REREG_MR_ERR_INPUT;
  }
  mr->lkey = keys.lkey;
  mr->rkey = keys.rkey;
  if (changes_pd) {
    mr->pd = pd;
    mr->context = pd->context;
  }
  if (changes_place) {
    mr->addr = address;
    mr->length = length_B;
  }
  return 0;
}

int ibv_dereg_mr(ibv_mr* base) {
  auto* mr = static_cast<Mr*>(base);
  if (const int error = destroy(Kind::kMr, mr->handle); error != 0) return error;
  if (mr->is_counted) weft_count_region(-1);
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
