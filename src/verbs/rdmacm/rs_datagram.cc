// Datagrams over RDMA: sockets of SOCK_DGRAM, over one UD queue pair. Each message begins with the sender's address, as
// rdma-core's rsockets have it. Who a port belongs to is asked by RDMA CM (SIDR), where rdma-core's library asks by
// UDP: the two do not find each other. A socket answers such requests while its program is in a call of it.
#include <arpa/inet.h>
#include <poll.h>

#include <cstring>

#include "verbs/address.h"
#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {

struct Peer {
  Peer* next;
  sockaddr_in6 address;  // or a sockaddr_in, with zeros behind it
  ibv_ah* ah;
  std::uint32_t qpn;
};
struct Datagrams {
  ibv_qp* qp;
  Peer* peers;
  Peer* connected;
  bool is_bound;
  std::uint8_t header_B;
  std::uint8_t header[24];
  std::uint32_t* free_slots;     // of the send buffer, socket.free_sends of them
  std::uint32_t* arrived_slots;  // beside socket.lengths
};

namespace {

constexpr std::uint32_t kSlot_B = 2048;  // of a message with its header
constexpr std::uint32_t kGrh_B = 40;
constexpr std::uint32_t kReceiveSlot_B = kGrh_B + kSlot_B;
constexpr int kV2Gid = 3;

// The header of a message: version 4 or 6, its own length, port, address.
constexpr std::uint8_t kHeader4_B = 8, kHeader6_B = 24;

bool read_header(const std::uint8_t* bytes, std::uint32_t size_B, sockaddr_in6& from) {
  from = {};
  if (size_B >= kHeader4_B && bytes[0] == 4 && bytes[1] == kHeader4_B) {
    auto& in = reinterpret_cast<sockaddr_in&>(from);
    in.sin_family = AF_INET;
    std::memcpy(&in.sin_port, bytes + 2, 2);
    std::memcpy(&in.sin_addr, bytes + 4, 4);
    return true;
  }
  if (size_B < kHeader6_B || bytes[0] != 6 || bytes[1] != kHeader6_B) return false;
  from.sin6_family = AF_INET6;
  std::memcpy(&from.sin6_port, bytes + 2, 2);
  std::memcpy(&from.sin6_addr, bytes + 8, 16);
  return true;
}

void write_header(Datagrams& own, const ibv_gid& gid, std::uint16_t port) {
  const bool v4 = is_ipv4(gid.raw);
  own.header_B = v4 ? kHeader4_B : kHeader6_B;
  own.header[0] = v4 ? 4 : 6;
  own.header[1] = own.header_B;
  std::memcpy(own.header + 2, &port, 2);
  std::memcpy(own.header + (v4 ? 4 : 8), gid.raw + (v4 ? 12 : 0), v4 ? 4 : 16);
}

int post_receive(Socket& socket, std::uint32_t slot) {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(socket.receive_buffer + std::size_t{slot} * kReceiveSlot_B),
                kReceiveSlot_B, socket.receive_mr->lkey};
  ibv_recv_wr receive{kReceiveMark | slot, nullptr, &piece, 1};
  ibv_recv_wr* bad = nullptr;
  return result(ibv_post_recv(socket.datagrams->qp, &receive, &bad));
}

int make_ready(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = RDMA_UDP_QKEY;
  int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attr.qp_state = IBV_QPS_RTR;
  if (error == 0) error = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
  attr.qp_state = IBV_QPS_RTS;
  if (error == 0) error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
  return result(error);
}

std::uint32_t slots(std::uint32_t buffer_B, std::uint32_t most) {
  const std::uint32_t count = buffer_B / kSlot_B < most ? buffer_B / kSlot_B : most;
  return count < kFewestWr ? kFewestWr : count;
}

