// Multicast groups: joining and leaving them, and the queue pair that follows.
#include <cstring>

#include "verbs/rdmacm/objects.h"

namespace weft::verbs::cm {
namespace {

ibv_gid gid_of(const Group& group) {
  ibv_gid gid;
  std::memcpy(gid.raw, group.address.bytes, sizeof gid.raw);
  return gid;
}

// Takes it out of the id's list.
void unlink(Id& id, const Group* group) {
  const MutexGuard guard(id.mutex);
  Group** place = &id.groups;
  while (*place != nullptr && *place != group) place = &(*place)->next;
  if (*place != nullptr) *place = group->next;
}

Group* find(Id& id, const Address& address) {
  const MutexGuard guard(id.mutex);
  Group* group = id.groups;
  while (group != nullptr && std::memcmp(&group->address, &address, sizeof address) != 0) group = group->next;
  return group;
}

int join(Id& id, const sockaddr* addr, bool sends_only, void* context) {
  auto* group = make<Group>();
  if (group == nullptr) return ENOMEM;
  std::uint32_t port = 0;
  group->context = context;
  group->sends_only = sends_only;
  int error = from_socket(addr, group->address, port);
  if (error == 0) {
    {
      const MutexGuard guard(id.mutex);
      group->next = id.groups;
      id.groups = group;
    }
    error = call(Op::kCmJoin, CmGroup{id.handle, 0, reinterpret_cast<std::uintptr_t>(group), group->address});
    if (error != 0) unlink(id, group);
  }
  if (error != 0) std::free(group);
  return error;
}

}  // namespace

int attach(Id& id, const Group& group) {
  if (id.qp == nullptr || group.sends_only) return 0;
  const ibv_gid gid = gid_of(group);
  return ibv_attach_mcast(id.qp, &gid, 0);
}

void free_groups(Id& id) {
  while (id.groups != nullptr) {
    Group* group = id.groups;
    id.groups = group->next;
    std::free(group);
  }
}

}  // namespace weft::verbs::cm

using namespace weft::verbs;
using namespace weft::verbs::cm;

int rdma_join_multicast(rdma_cm_id* id, sockaddr* addr, void* context) {
  if (const int error = join(id_of(id), addr, false, context); error != 0) return result(error);
  return complete(id_of(id));
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attr, void* context) {
  constexpr std::uint32_t kNeeded = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  if (attr->comp_mask != kNeeded || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return result(EINVAL);
  const bool sends_only = attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
  if (const int error = join(id_of(id), attr->addr, sends_only, context); error != 0) return result(error);
  return complete(id_of(id));
}

int rdma_leave_multicast(rdma_cm_id* base, sockaddr* addr) {
  Id& id = id_of(base);
  Address address;
  std::uint32_t port = 0;
  if (const int error = from_socket(addr, address, port); error != 0) return result(error);
  Group* group = find(id, address);
  if (group == nullptr) return result(EADDRNOTAVAIL);
  const ibv_gid gid = gid_of(*group);
  if (id.qp != nullptr && !group->sends_only) ibv_detach_mcast(id.qp, &gid, 0);
  const int error = call(Op::kCmLeave, CmGroup{id.handle, 0, reinterpret_cast<std::uintptr_t>(group), address});
  if (error != 0) return result(error);
  unlink(id, group);
  std::free(group);
  return 0;
}
