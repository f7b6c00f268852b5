// Bytes of a stream: what completions mean, credits, sending and receiving.
#include <arpa/inet.h>
#include <byteswap.h>
#include <poll.h>

#include <cstring>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {
namespace {

constexpr int kCompletions = 16;  // taken at a time

std::uint32_t lesser(std::uint32_t a, std::size_t b) {
  return a < b ? a : static_cast<std::uint32_t>(b);
}

void fail_stream(Socket& socket, int error) {
  if (!is_connected(socket)) return;
  socket.state = State::kFailed;
  socket.error = error;
  socket.can_read = socket.can_write = false;
}

void disconnect(Socket& socket) {
  socket.state = State::kDisconnected;
  socket.can_read = socket.can_write = false;
}

void take_message(Socket& socket, std::uint32_t word) {
  switch (kind_of(word)) {
    case Message::kData:
      socket.lengths[socket.tail] = data_of(word);
      socket.tail = socket.tail == socket.sizes.receives ? 0 : socket.tail + 1;
      break;
    case Message::kGrant:
      socket.sequence_limit = static_cast<std::uint16_t>(data_of(word));
      break;
    case Message::kMapping:
      ++socket.received;
      break;
    case Message::kControl:
      if (data_of(word) == kDisconnect || (data_of(word) == kShutdown && !socket.can_write)) {
        disconnect(socket);
      } else if (data_of(word) == kShutdown) {
        socket.can_read = false;
      }
      break;
    default:
      break;
  }
}

void take_sent(Socket& socket, const ibv_wc& wc) {
  const auto word = static_cast<std::uint32_t>(wc.wr_id);
  switch (kind_of(word)) {
    case Message::kGrant:
      ++socket.controls_done;
      break;
    case Message::kControl:
      ++socket.controls_done;
      if (data_of(word) == kDisconnect) disconnect(socket);
      break;
    case Message::kMapping:
      ++socket.free_sends;
      socket.send_free_B += sizeof(IoMapping);
      break;
    default:
      ++socket.free_sends;
      socket.send_free_B += data_of(word);
      break;
  }
  if (wc.status != IBV_WC_SUCCESS) fail_stream(socket, EIO);
}

bool has_control(const Socket& socket) {
  return socket.controls_sent - socket.controls_done < kControls;
}

int post(Socket& socket, std::uint32_t word, ibv_sge* list, int count, unsigned flags, const RemoteBuffer& to) {
  ibv_send_wr request{};
  request.wr_id = word;
  request.sg_list = list;
  request.num_sge = count;
  const bool plain = kind_of(word) == Message::kWrite;
  request.opcode = plain ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
  request.send_flags = flags;
  request.imm_data = htonl(word);
  request.wr.rdma.remote_addr = to.address;
  request.wr.rdma.rkey = to.key;
  ibv_send_wr* bad = nullptr;
  return result(ibv_post_send(socket.id->qp, &request, &bad));
}

// Half of the ring is free again, or half of the receives: the peer hears of it.
void grant_more(Socket& socket) {
  const std::uint32_t half_B = socket.sizes.receive_B / 2;
  const bool has_half = socket.free_B >= half_B;
  const bool has_credit = static_cast<std::int16_t>(socket.received - socket.credit_at) >= 0;
  if (!is_connected(socket) || !has_control(socket) || (!has_half && !has_credit)) return;
  socket.credit_at = static_cast<std::uint16_t>(socket.received + socket.sizes.receives / 2);
  const auto limit = static_cast<std::uint16_t>(socket.received + socket.sizes.receives);
  std::uint8_t* room =
      socket.send_buffer + socket.sizes.send_B + socket.controls_sent % kControls * sizeof(RemoteBuffer);
  ++socket.controls_sent;
  if (!has_half) {
    post(socket, message(Message::kGrant, limit), nullptr, 0, 0, {});
    return;
  }
  RemoteBuffer grant{reinterpret_cast<std::uintptr_t>(socket.receive_buffer + socket.next_grant_at),
                     socket.receive_mr->rkey, half_B};
  if (socket.swaps) grant = {bswap_64(grant.address), bswap_32(grant.key), bswap_32(grant.length_B)};
  std::memcpy(room, &grant, sizeof grant);
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(room), sizeof grant, socket.send_mr->lkey};
  const RemoteBuffer to{socket.peer_grants.address + socket.peer_grant * sizeof(RemoteBuffer), socket.peer_grants.key,
                        0};
  const unsigned flags = sizeof grant <= socket.sizes.inline_B ? unsigned{IBV_SEND_INLINE} : 0u;
  post(socket, message(Message::kGrant, limit), &piece, 1, flags, to);
  socket.free_B -= half_B;
  socket.next_grant_at = socket.next_grant_at == 0 ? half_B : 0;
  socket.peer_grant = socket.peer_grant + 1 == socket.peer_grants.length_B ? 0 : socket.peer_grant + 1;
}

