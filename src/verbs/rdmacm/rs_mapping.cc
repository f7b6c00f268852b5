// riomap, riounmap and riowrite: memory of one side that the other writes without a receive.
#include <byteswap.h>
#include <sys/mman.h>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {

struct Mapping {
  Mapping* next;
  ibv_mr* mr;
  std::uint64_t offset;
  int index;  // in the peer's list; -1: it is not for the peer
  bool is_new;
};

namespace {

int need_room(Socket& socket, int flags) {
  if (can_send(socket)) return 0;
  if (wait_until(socket, waits(socket, flags), may_write) != 0) return -1;
  return socket.can_write ? 0 : result(ECONNRESET);
}

// The first index of the peer's list that is free.
int free_index(const Socket& socket) {
  for (std::uint32_t index = 0; index < socket.peer_mappings; ++index) {
    const Mapping* mapping = socket.mappings;
    while (mapping != nullptr && mapping->index != static_cast<int>(index)) mapping = mapping->next;
    if (mapping == nullptr) return static_cast<int>(index);
  }
  return -1;
}

struct Found {
  std::uint64_t offset;
  RemoteBuffer buffer;
};
bool find_peer_mapping(Socket& socket, std::uint64_t offset, Found& found) {
  for (std::uint32_t i = 0; i < socket.sizes.mappings; ++i) {
    const volatile IoMapping& each = mappings_of(socket)[i];
    if (offset < each.offset || offset - each.offset >= each.buffer.length_B) continue;
    found = {each.offset, {each.buffer.address, each.buffer.key, each.buffer.length_B}};
    return true;
  }
  return false;
}

}  // namespace

int send_mappings(Socket& socket, int flags) {
  for (Mapping* mapping = socket.mappings; mapping != nullptr; mapping = mapping->next) {
    if (!mapping->is_new) continue;
    if (need_room(socket, flags) != 0) return -1;
    IoMapping entry{mapping->offset,
                    {reinterpret_cast<std::uintptr_t>(mapping->mr->addr), mapping->mr->rkey,
                     static_cast<std::uint32_t>(mapping->mr->length)}};
    if (socket.swaps) {
      entry = {bswap_64(entry.offset),
               {bswap_64(entry.buffer.address), bswap_32(entry.buffer.key), bswap_32(entry.buffer.length_B)}};
    }
    const auto index = static_cast<std::uint32_t>(mapping->index);
    const RemoteBuffer to{
        socket.peer_grants.address + socket.peer_grants.length_B * sizeof(RemoteBuffer) + index * sizeof(IoMapping),
        socket.peer_grants.key, 0};
    const iovec piece{&entry, sizeof entry};
    Gather from{&piece, 0};
    ++socket.sequence;
    if (post_write(socket, message(Message::kMapping, index), to, sizeof entry, from) != 0) return -1;
    mapping->is_new = false;
  }
  socket.has_new_mappings = false;
  return 0;
}

void free_mappings(Socket& socket) {
  while (socket.mappings != nullptr) {
    Mapping* mapping = socket.mappings;
    socket.mappings = mapping->next;
    ibv_dereg_mr(mapping->mr);
    std::free(mapping);
  }
}

}  // namespace weft::verbs::cm::rs

using namespace weft::verbs;
using namespace weft::verbs::cm;
using namespace weft::verbs::cm::rs;

off_t riomap(int fd, void* buffer, size_t size_B, int protection, int, off_t offset) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  const MutexGuard guard(socket->mutex);
  if (socket->id->pd == nullptr || (protection & ~PROT_WRITE) != 0) return result(EINVAL);
  const bool for_peer = (protection & PROT_WRITE) != 0;
  const int index = for_peer ? free_index(*socket) : -1;
  if (for_peer && index < 0) return result(ENOMEM);
  auto* mapping = make<Mapping>();
  if (mapping == nullptr) return result(ENOMEM);
  const int access = IBV_ACCESS_LOCAL_WRITE | (for_peer ? IBV_ACCESS_REMOTE_WRITE : 0);
  mapping->mr = ibv_reg_mr(socket->id->pd, buffer, size_B, access);
  if (mapping->mr == nullptr) {
    const int error = errno;
    std::free(mapping);
    return result(error);
  }
  if (offset == -1) offset = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(buffer));
  mapping->offset = static_cast<std::uint64_t>(offset);
  mapping->index = index;
  mapping->is_new = for_peer;
  Mapping** end = &socket->mappings;
  while (*end != nullptr) end = &(*end)->next;
  *end = mapping;
  socket->has_new_mappings = socket->has_new_mappings || for_peer;
  return offset;
}

int riounmap(int fd, void* buffer, size_t size_B) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  const MutexGuard guard(socket->mutex);
  for (Mapping** place = &socket->mappings; *place != nullptr; place = &(*place)->next) {
    Mapping* mapping = *place;
    if (mapping->mr->addr != buffer || mapping->mr->length != size_B) continue;
    *place = mapping->next;
    const int error = ibv_dereg_mr(mapping->mr);
    std::free(mapping);
    return result(error);
  }
  return result(EINVAL);
}

size_t riowrite(int fd, const void* buffer, size_t size_B, off_t offset, int flags) {
  constexpr auto kFailed = static_cast<size_t>(-1);
  Socket* socket = find(fd);
  if (socket == nullptr) return kFailed;
  const MutexGuard guard(socket->mutex);
  if (socket->has_new_mappings && send_mappings(*socket, flags) != 0) return kFailed;
  const iovec piece{const_cast<void*>(buffer), size_B};
  Gather from{&piece, 0};
  std::size_t left_B = size_B;
  auto at = static_cast<std::uint64_t>(offset);
  while (left_B > 0) {
    Found found;
    if (!find_peer_mapping(*socket, at, found) || need_room(*socket, flags) != 0) break;
    const std::uint64_t there_B = found.offset + found.buffer.length_B - at;
    std::uint64_t part_B = left_B < kMaxTransfer_B ? left_B : kMaxTransfer_B;
    if (part_B > there_B) part_B = there_B;
    if (part_B > socket->send_free_B) part_B = socket->send_free_B;
    const auto part = static_cast<std::uint32_t>(part_B);
    const RemoteBuffer to{found.buffer.address + (at - found.offset), found.buffer.key, 0};
    if (post_write(*socket, message(Message::kWrite, part), to, part, from) != 0) break;
    left_B -= part;
    at += part;
  }
  return left_B == size_B && size_B > 0 ? kFailed : size_B - left_B;
}
