#include "preload/sockets/stream_address.h"

#include <netinet/in.h>
#include <string.h>

#include <algorithm>

#include "verbs/address.h"

namespace weft::preload {

namespace {

// Any address is all zero, whatever its family.
verbs::Address address_of(std::uint32_t network_order) {
  return network_order == INADDR_ANY ? verbs::Address{} : verbs::mapped(&network_order);
}

}  // namespace

bool read_address(const sockaddr* from, socklen_t size_B, verbs::Address& address, std::uint32_t& port) {
  if (from == nullptr || size_B < sizeof(sa_family_t)) return false;
  if (from->sa_family == AF_INET && size_B >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    memcpy(&in, from, sizeof in);
    address = address_of(in.sin_addr.s_addr);
    port = ntohs(in.sin_port);
    return true;
  }
  if (from->sa_family == AF_INET6 && size_B >= offsetof(sockaddr_in6, sin6_scope_id)) {
    sockaddr_in6 in{};
    memcpy(&in, from, std::min<std::size_t>(size_B, sizeof in));
    // One loopback is enough: the world's nodes have the address of IPv4.
    if (IN6_IS_ADDR_LOOPBACK(&in.sin6_addr)) {
      address = address_of(htonl(INADDR_LOOPBACK));
    } else {
      memcpy(address.bytes, &in.sin6_addr, sizeof address.bytes);
    }
    port = ntohs(in.sin6_port);
    return true;
  }
  return false;
}

void write_address(int family, const verbs::Address& address, std::uint32_t port, sockaddr* to, socklen_t* size_B) {
  if (size_B == nullptr || (to == nullptr && *size_B != 0)) return;
  union {
    sockaddr_in in;
    sockaddr_in6 in6;
  } full;
  memset(&full, 0, sizeof full);
  socklen_t full_B;
  if (family == AF_INET) {
    full.in.sin_family = AF_INET;
    full.in.sin_port = htons(static_cast<std::uint16_t>(port));
    memcpy(&full.in.sin_addr, address.bytes + verbs::kIpv4At, sizeof full.in.sin_addr);
    full_B = sizeof full.in;
  } else {
    full.in6.sin6_family = AF_INET6;
    full.in6.sin6_port = htons(static_cast<std::uint16_t>(port));
    memcpy(&full.in6.sin6_addr, address.bytes, sizeof full.in6.sin6_addr);
    full_B = sizeof full.in6;
  }
  if (*size_B != 0) memcpy(to, &full, std::min(*size_B, full_B));
  *size_B = full_B;
}

}  // namespace weft::preload
