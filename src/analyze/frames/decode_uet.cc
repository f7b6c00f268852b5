// Ultra Ethernet transport on IP itself, and the CRC that tells it.
#include "analyze/frames/decode.h"
#include "analyze/frames/decoder.h"
#include "wire/ipv4.h"
#include "wire/udp.h"
#include "wire/uet.h"

namespace weft::analyze {

bool uet_crc_fits(const Frame& frame) {
  if (frame.payload.size() < wire::kUetCrc_B) return false;
  const std::size_t covered_B = frame.ip.size() - wire::kUetCrc_B;
  std::optional<std::size_t> udp_at;
  if (frame.ip_protocol == wire::kIpProtocolUdp)
    udp_at = static_cast<std::size_t>(frame.payload.data() - frame.ip.data()) - wire::kUdpSize_B;
  return wire::uet_crc(frame.ip.first(covered_B), udp_at) == wire::be32(frame.ip, covered_B);
}

namespace detail {

// Protocol 253 is for experiments of anyone: UET is what carries its CRC.
void Decoder::uet_on_ip(Rest rest) {
  frame_.payload = rest.after(wire::kUetEntropy_B).bytes;
  if (!frame_.cut && uet_crc_fits(frame_)) frame_.kind = FrameKind::kUet;
}

}  // namespace detail
}  // namespace weft::analyze
