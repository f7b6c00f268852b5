// UDP between nodes is not simulated. What a program would send to another node must not go out into the machine's own
// network instead: it is refused, with the reason.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>

#include "preload/process.h"
#include "preload/real.h"
#include "preload/stream_address.h"
#include "preload/streams.h"
#include "verbs/address.h"
#include "verbs/node_protocol.h"

namespace weft::preload {

namespace {

constinit std::atomic<bool> told{false};

bool is_udp(int fd) {
  int type = 0, protocol = 0;
  socklen_t size_B = sizeof type;
  return WEFT_REAL(getsockopt)(fd, SOL_SOCKET, SO_TYPE, &type, &size_B) == 0 && type == SOCK_DGRAM &&
         WEFT_REAL(getsockopt)(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size_B) == 0 && protocol == IPPROTO_UDP;
}

}  // namespace

bool refuses_datagrams(int fd, const sockaddr* to, socklen_t to_B) {
  verbs::Address address;
  std::uint32_t port;
  if (!this_process().attached || to == nullptr || !read_address(to, to_B, address, port) || !is_udp(fd)) return false;
  verbs::Route route;
  if (verbs::call(verbs::Op::kRouteTo, address, route) != 0 || route.is_node == 0) return false;
  if (!told.exchange(true)) {
    char text[INET6_ADDRSTRLEN] = "?";
    const void* bytes = verbs::is_ipv4(address) ? address.bytes + verbs::kIpv4At : address.bytes;
    inet_ntop(verbs::is_ipv4(address) ? AF_INET : AF_INET6, bytes, text, sizeof text);
    say("UDP to %s, port %d: between nodes only TCP and RDMA are simulated", text, static_cast<int>(port));
  }
  return true;
}

}  // namespace weft::preload
