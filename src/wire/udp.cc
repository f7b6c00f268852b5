#include "wire/udp.h"

namespace weft::wire {

tl::expected<UdpView, WireError> UdpView::parse(Bytes datagram) {
  if (datagram.size() < kUdpSize_B) return tl::unexpected(WireError::kTruncated);
  if (be16(datagram, 4) != datagram.size()) return tl::unexpected(WireError::kBadUdpLength);
  return UdpView(datagram);
}

void write_udp(const UdpHeader& header, MutableBytes out) {
  put_be16(out, 0, header.src_port);
  put_be16(out, 2, header.dst_port);
  put_be16(out, 4, header.length_B);
  put_be16(out, 6, header.checksum);
}

}  // namespace weft::wire
