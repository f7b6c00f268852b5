// The queue pair and the buffers of a stream, and what the two sides tell each other of them when they connect.
#include <arpa/inet.h>
#include <endian.h>

#include <cstring>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {
namespace {

constexpr bool kIsBigEndian = __BYTE_ORDER == __BIG_ENDIAN;

// A count of mappings in one byte, exact up to 128 (rsocket.c of rdma-core calls it a scale).
std::uint8_t to_scale(std::uint32_t value) {
  return static_cast<std::uint8_t>(value <= 128 ? value : 128 | value >> 8);
}
std::uint32_t from_scale(std::uint8_t value) {
  return value <= 128 ? value : static_cast<std::uint32_t>(value & 127) << 8;
}

std::uint32_t bounded(std::uint32_t count) {
  return count < kFewestWr ? kFewestWr : count > kMostWr ? kMostWr : count;
}

RemoteBuffer to_network(const RemoteBuffer& buffer) {
  return {htobe64(buffer.address), htobe32(buffer.key), htobe32(buffer.length_B)};
}
RemoteBuffer from_network(const RemoteBuffer& buffer) {
  return {be64toh(buffer.address), be32toh(buffer.key), be32toh(buffer.length_B)};
}

int make_queue_pair(Socket& socket) {
  Sizes& sizes = socket.sizes;
  if (make_completion_queue(socket, socket.id->verbs) != 0) return -1;
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = socket.cq;
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  init.cap = {sizes.sends, sizes.receives, 2, 1, sizes.inline_B};
  if (rdma_create_qp(socket.id, nullptr, &init) != 0) return -1;
  sizes.inline_B = init.cap.max_inline_data;
  return 0;
}

int make_buffers(Socket& socket) {
  const Sizes& sizes = socket.sizes;
  const std::size_t sends_B = sizes.send_B + kControls * sizeof(RemoteBuffer);
  const std::size_t lists_B = kGrants * sizeof(RemoteBuffer) + sizes.mappings * sizeof(IoMapping);
  constexpr int kPeerWrites = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  socket.lengths = static_cast<std::uint32_t*>(std::calloc(sizes.receives + 1, sizeof(std::uint32_t)));
  if (socket.lengths == nullptr) return result(ENOMEM);
  socket.send_buffer = allocate(sends_B);
  socket.lists = allocate(lists_B);
  socket.receive_buffer = allocate(sizes.receive_B);
  if (socket.send_buffer == nullptr || socket.lists == nullptr || socket.receive_buffer == nullptr) return -1;
  ibv_pd* pd = socket.id->pd;
  socket.send_mr = ibv_reg_mr(pd, socket.send_buffer, sends_B, IBV_ACCESS_LOCAL_WRITE);
  if (socket.send_mr == nullptr) return -1;
  socket.lists_mr = ibv_reg_mr(pd, socket.lists, lists_B, kPeerWrites);
  if (socket.lists_mr == nullptr) return -1;
  socket.receive_mr = ibv_reg_mr(pd, socket.receive_buffer, sizes.receive_B, kPeerWrites);
  if (socket.receive_mr == nullptr) return -1;
  socket.send_free_B = sizes.send_B;
  socket.free_sends = sizes.sends - kControls;
  socket.free_B = socket.next_grant_at = sizes.receive_B / 2;
  socket.credit_at = static_cast<std::uint16_t>(sizes.receives / 2);
  return 0;
}

void free_memory(ibv_mr*& mr, std::uint8_t*& memory) {
  if (mr != nullptr) ibv_dereg_mr(mr);
  std::free(memory);
  mr = nullptr;
  memory = nullptr;
}

}  // namespace

int make_completion_queue(Socket& socket, ibv_context* verbs) {
  const Sizes& sizes = socket.sizes;
  socket.channel = ibv_create_comp_channel(verbs);
  if (socket.channel == nullptr) return -1;
  socket.cq = ibv_create_cq(verbs, static_cast<int>(sizes.sends + sizes.receives), nullptr, socket.channel, 0);
  return socket.cq == nullptr ? -1 : 0;
}

int make_endpoint(Socket& socket) {
  Sizes& sizes = socket.sizes;
  sizes.sends = bounded(sizes.sends);
  sizes.receives = bounded(sizes.receives);
  sizes.send_B = sizes.send_B < 2 * kLowWater_B ? 2 * kLowWater_B : sizes.send_B;
  sizes.receive_B = sizes.receive_B < 2 * kLowWater_B ? 2 * kLowWater_B : sizes.receive_B & ~1u;
  if (make_queue_pair(socket) != 0 || make_buffers(socket) != 0) return -1;
  ibv_recv_wr receive{};
  receive.wr_id = kReceiveMark;
  ibv_recv_wr* bad = nullptr;
  for (std::uint32_t i = 0; i < sizes.receives; ++i) {
    if (const int error = ibv_post_recv(socket.id->qp, &receive, &bad); error != 0) return result(error);
  }
  return 0;
}

void free_endpoint(Socket& socket) {
  if (socket.id != nullptr && socket.id->qp != nullptr) rdma_destroy_qp(socket.id);
  if (socket.cq != nullptr) {
    ibv_ack_cq_events(socket.cq, socket.unacknowledged);
    ibv_destroy_cq(socket.cq);
  }
  if (socket.channel != nullptr) ibv_destroy_comp_channel(socket.channel);
  socket.cq = nullptr;
  socket.channel = nullptr;
  free_memory(socket.send_mr, socket.send_buffer);
  free_memory(socket.lists_mr, socket.lists);
  free_memory(socket.receive_mr, socket.receive_buffer);
  std::free(socket.lengths);
  socket.lengths = nullptr;
}

ConnectData connect_data(const Socket& socket) {
  const Sizes& sizes = socket.sizes;
  ConnectData data{};
  data.version = kVersion;
  data.flags = kHasMappings | (kIsBigEndian ? kBigEndian : 0);
  data.credits = htons(static_cast<std::uint16_t>(sizes.receives));
  data.mappings = to_scale(sizes.mappings);
  data.grants = to_network({reinterpret_cast<std::uintptr_t>(socket.lists), socket.lists_mr->rkey, kGrants});
  data.data = to_network(
      {reinterpret_cast<std::uintptr_t>(socket.receive_buffer), socket.receive_mr->rkey, sizes.receive_B / 2});
  return data;
}

void take_connect_data(Socket& socket, const ConnectData& data) {
  socket.peer_grants = from_network(data.grants);
  socket.peer_grant = 1;
  socket.swaps = ((data.flags & kBigEndian) != 0) != kIsBigEndian;
  socket.peer_mappings = (data.flags & kHasMappings) != 0 ? from_scale(data.mappings) : 0;
  const RemoteBuffer first = from_network(data.data);
  volatile RemoteBuffer& grant = grants_of(socket)[0];
  grant.address = first.address;
  grant.key = first.key;
  grant.length_B = first.length_B;
  socket.sequence_limit = ntohs(data.credits);
  socket.can_read = socket.can_write = true;
}

}  // namespace weft::verbs::cm::rs
