// Streams over RDMA: addresses, connections, their end.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {
namespace {

// Calls of RDMA CM on this id return EAGAIN instead of waiting.
void stop_waiting(const rdma_cm_id& id) {
  const int flags = fcntl(id.channel->fd, F_GETFL);
  fcntl(id.channel->fd, F_SETFL, flags | O_NONBLOCK);
}

int fail_connecting(Socket& socket, int error) {
  socket.state = State::kFailed;
  socket.error = error;
  return result(error);
}

// The peer has accepted.
int finish(Socket& socket) {
  const rdma_conn_param& param = socket.id->event->param.conn;
  ConnectData data{};
  if (param.private_data == nullptr || param.private_data_len < sizeof data) return fail_connecting(socket, ENOTSUP);
  std::memcpy(&data, param.private_data, sizeof data);
  if (data.version != kVersion) return fail_connecting(socket, ENOTSUP);
  take_connect_data(socket, data);
  socket.state = State::kConnected;
  process(socket, false);
  return 0;
}

int start_connecting(Socket& socket, const sockaddr* address) {
  rdma_cm_id* id = socket.id;
  sockaddr_storage to{};
  std::memcpy(&to, address, address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  if (rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), kResolveTimeout_ms) != 0) {
    // Another address may answer.
    if (errno == ETIMEDOUT) errno = EHOSTUNREACH;
    return -1;
  }
  if (rdma_resolve_route(id, kResolveTimeout_ms) != 0 || make_endpoint(socket) != 0) return -1;
  const ConnectData data = connect_data(socket);
  rdma_conn_param param{};
  param.private_data = &data;
  param.private_data_len = sizeof data;
  param.flow_control = 1;
  param.retry_count = param.rnr_retry_count = 7;
  if (!waits(socket, 0)) stop_waiting(*id);
  socket.state = State::kConnecting;
  return rdma_connect(id, &param);
}

int accept_request(Socket& socket) {
  const rdma_conn_param& asked = socket.id->event->param.conn;
  ConnectData data{};
  if (asked.private_data == nullptr || asked.private_data_len < sizeof data) return result(ENOTSUP);
  std::memcpy(&data, asked.private_data, sizeof data);
  if (data.version != kVersion) return result(ENOTSUP);
  if (make_endpoint(socket) != 0) return -1;
  take_connect_data(socket, data);
  const ConnectData answer = connect_data(socket);
  rdma_conn_param param = asked;
  param.private_data = &answer;
  param.private_data_len = sizeof answer;
  // The peer's last word comes later: it may be a thread of this very process, even this one.
  stop_waiting(*socket.id);
  if (rdma_accept(socket.id, &param) == 0) {
    socket.state = State::kConnected;
    process(socket, false);
    return 0;
  }
  if (errno != EAGAIN) return -1;
  socket.state = State::kAccepting;
  return 0;
}

void copy_address(const sockaddr& from, sockaddr* to, socklen_t* size_B) {
  const socklen_t all_B = from.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(to, &from, *size_B < all_B ? *size_B : all_B);
  *size_B = all_B;
}

}  // namespace

int advance(Socket& socket) {
  if (socket.state != State::kConnecting) return 0;
  if (complete(id_of(socket.id)) == 0) return finish(socket);
  return errno == EAGAIN ? result(EINPROGRESS) : fail_connecting(socket, errno);
}

}  // namespace weft::verbs::cm::rs

using namespace weft::verbs;
using namespace weft::verbs::cm;
using namespace weft::verbs::cm::rs;

int rbind(int fd, const sockaddr* address, socklen_t) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  if (socket->datagrams != nullptr) return bind_datagrams(*socket, address);
  if (rdma_bind_addr(socket->id, const_cast<sockaddr*>(address)) != 0) return -1;
  socket->state = State::kBound;
  return 0;
}

int rlisten(int fd, int backlog) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  if (socket->datagrams != nullptr) return result(EOPNOTSUPP);
  if (socket->state == State::kListening) return 0;
  if (rdma_listen(socket->id, backlog) != 0) return -1;
  socket->state = State::kListening;
  return 0;
}

int raccept(int fd, sockaddr* address, socklen_t* size_B) {
  Socket* listener = find(fd);
  if (listener == nullptr) return -1;
  if (listener->state != State::kListening) return result(EINVAL);
  for (;;) {
    if (!waits(*listener, 0)) {
      pollfd request{listener->fd, POLLIN, 0};
      if (poll(&request, 1, 0) <= 0) return result(EAGAIN);
    }
    rdma_cm_id* id = nullptr;
    if (rdma_get_request(listener->id, &id) != 0) return -1;
    Socket* socket = make_socket(listener, SOCK_STREAM, listener->family);
    if (socket == nullptr) {
      rdma_reject(id, nullptr, 0);
      rdma_destroy_id(id);
      return -1;
    }
    socket->id = id;
    id->context = socket;
    if (enter(*socket, id->channel->fd) >= 0 && accept_request(*socket) == 0) {
      if (address != nullptr && size_B != nullptr) rgetpeername(socket->fd, address, size_B);
      return socket->fd;
    }
    // A peer that does not speak the protocol is dropped.
    const int error = errno;
    rdma_reject(id, nullptr, 0);
    free_socket(socket);
    if (error != ENOTSUP) return result(error);
  }
}

int rconnect(int fd, const sockaddr* address, socklen_t) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
    return result(EAFNOSUPPORT);
  if (socket->datagrams != nullptr) return connect_datagrams(*socket, address);
  const MutexGuard guard(socket->mutex);
  switch (socket->state) {
    case State::kInit:
    case State::kBound:
      break;
    case State::kConnecting:
      return advance(*socket) == 0 ? 0 : result(errno == EINPROGRESS ? EALREADY : errno);
    case State::kConnected:
    case State::kAccepting:
      return result(EISCONN);
    default:
      return result(EINVAL);
  }
  if (start_connecting(*socket, address) == 0) return finish(*socket);
  if (socket->state == State::kConnecting && errno == EAGAIN) return result(EINPROGRESS);
  return fail_connecting(*socket, errno);
}

int rshutdown(int fd, int how) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  if (socket->datagrams != nullptr) return 0;
  const MutexGuard guard(socket->mutex);
  if (!is_connected(*socket)) return socket->state == State::kDisconnected ? 0 : result(ENOTCONN);
  const bool reads = socket->can_read && how == SHUT_WR;
  const bool writes = socket->can_write && how == SHUT_RD;
  socket->can_read = reads;
  socket->can_write = writes;
  pthread_cond_broadcast(&socket->changed);
  if (how == SHUT_RD && writes) return 0;
  return send_control(*socket, reads ? kShutdown : kDisconnect);
}

int rclose(int fd) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  if (is_connected(*socket)) rshutdown(fd, SHUT_RDWR);
  free_socket(socket);
  return 0;
}

int rgetpeername(int fd, sockaddr* address, socklen_t* size_B) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  if (socket->state < State::kConnecting) return result(ENOTCONN);
  copy_address(socket->id->route.addr.dst_addr, address, size_B);
  return 0;
}

int rgetsockname(int fd, sockaddr* address, socklen_t* size_B) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  copy_address(socket->id->route.addr.src_addr, address, size_B);
  return 0;
}