int poll_queue(Socket& socket, ibv_wc* wc, bool may_park) {
  if (may_park) return ibv_poll_cq(socket.cq, kCompletions, wc);
  weft_forbid_park(1);
  const int count = ibv_poll_cq(socket.cq, kCompletions, wc);
  weft_forbid_park(-1);
  return count;
}

bool may_read(Socket& socket) {
  return has_data(socket) || !socket.can_read;
}
bool may_control(Socket& socket) {
  return (has_control(socket) && socket.state == State::kConnected) || !is_connected(socket);
}

}  // namespace

bool can_send(Socket& socket) {
  return socket.state == State::kConnected && socket.free_sends > 0 && socket.send_free_B >= kLowWater_B &&
         socket.sequence != socket.sequence_limit && grants_of(socket)[socket.grant].length_B != 0;
}

bool all_sent(Socket& socket) {
  return (socket.free_sends == socket.sizes.sends - kControls && socket.controls_sent == socket.controls_done) ||
         !is_connected(socket);
}

void process(Socket& socket, bool may_park) {
  if (socket.cq == nullptr) return;
  ibv_wc wc[kCompletions];
  std::uint32_t received = 0;
  for (int count; (count = poll_queue(socket, wc, may_park)) > 0; may_park = false) {
    for (int i = 0; i < count; ++i) {
      if ((wc[i].wr_id & kReceiveMark) == 0) {
        take_sent(socket, wc[i]);
      } else if (wc[i].status == IBV_WC_SUCCESS) {
        // The peer sends: it has had the answer to its request.
        if (socket.state == State::kAccepting) socket.state = State::kConnected;
        take_message(socket, ntohl(wc[i].imm_data));
        ++received;
      }
    }
  }
  ibv_recv_wr receive{};
  receive.wr_id = kReceiveMark;
  ibv_recv_wr* bad = nullptr;
  for (; received > 0 && is_connected(socket); --received) {
    if (const int error = ibv_post_recv(socket.id->qp, &receive, &bad); error != 0) fail_stream(socket, error);
  }
  if (socket.state == State::kConnected) grant_more(socket);
}

void arm(Socket& socket) {
  if (socket.armed || socket.cq == nullptr) return;
  ibv_req_notify_cq(socket.cq, 0);
  socket.armed = true;
}

void take_events(Socket& socket, bool queue, bool connection) {
  if (queue) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(socket.channel, &cq, &context) == 0) ++socket.unacknowledged;
    socket.armed = false;
  }
  if (!connection) return;
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(socket.id->channel, &event) != 0) return;
  const rdma_cm_event_type type = event->event;
  rdma_ack_cm_event(event);
  if (type == RDMA_CM_EVENT_ESTABLISHED) {
    if (socket.state == State::kAccepting) socket.state = State::kConnected;
  } else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
    process(socket, false);  // what the peer has sent before
    if (is_connected(socket)) disconnect(socket);
  }
}

int wait_until(Socket& socket, bool waits, Test test) {
  for (bool looked = false;;) {
    process(socket, !waits && looked);
    if (test(socket)) return 0;
    if (!waits) {
      if (looked) return result(EAGAIN);
      looked = true;
      pollfd connection{socket.id->channel->fd, POLLIN, 0};
      if (poll(&connection, 1, 0) > 0) take_events(socket, false, true);
      continue;
    }
    if (socket.waiting) {
      pthread_cond_wait(&socket.changed, &socket.mutex);
      continue;
    }
    if (!socket.armed) {
      arm(socket);
      continue;
    }
    socket.waiting = true;
    pollfd fds[2] = {{socket.channel->fd, POLLIN, 0}, {socket.id->channel->fd, POLLIN, 0}};
    pthread_mutex_unlock(&socket.mutex);
    const int ready = poll(fds, 2, -1);
    const int error = errno;
    pthread_mutex_lock(&socket.mutex);
    socket.waiting = false;
    if (ready > 0) take_events(socket, (fds[0].revents & POLLIN) != 0, (fds[1].revents & POLLIN) != 0);
    pthread_cond_broadcast(&socket.changed);
    if (ready < 0) return result(error);
  }
}

void Gather::copy(std::uint8_t* to, std::size_t size_B) {
  while (size_B > 0) {
    const std::size_t there_B = piece->iov_len - offset_B;
    const std::size_t part_B = there_B < size_B ? there_B : size_B;
    std::memcpy(to, static_cast<const std::uint8_t*>(piece->iov_base) + offset_B, part_B);
    to += part_B;
    size_B -= part_B;
    offset_B += part_B;
    if (offset_B == piece->iov_len) {
      ++piece;
      offset_B = 0;
    }
  }
}

