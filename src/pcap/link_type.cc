#include "pcap/link_type.h"

namespace weft::pcap {

std::string_view link_type_name(std::uint16_t link_type) {
  switch (link_type) {
    case kLinkTypeNull:
      return "BSD loopback";
    case kLinkTypeEthernet:
      return "Ethernet";
    case kLinkTypeRawDlt:
    case kLinkTypeRaw:
      return "raw IP";
    case kLinkTypeIpv4:
      return "raw IPv4";
    case kLinkTypeIpv6:
      return "raw IPv6";
    case kLinkTypeLinuxCooked:
      return "Linux cooked";
    case kLinkTypeLinuxCooked2:
      return "Linux cooked v2";
    case kLinkTypeErf:
      return "ERF";
    case kLinkTypeInfiniBand:
      return "InfiniBand";
    default:
      return "unknown";
  }
}

}  // namespace weft::pcap