// The queue pair and its buffers, on the device that the first message goes or comes by. 0, or -1 and errno.
int make_queue(Socket& socket, ibv_context* verbs, ibv_pd* pd) {
  Datagrams& own = *socket.datagrams;
  if (own.qp != nullptr) return own.qp->context == verbs ? 0 : result(ENETUNREACH);
  Sizes& sizes = socket.sizes;
  sizes.sends = slots(sizes.send_B, sizes.sends);
  sizes.receives = slots(sizes.receive_B, sizes.receives);
  if (make_completion_queue(socket, verbs) != 0) return -1;
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = socket.cq;
  init.qp_type = IBV_QPT_UD;
  init.sq_sig_all = 1;
  init.cap = {sizes.sends, sizes.receives, 1, 1, 0};
  own.qp = ibv_create_qp(pd, &init);
  if (own.qp == nullptr || make_ready(own.qp) != 0) return -1;
  const std::size_t sends_B = std::size_t{sizes.sends} * kSlot_B;
  const std::size_t receives_B = std::size_t{sizes.receives} * kReceiveSlot_B;
  socket.send_buffer = allocate(sends_B);
  socket.receive_buffer = allocate(receives_B);
  socket.lengths = static_cast<std::uint32_t*>(std::calloc(sizes.receives + 1, sizeof(std::uint32_t)));
  own.arrived_slots = static_cast<std::uint32_t*>(std::calloc(sizes.receives + 1, sizeof(std::uint32_t)));
  own.free_slots = static_cast<std::uint32_t*>(std::calloc(sizes.sends, sizeof(std::uint32_t)));
  if (socket.send_buffer == nullptr || socket.receive_buffer == nullptr || socket.lengths == nullptr ||
      own.arrived_slots == nullptr || own.free_slots == nullptr)
    return result(ENOMEM);
  socket.send_mr = ibv_reg_mr(pd, socket.send_buffer, sends_B, IBV_ACCESS_LOCAL_WRITE);
  socket.receive_mr = ibv_reg_mr(pd, socket.receive_buffer, receives_B, IBV_ACCESS_LOCAL_WRITE);
  if (socket.send_mr == nullptr || socket.receive_mr == nullptr) return -1;
  for (std::uint32_t i = 0; i < sizes.sends; ++i) own.free_slots[i] = i;
  socket.free_sends = sizes.sends;
  for (std::uint32_t i = 0; i < sizes.receives; ++i) {
    if (post_receive(socket, i) != 0) return -1;
  }
  ibv_gid gid{};
  if (ibv_query_gid(verbs, 1, kV2Gid, &gid) != 0) return -1;
  write_header(own, gid, rdma_get_src_port(socket.id));
  return 0;
}

Peer* find_peer(Datagrams& own, const sockaddr_in6& address) {
  Peer* peer = own.peers;
  while (peer != nullptr && std::memcmp(&peer->address, &address, sizeof address) != 0) peer = peer->next;
  return peer;
}

Peer* add_peer(Datagrams& own, const sockaddr_in6& address, ibv_ah* ah, std::uint32_t qpn) {
  auto* peer = ah == nullptr ? nullptr : make<Peer>();
  if (peer == nullptr) return nullptr;
  *peer = {own.peers, address, ah, qpn};
  own.peers = peer;
  return peer;
}

sockaddr_in6 address_of(const sockaddr* from) {
  sockaddr_in6 address{};
  std::memcpy(&address, from, from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  if (from->sa_family == AF_INET) std::memset(reinterpret_cast<sockaddr_in&>(address).sin_zero, 0, 8);
  return address;
}

// Others ask which queue pair the port is.
void answer_requests(Socket& socket) {
  while (has_event(socket.id->channel->fd)) {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(socket.id->channel, &event) != 0) return;
    rdma_cm_id* child = event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : nullptr;
    rdma_ack_cm_event(event);
    if (child == nullptr) continue;
    if (make_queue(socket, child->verbs, child->pd) == 0) {
      rdma_conn_param param{};
      param.qp_num = socket.datagrams->qp->qp_num;
      rdma_accept(child, &param);
    } else {
      rdma_reject(child, nullptr, 0);
    }
    rdma_destroy_id(child);
  }
}

void take_arrival(Socket& socket, const ibv_wc& wc) {
  Datagrams& own = *socket.datagrams;
  const auto slot = static_cast<std::uint32_t>(wc.wr_id);
  std::uint8_t* bytes = socket.receive_buffer + std::size_t{slot} * kReceiveSlot_B;
  sockaddr_in6 from;
  if (wc.status != IBV_WC_SUCCESS || !read_header(bytes + kGrh_B, wc.byte_len - kGrh_B, from)) {
    if (wc.status == IBV_WC_SUCCESS) post_receive(socket, slot);
    return;
  }
  // The way back is known now.
  if (find_peer(own, from) == nullptr) {
    ibv_wc copy = wc;
    add_peer(own, from, ibv_create_ah_from_wc(own.qp->pd, &copy, reinterpret_cast<ibv_grh*>(bytes), 1), wc.src_qp);
  }
  own.arrived_slots[socket.tail] = slot;
  socket.lengths[socket.tail] = wc.byte_len - kGrh_B;
  socket.tail = socket.tail == socket.sizes.receives ? 0 : socket.tail + 1;
}