int post_write(Socket& socket, std::uint32_t word, const RemoteBuffer& to, std::uint32_t size_B, Gather& from) {
  constexpr std::uint32_t kMostInline_B = 256;
  --socket.free_sends;
  socket.send_free_B -= size_B;
  if (size_B <= socket.sizes.inline_B && size_B <= kMostInline_B) {
    std::uint8_t bytes[kMostInline_B];
    from.copy(bytes, size_B);
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(bytes), size_B, 0};
    return post(socket, word, &piece, 1, IBV_SEND_INLINE, to);
  }
  const std::uint32_t first_B = lesser(size_B, socket.sizes.send_B - socket.send_at);
  const auto ring = reinterpret_cast<std::uintptr_t>(socket.send_buffer);
  ibv_sge pieces[2] = {{ring + socket.send_at, first_B, socket.send_mr->lkey},
                       {ring, size_B - first_B, socket.send_mr->lkey}};
  from.copy(socket.send_buffer + socket.send_at, first_B);
  from.copy(socket.send_buffer, size_B - first_B);
  socket.send_at = (socket.send_at + size_B) % socket.sizes.send_B;
  return post(socket, word, pieces, size_B > first_B ? 2 : 1, 0, to);
}

ssize_t send_bytes(Socket& socket, const iovec* pieces, int count, int flags) {
  std::size_t left_B = 0;
  for (int i = 0; i < count; ++i) left_B += pieces[i].iov_len;
  const std::size_t all_B = left_B;
  Gather from{pieces, 0};
  while (from.piece != pieces + count && from.piece->iov_len == 0) ++from.piece;
  int status = socket.has_new_mappings ? send_mappings(socket, flags) : 0;
  while (status == 0 && left_B > 0) {
    if (!can_send(socket)) {
      status = wait_until(socket, waits(socket, flags), may_write);
      if (status == 0 && !socket.can_write) status = result(socket.state == State::kFailed ? socket.error : EPIPE);
      if (status != 0) break;
    }
    volatile RemoteBuffer& grant = grants_of(socket)[socket.grant];
    const std::uint32_t room_B = lesser(socket.send_free_B, grant.length_B);
    const std::uint32_t size_B = lesser(room_B, left_B < kMaxTransfer_B ? left_B : kMaxTransfer_B);
    const RemoteBuffer to{grant.address, grant.key, size_B};
    // The peer may write the entry again as soon as it has the last of these bytes.
    grant.address = to.address + size_B;
    grant.length_B = grant.length_B - size_B;
    if (grant.length_B == 0) socket.grant = (socket.grant + 1) % kGrants;
    ++socket.sequence;
    status = post_write(socket, message(Message::kData, size_B), to, size_B, from);
    left_B -= size_B;
  }
  return left_B == all_B && status != 0 ? -1 : static_cast<ssize_t>(all_B - left_B);
}

ssize_t receive_bytes(Socket& socket, const iovec* pieces, int count, int flags) {
  const bool peeks = (flags & MSG_PEEK) != 0;
  std::size_t taken_B = 0, offset_B = 0;
  int piece = 0;
  for (;;) {
    if (!has_data(socket)) {
      const int status = wait_until(socket, waits(socket, flags), may_read);
      if (status != 0) return taken_B > 0 ? static_cast<ssize_t>(taken_B) : -1;
    }
    std::uint32_t head = socket.head, read_at = socket.read_at;
    std::uint32_t message_B = has_data(socket) ? socket.lengths[head] : 0;
    while (piece < count && head != socket.tail) {
      const std::size_t room_B = pieces[piece].iov_len - offset_B;
      const std::uint32_t part_B = lesser(lesser(message_B, socket.sizes.receive_B - read_at), room_B);
      std::memcpy(static_cast<std::uint8_t*>(pieces[piece].iov_base) + offset_B, socket.receive_buffer + read_at,
                  part_B);
      taken_B += part_B;
      offset_B += part_B;
      message_B -= part_B;
      read_at = (read_at + part_B) % socket.sizes.receive_B;
      if (!peeks) socket.free_B += part_B;
      if (message_B == 0) {
        head = head == socket.sizes.receives ? 0 : head + 1;
        message_B = head != socket.tail ? socket.lengths[head] : 0;
        if (!peeks) ++socket.received;
      }
      if (offset_B == pieces[piece].iov_len) {
        ++piece;
        offset_B = 0;
      }
    }
    if (peeks) return static_cast<ssize_t>(taken_B);
    socket.head = head;
    socket.read_at = read_at;
    if (head != socket.tail) socket.lengths[head] = message_B;
    if (socket.state == State::kConnected) grant_more(socket);
    const bool is_over = !has_data(socket) && !socket.can_read;
    if ((flags & MSG_WAITALL) == 0 || piece == count || is_over) return static_cast<ssize_t>(taken_B);
  }
}

int send_control(Socket& socket, Control control) {
  if (wait_until(socket, true, may_control) != 0) return -1;
  if (!is_connected(socket)) return 0;
  ++socket.controls_sent;
  if (post(socket, message(Message::kControl, control), nullptr, 0, 0, {}) != 0) return -1;
  return wait_until(socket, true, all_sent);
}

}  // namespace weft::verbs::cm::rs
