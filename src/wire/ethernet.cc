#include "wire/ethernet.h"

#include <algorithm>

namespace weft::wire {

tl::expected<EthernetView, WireError> EthernetView::parse(Bytes frame) {
  if (frame.size() < kEthernetSize_B) return tl::unexpected(WireError::kTruncated);
  if (be16(frame, 12) != kEtherTypeVlan) return EthernetView(frame, kEthernetSize_B);
  if (frame.size() < kEthernetSize_B + kVlanTagSize_B) return tl::unexpected(WireError::kTruncated);
  return EthernetView(frame, kEthernetSize_B + kVlanTagSize_B);
}

MacAddress EthernetView::dst() const {
  MacAddress mac;
  std::copy_n(bytes_.begin(), mac.size(), mac.begin());
  return mac;
}

MacAddress EthernetView::src() const {
  MacAddress mac;
  std::copy_n(bytes_.begin() + 6, mac.size(), mac.begin());
  return mac;
}

std::optional<std::uint16_t> EthernetView::vlan_tci() const {
  if (header_size_B_ == kEthernetSize_B) return std::nullopt;
  return be16(bytes_, 14);
}

std::size_t write_ethernet(const EthernetHeader& header, MutableBytes out) {
  const std::size_t size_B = ethernet_size_B(header);
  std::copy(header.dst.begin(), header.dst.end(), out.begin());
  std::copy(header.src.begin(), header.src.end(), out.begin() + 6);
  if (header.vlan_tci) {
    put_be16(out, 12, kEtherTypeVlan);
    put_be16(out, 14, *header.vlan_tci);
  }
  put_be16(out, size_B - 2, header.ether_type);
  return size_B;
}

}  // namespace weft::wire