void process_datagrams(Socket& socket, bool may_park) {
  answer_requests(socket);
  if (socket.cq == nullptr) return;
  if (!may_park) weft_forbid_park(1);
  ibv_wc wc;
  while (ibv_poll_cq(socket.cq, 1, &wc) > 0) {
    if ((wc.wr_id & kReceiveMark) != 0) {
      take_arrival(socket, wc);
    } else {
      socket.datagrams->free_slots[socket.free_sends++] = static_cast<std::uint32_t>(wc.wr_id);
    }
  }
  if (!may_park) weft_forbid_park(-1);
}

bool has_room(Socket& socket) {
  return socket.free_sends > 0;
}
bool has_arrived(Socket& socket) {
  return has_data(socket);
}
bool is_idle(Socket& socket) {
  return socket.free_sends == socket.sizes.sends;
}

// With the mutex held, which is released during a wait.
int wait_for(Socket& socket, bool waits, Test test) {
  for (bool looked = false;; looked = true) {
    process_datagrams(socket, !waits && looked);
    if (test(socket)) return 0;
    if (!waits && looked) return result(EAGAIN);
    if (!waits) continue;
    if (!socket.armed && socket.cq != nullptr) {
      arm(socket);
      continue;
    }
    pollfd fds[2] = {{socket.id->channel->fd, POLLIN, 0}, {socket.cq != nullptr ? socket.channel->fd : -1, POLLIN, 0}};
    pthread_mutex_unlock(&socket.mutex);
    const int ready = poll(fds, 2, -1);
    const int error = errno;
    pthread_mutex_lock(&socket.mutex);
    if (ready < 0) return result(error);
    if ((fds[1].revents & POLLIN) != 0 && has_event(fds[1].fd)) take_events(socket, true, false);
  }
}

int need_port(Socket& socket) {
  if (socket.datagrams->is_bound) return 0;
  sockaddr_in6 any{};
  any.sin6_family = static_cast<sa_family_t>(socket.family);
  return bind_datagrams(socket, reinterpret_cast<sockaddr*>(&any));
}

// Asks the peer, and answers others meanwhile, who may be the peer.
Peer* resolve(Socket& socket, const sockaddr_in6& address) {
  if (need_port(socket) != 0) return nullptr;
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(nullptr, &id, nullptr, RDMA_PS_UDP) != 0) return nullptr;
  sockaddr_in6 to = address;
  int status = rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), kResolveTimeout_ms);
  if (status == 0) status = rdma_resolve_route(id, kResolveTimeout_ms);
  if (status == 0) status = make_queue(socket, id->verbs, id->pd);
  if (status == 0) {
    fcntl(id->channel->fd, F_SETFL, fcntl(id->channel->fd, F_GETFL) | O_NONBLOCK);
    rdma_conn_param param{};
    param.qp_num = socket.datagrams->qp->qp_num;
    status = rdma_connect(id, &param);
    while (status != 0 && errno == EAGAIN) {
      pollfd fds[2] = {{id->channel->fd, POLLIN, 0}, {socket.id->channel->fd, POLLIN, 0}};
      if (poll(fds, 2, -1) < 0) break;
      answer_requests(socket);
      status = complete(id_of(id));
    }
    if (status != 0 && errno == EIO) errno = ECONNREFUSED;
  }
  Peer* peer = nullptr;
  if (status == 0) {
    rdma_ud_param& ud = id->event->param.ud;
    peer = add_peer(*socket.datagrams, address, ibv_create_ah(socket.datagrams->qp->pd, &ud.ah_attr), ud.qp_num);
  }
  const int error = errno;
  rdma_destroy_id(id);
  errno = error;
  return peer;
}

}  // namespace

int open_datagrams(Socket& socket) {
  socket.datagrams = make<Datagrams>();
  if (socket.datagrams == nullptr) return result(ENOMEM);
  fcntl(socket.fd, F_SETFL, fcntl(socket.fd, F_GETFL) | O_NONBLOCK);
  return 0;
}

void close_datagrams(Socket& socket) {
  Datagrams& own = *socket.datagrams;
  if (own.free_slots != nullptr) {
    const MutexGuard guard(socket.mutex);
    wait_for(socket, true, is_idle);
  }
  while (own.peers != nullptr) {
    Peer* peer = own.peers;
    own.peers = peer->next;
    ibv_destroy_ah(peer->ah);
    std::free(peer);
  }
  if (own.qp != nullptr) ibv_destroy_qp(own.qp);
  std::free(own.free_slots);
  std::free(own.arrived_slots);
  std::free(socket.datagrams);
  socket.datagrams = nullptr;
}

