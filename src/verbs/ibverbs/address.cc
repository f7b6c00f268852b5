// Address handles, and addresses that are found from what arrived.
#include "verbs/address.h"

#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

int to_world(const ibv_ah_attr& attr, AhAttr& out) {
  if (attr.is_global == 0 || attr.port_num != kPort) return EINVAL;
  std::memcpy(out.dgid, attr.grh.dgid.raw, sizeof out.dgid);
  out.sgid_index = attr.grh.sgid_index;
  out.traffic_class = attr.grh.traffic_class;
  out.hop_limit = attr.grh.hop_limit;
  out.flow_label = attr.grh.flow_label;
  out.sl = attr.sl;
  return 0;
}

void from_world(const AhAttr& attr, ibv_ah_attr& out) {
  out = {};
  std::memcpy(out.grh.dgid.raw, attr.dgid, sizeof attr.dgid);
  out.grh.sgid_index = static_cast<std::uint8_t>(attr.sgid_index);
  out.grh.traffic_class = static_cast<std::uint8_t>(attr.traffic_class);
  out.grh.hop_limit = static_cast<std::uint8_t>(attr.hop_limit);
  out.grh.flow_label = attr.flow_label;
  out.sl = static_cast<std::uint8_t>(attr.sl);
  out.is_global = 1;
  out.port_num = kPort;
}

namespace {

constexpr std::size_t kGrh_B = 40, kIpv4Header_B = 20;

// Sender and receiver of a datagram, as GIDs, with the fields that an answer keeps.
struct Route {
  std::uint8_t source[16], destination[16];
  std::uint32_t flow_label;
  std::uint8_t traffic_class;
  bool is_ipv4;
};

// RFC 1071, over an IPv4 header with its checksum in place.
bool has_good_checksum(const std::uint8_t* ip) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpv4Header_B; i += 2) sum += static_cast<std::uint32_t>(ip[i] << 8 | ip[i + 1]);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

void map(const std::uint8_t* ipv4, std::uint8_t* gid) {
  const Address address = mapped(ipv4);
  std::memcpy(gid, address.bytes, sizeof address.bytes);
}

// The 40 bytes before a datagram hold a GRH or an IPv6 header; an IPv4 header has their last 20 (RoCEv2, annex A17).
bool read_route(const ibv_grh& grh, Route& route) {
  std::uint8_t bytes[kGrh_B];
  std::memcpy(bytes, &grh, sizeof bytes);
  const std::uint8_t* ipv4 = bytes + kGrh_B - kIpv4Header_B;
  if (ipv4[0] == 0x45 && has_good_checksum(ipv4)) {
    map(ipv4 + 12, route.source);
    map(ipv4 + 16, route.destination);
    route.flow_label = 0;
    route.traffic_class = ipv4[1];
    route.is_ipv4 = true;
    return true;
  }
  if (bytes[0] >> 4 != 6) return false;
  std::memcpy(route.source, bytes + 8, sizeof route.source);
  std::memcpy(route.destination, bytes + 24, sizeof route.destination);
  route.flow_label = static_cast<std::uint32_t>((bytes[1] & 0xf) << 16 | bytes[2] << 8 | bytes[3]);
  route.traffic_class = static_cast<std::uint8_t>(bytes[0] << 4 | bytes[1] >> 4);
  route.is_ipv4 = false;
  return true;
}

constexpr int kFirstV2Gid = 1;

// The entry of the GID table with this address: the last one, for RoCE v2 stands behind v1.
int find_gid(const DeviceInfo& info, const std::uint8_t* gid) {
  for (std::uint32_t i = info.gid_count; i-- > 0;) {
    if (std::memcmp(info.gids[i].raw, gid, sizeof info.gids[i].raw) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void warn_of_roce_v1(ibv_context* context, const ibv_ah_attr& attr) {
  const DeviceInfo info = device_info(*context);
  const std::uint32_t index = attr.grh.sgid_index;
  if (index >= info.gid_count || info.gids[index].type == IBV_GID_TYPE_ROCE_V2) return;
  dprintf(STDERR_FILENO,
          "weft: GID index %u of %s is RoCE v1, which is not simulated; use a RoCE v2 entry (perftest: -x 3)\n", index,
          info.name);
}

}  // namespace weft::verbs

using namespace weft::verbs;

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  CreateAh request{pd->handle, {}};
  if (const int error = to_world(*attr, request.attr); error != 0) return fail(error);
  auto* ah = make<ibv_ah>();
  if (ah == nullptr) return fail(ENOMEM);
  Handle reply;
  if (const int error = call(Op::kCreateAh, request, reply); error != 0) {
    if (error == EOPNOTSUPP) warn_of_roce_v1(pd->context, *attr);
    std::free(ah);
    return fail(error);
  }
  *ah = {pd->context, pd, reply.handle};
  return ah;
}

int ibv_destroy_ah(ibv_ah* ah) {
  if (const int error = destroy(Kind::kAh, ah->handle); error != 0) return error;
  std::free(ah);
  return 0;
}

int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attr) {
  *attr = {};
  attr->sl = wc->sl;
  attr->port_num = port;
  if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;
  Route route;
  if (!read_route(*grh, route)) return EINVAL;
  const int index = find_gid(device_info(*context), route.destination);
  // A group has no entry of its own; the answer leaves from the first of RoCE v2.
  const bool is_group = route.destination[0] == 0xff || (route.is_ipv4 && route.destination[12] >> 4 == 0xe);
  if (index < 0 && !is_group) return EINVAL;
  attr->is_global = 1;
  std::memcpy(attr->grh.dgid.raw, route.source, sizeof route.source);
  attr->grh.sgid_index = static_cast<std::uint8_t>(index < 0 ? kFirstV2Gid : index);
  attr->grh.hop_limit = 0xff;
  attr->grh.flow_label = route.flow_label;
  attr->grh.traffic_class = route.traffic_class;
  return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attr;
  if (const int error = ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr); error != 0) return fail(error);
  return ibv_create_ah(pd, &attr);
}

// Finds an Ethernet address where the GID holds one: groups, and interface identifiers made of a MAC address (RFC 4291
// appendix A). The world resolves all others by itself.
int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr* attr, std::uint8_t eth_mac[ETHERNET_LL_SIZE],
                                std::uint16_t* vid) {
  const std::uint8_t* gid = attr->grh.dgid.raw;
  if (vid != nullptr) *vid = 0xffff;  // no VLAN
  if (gid[0] == 0xff) {
    eth_mac[0] = eth_mac[1] = 0x33;
    std::memcpy(eth_mac + 2, gid + 12, 4);
    return 0;
  }
  if (gid[11] != 0xff || gid[12] != 0xfe) return EOPNOTSUPP;
  std::memcpy(eth_mac, gid + 8, 3);
  std::memcpy(eth_mac + 3, gid + 13, 3);
  eth_mac[0] ^= 2;
  return 0;
}
