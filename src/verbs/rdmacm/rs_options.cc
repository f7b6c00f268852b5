// Options of sockets over RDMA. What has no meaning for a reliable connection is taken and kept, as programs expect.
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {
namespace {

void set_bit(std::uint64_t& bits, int option, bool on) {
  bits = on ? bits | std::uint64_t{1} << option : bits & ~(std::uint64_t{1} << option);
}
bool bit(std::uint64_t bits, int option) {
  return (bits >> option & 1) != 0;
}

// Options of rdma/rsocket.h, for an id: 0, or -1 and errno. One that is bound keeps what it has.
int set_id_option(Socket& socket, int option, int value) {
  if (socket.type != SOCK_STREAM || socket.state != State::kInit) return 0;
  return rdma_set_option(socket.id, RDMA_OPTION_ID, option, &value, sizeof value);
}

int set_socket_option(Socket& socket, int option, int value) {
  switch (option) {
    case SO_REUSEADDR:
      if (set_id_option(socket, RDMA_OPTION_ID_REUSEADDR, value) != 0) return -1;
      break;
    case SO_RCVBUF:
      if (socket.receive_buffer == nullptr) socket.sizes.receive_B = static_cast<std::uint32_t>(value) * 2;
      return 0;
    case SO_SNDBUF:
      if (socket.send_buffer == nullptr) socket.sizes.send_B = static_cast<std::uint32_t>(value) * 2;
      return 0;
    case SO_LINGER:  // begins with l_onoff
    case SO_KEEPALIVE:
    case SO_OOBINLINE:
      break;
    default:
      return result(ENOTSUP);
  }
  set_bit(socket.socket_options, option, value != 0);
  return 0;
}

int set_tcp_option(Socket& socket, int option, int value) {
  switch (option) {
    case TCP_KEEPIDLE:
      if (value <= 0) return result(EINVAL);
      socket.keep_idle_s = value;
      return 0;
    case TCP_KEEPCNT:
    case TCP_KEEPINTVL:
    case TCP_MAXSEG:
      return 0;
    case TCP_NODELAY:
      set_bit(socket.tcp_options, option, value != 0);
      return 0;
    default:
      return result(ENOTSUP);
  }
}

int set_rdma_option(Socket& socket, int option, int value) {
  if (socket.state > State::kListening) return result(EINVAL);
  if (value < 0) return result(EINVAL);
  const auto count = static_cast<std::uint32_t>(value) < kMostWr ? static_cast<std::uint32_t>(value) : kMostWr;
  switch (option) {
    case RDMA_SQSIZE:
      socket.sizes.sends = count;
      return 0;
    case RDMA_RQSIZE:
      socket.sizes.receives = count;
      return 0;
    case RDMA_INLINE:
      socket.sizes.inline_B = count;
      return 0;
    case RDMA_IOMAPSIZE:
      // Largest number that one byte of the private data can carry.
      socket.sizes.mappings = count <= 128 ? count : count & 0x7f00;
      return 0;
    default:
      return result(ENOTSUP);
  }
}

// -1: there is no such option.
int get_option(Socket& socket, int level, int option) {
  if (level == SOL_SOCKET) {
    switch (option) {
      case SO_REUSEADDR:
      case SO_KEEPALIVE:
      case SO_OOBINLINE:
        return bit(socket.socket_options, option) ? 1 : 0;
      case SO_RCVBUF:
        return static_cast<int>(socket.sizes.receive_B);
      case SO_SNDBUF:
        return static_cast<int>(socket.sizes.send_B);
      case SO_TYPE:
        return socket.type;
      case SO_ERROR: {
        const int error = socket.error;
        socket.error = 0;
        return error;
      }
      default:
        return -1;
    }
  }
  if (level == IPPROTO_TCP) {
    switch (option) {
      case TCP_KEEPCNT:
      case TCP_KEEPINTVL:
        return 1;
      case TCP_KEEPIDLE:
        return socket.keep_idle_s;
      case TCP_NODELAY:
        return bit(socket.tcp_options, option) ? 1 : 0;
      case TCP_MAXSEG:
        return socket.id->route.num_paths > 0 ? 1 << (7 + socket.id->route.path_rec->mtu) : 2048;
      default:
        return -1;
    }
  }
  if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY) return bit(socket.ipv6_options, option) ? 1 : 0;
  if (level != SOL_RDMA) return -1;
  switch (option) {
    case RDMA_SQSIZE:
      return static_cast<int>(socket.sizes.sends);
    case RDMA_RQSIZE:
      return static_cast<int>(socket.sizes.receives);
    case RDMA_INLINE:
      return static_cast<int>(socket.sizes.inline_B);
    case RDMA_IOMAPSIZE:
      return static_cast<int>(socket.sizes.mappings);
    default:
      return -1;
  }
}

}  // namespace
}  // namespace weft::verbs::cm::rs

using namespace weft::verbs;
using namespace weft::verbs::cm;
using namespace weft::verbs::cm::rs;

int rsetsockopt(int fd, int level, int option, const void* value, socklen_t size_B) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  int number = 0;
  if (value == nullptr || size_B < sizeof number) return result(EINVAL);
  std::memcpy(&number, value, sizeof number);
  const MutexGuard guard(socket->mutex);
  switch (level) {
    case SOL_SOCKET:
      return set_socket_option(*socket, option, number);
    case IPPROTO_TCP:
      return set_tcp_option(*socket, option, number);
    case IPPROTO_IPV6:
      if (option != IPV6_V6ONLY) return result(ENOTSUP);
      if (set_id_option(*socket, RDMA_OPTION_ID_AFONLY, number) != 0) return -1;
      set_bit(socket->ipv6_options, option, number != 0);
      return 0;
    case SOL_RDMA:
      return set_rdma_option(*socket, option, number);
    default:
      return result(ENOTSUP);
  }
}

int rgetsockopt(int fd, int level, int option, void* value, socklen_t* size_B) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  const MutexGuard guard(socket->mutex);
  if (level == SOL_SOCKET && option == SO_LINGER) {
    const linger all{bit(socket->socket_options, option) ? 1 : 0, 0};
    if (*size_B < sizeof all) return result(EINVAL);
    std::memcpy(value, &all, sizeof all);
    *size_B = sizeof all;
    return 0;
  }
  if (socket->state == State::kConnecting && option == SO_ERROR) advance(*socket);
  const int number = get_option(*socket, level, option);
  if (number < 0) return result(ENOTSUP);
  if (*size_B < sizeof number) return result(EINVAL);
  std::memcpy(value, &number, sizeof number);
  *size_B = sizeof number;
  return 0;
}
