#include "preload/stream_address.h"

#include <netinet/in.h>
#include <string.h>

#include <algorithm>

namespace weft::preload {

namespace {

constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

void map_ipv4(std::uint32_t network_order, verbs::Address& address) {
  address = {};
  if (network_order == INADDR_ANY) return;
  memcpy(address.bytes, kMapped, sizeof kMapped);
  memcpy(address.bytes + sizeof kMapped, &network_order, sizeof network_order);
}

}  // namespace

bool is_mapped_ipv4(const verbs::Address& address) {
  return memcmp(address.bytes, kMapped, sizeof kMapped) == 0;
}

bool read_address(const sockaddr* from, socklen_t size_B, verbs::Address& address, std::uint32_t& port) {
  if (from == nullptr || size_B < sizeof(sa_family_t)) return false;
  if (from->sa_family == AF_INET && size_B >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    memcpy(&in, from, sizeof in);
    map_ipv4(in.sin_addr.s_addr, address);
    port = ntohs(in.sin_port);
    return true;
  }
  if (from->sa_family == AF_INET6 && size_B >= offsetof(sockaddr_in6, sin6_scope_id)) {
    sockaddr_in6 in{};
    memcpy(&in, from, std::min<std::size_t>(size_B, sizeof in));
    // One loopback is enough: the world's nodes have the address of IPv4.
    if (IN6_IS_ADDR_LOOPBACK(&in.sin6_addr)) {
      map_ipv4(htonl(INADDR_LOOPBACK), address);
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
    memcpy(&full.in.sin_addr, address.bytes + sizeof kMapped, sizeof full.in.sin_addr);
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
