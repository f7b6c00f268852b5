// Thread domains and parent domains. Queues here have locks of their own, so that a thread domain is only a name; a
// parent domain stands for its protection domain, and brings the memory that the library's part of a queue lies in.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

constexpr std::size_t kAlignment_B = 64;
constexpr std::size_t kHugePage_B = 2 << 20;

// The variables of libmlx5: what programs on a ConnectX ask for huge pages with.
const char* wanted_pages(ResourceType type) {
  const char* wanted = std::getenv(type == ResourceType::kQp   ? "MLX_QP_ALLOC_TYPE"
                                   : type == ResourceType::kCq ? "MLX_CQ_ALLOC_TYPE"
                                                               : "MLX_SRQ_ALLOC_TYPE");
  return wanted == nullptr ? "" : wanted;
}

}  // namespace

void* allocate_object(ibv_pd* pd, std::size_t size_B, ResourceType type, Origin& origin) {
  const auto* domain = static_cast<Pd*>(pd);
  if (domain != nullptr && domain->allocate != nullptr) {
    void* memory =
        domain->allocate(pd, domain->allocator_context, size_B, kAlignment_B, static_cast<std::uint64_t>(type));
    if (memory == nullptr) return fail(ENOMEM);
    if (memory != IBV_ALLOCATOR_USE_DEFAULT) {
      std::memset(memory, 0, size_B);
      origin = Origin::kProgram;
      return memory;
    }
  }
  const char* wanted = wanted_pages(type);
  const bool only_huge = std::strcmp(wanted, "HUGE") == 0;
  if (only_huge || std::strcmp(wanted, "PREFER_HUGE") == 0) {
    void* memory = mmap(nullptr, kHugePage_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (memory != MAP_FAILED) {
      origin = Origin::kHugePage;
      return memory;
    }
    if (only_huge) return fail(ENOMEM);
  }
  origin = Origin::kLibrary;
  void* memory = std::calloc(1, size_B);
  return memory == nullptr ? fail(ENOMEM) : memory;
}

void release_object(ibv_pd* pd, void* object, ResourceType type, Origin origin) {
  const auto* domain = static_cast<Pd*>(pd);
  if (origin == Origin::kLibrary) {
    std::free(object);
  } else if (origin == Origin::kHugePage) {
    munmap(object, kHugePage_B);
  } else if (domain->release != nullptr) {
    domain->release(pd, domain->allocator_context, object, static_cast<std::uint64_t>(type));
  }
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init) {
  if (init->comp_mask != 0) return fail(EINVAL);
  auto* td = make<ibv_td>();
  if (td == nullptr) return fail(ENOMEM);
  td->context = context;
  return td;
}

int dealloc_td(ibv_td* td) {
  std::free(td);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init) {
  constexpr std::uint32_t kKnown = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if (init->pd == nullptr || (init->comp_mask & ~kKnown) != 0) return fail(EINVAL);
  auto* child = static_cast<Pd*>(init->pd);
  if (child->parent_of != nullptr) return fail(EINVAL);
  auto* parent = make<Pd>();
  if (parent == nullptr) return fail(ENOMEM);
  parent->context = context;
  parent->handle = child->handle;
  parent->parent_of = child;
  parent->td = init->td;
  if ((init->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0) {
    parent->allocate = init->alloc;
    parent->release = init->free;
  }
  if ((init->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0) parent->allocator_context = init->pd_context;
  const MutexGuard guard(context->mutex);
  ++child->uses;
  return parent;
}

}  // namespace weft::verbs

using namespace weft::verbs;

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* pd = make<Pd>();
  if (pd == nullptr) return fail(ENOMEM);
  Handle reply;
  if (const int error = call(Op::kAllocPd, OnDevice{device_index(context)}, reply); error != 0) {
    std::free(pd);
    return fail(error);
  }
  pd->context = context;
  pd->handle = reply.handle;
  return pd;
}

int ibv_dealloc_pd(ibv_pd* base) {
  auto* pd = static_cast<Pd*>(base);
  if (pd->parent_of != nullptr) {
    const MutexGuard guard(pd->context->mutex);
    --pd->parent_of->uses;
  } else {
    {
      const MutexGuard guard(pd->context->mutex);
      if (pd->uses != 0) return EBUSY;
    }
    if (const int error = destroy(Kind::kPd, pd->handle); error != 0) return error;
  }
  std::free(pd);
  return 0;
}