int bind_datagrams(Socket& socket, const sockaddr* address) {
  if (rdma_bind_addr(socket.id, const_cast<sockaddr*>(address)) != 0 || rdma_listen(socket.id, 0) != 0) return -1;
  socket.datagrams->is_bound = true;
  return 0;
}

int connect_datagrams(Socket& socket, const sockaddr* address) {
  const MutexGuard guard(socket.mutex);
  const sockaddr_in6 to = address_of(address);
  Peer* peer = find_peer(*socket.datagrams, to);
  if (peer == nullptr) peer = resolve(socket, to);
  if (peer == nullptr) return -1;
  socket.datagrams->connected = peer;
  return 0;
}

ssize_t send_datagram(Socket& socket, const iovec* pieces, int count, int flags, const sockaddr* to) {
  Datagrams& own = *socket.datagrams;
  Peer* peer = own.connected;
  if (to != nullptr) {
    const sockaddr_in6 address = address_of(to);
    peer = find_peer(own, address);
    if (peer == nullptr) peer = resolve(socket, address);
    if (peer == nullptr) return -1;
  }
  if (peer == nullptr) return result(EDESTADDRREQ);
  std::size_t size_B = 0;
  for (int i = 0; i < count; ++i) size_B += pieces[i].iov_len;
  if (size_B > kSlot_B - own.header_B) return result(EMSGSIZE);
  if (wait_for(socket, waits(socket, flags), has_room) != 0) return -1;
  const std::uint32_t slot = own.free_slots[--socket.free_sends];
  std::uint8_t* bytes = socket.send_buffer + std::size_t{slot} * kSlot_B;
  std::memcpy(bytes, own.header, own.header_B);
  Gather from{pieces, 0};
  while (from.piece != pieces + count && from.piece->iov_len == 0) ++from.piece;
  from.copy(bytes + own.header_B, size_B);
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(bytes), static_cast<std::uint32_t>(own.header_B + size_B),
                socket.send_mr->lkey};
  ibv_send_wr request{};
  request.wr_id = slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.wr.ud.ah = peer->ah;
  request.wr.ud.remote_qpn = peer->qpn;
  request.wr.ud.remote_qkey = RDMA_UDP_QKEY;
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(own.qp, &request, &bad); error != 0) return result(error);
  return static_cast<ssize_t>(size_B);
}

ssize_t receive_datagram(Socket& socket, const iovec* pieces, int count, int flags, sockaddr* from, socklen_t* from_B) {
  if (wait_for(socket, waits(socket, flags), has_arrived) != 0) return -1;
  const std::uint32_t slot = socket.datagrams->arrived_slots[socket.head];
  const std::uint8_t* bytes = socket.receive_buffer + std::size_t{slot} * kReceiveSlot_B + kGrh_B;
  sockaddr_in6 address;
  read_header(bytes, socket.lengths[socket.head], address);
  std::size_t left_B = socket.lengths[socket.head] - bytes[1], taken_B = 0;
  for (int i = 0; i < count && left_B > 0; ++i) {
    const std::size_t part_B = left_B < pieces[i].iov_len ? left_B : pieces[i].iov_len;
    std::memcpy(pieces[i].iov_base, bytes + bytes[1] + taken_B, part_B);
    taken_B += part_B;
    left_B -= part_B;
  }
  if (from != nullptr && from_B != nullptr) {
    const socklen_t all_B = address.sin6_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    std::memcpy(from, &address, *from_B < all_B ? *from_B : all_B);
    *from_B = all_B;
  }
  if ((flags & MSG_PEEK) == 0) {
    socket.head = socket.head == socket.sizes.receives ? 0 : socket.head + 1;
    if (post_receive(socket, slot) != 0) return -1;
  }
  return static_cast<ssize_t>(taken_B);
}

short ready_datagrams(Socket& socket, short wanted, bool may_park) {
  process_datagrams(socket, may_park);
  short ready = 0;
  if (has_data(socket)) ready = static_cast<short>(ready | (wanted & POLLIN));
  if (socket.cq == nullptr || has_room(socket)) ready = static_cast<short>(ready | (wanted & POLLOUT));
  return ready;
}

}  // namespace weft::verbs::cm::rs
