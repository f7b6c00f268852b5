// Frames inside frames: ERSPAN of a mirroring switch, VXLAN of an overlay. What is inside is decoded in place of the
// outer frame; the tunnel keeps its kind, session or network identifier, and sequence number.
#include "analyze/frames/decoder.h"
#include "wire/erspan.h"

namespace weft::analyze::detail {
namespace {

constexpr std::size_t kPlainGre_B = 4;
constexpr std::size_t kVxlan_B = 8;

}  // namespace

// ERSPAN type I is GRE without sequence number and has no header of its own.
void Decoder::gre(Rest rest) {
  if (rest.bytes.size() < kPlainGre_B) return;
  const std::uint16_t flags = wire::be16(rest.bytes, 0);
  const std::uint16_t protocol = wire::be16(rest.bytes, 2);
  if (flags == 0 && protocol == wire::kGreErspan2) {
    if (frame_.mirror.source == kNone) frame_.mirror = {frame_.src, 0};
    inside_tunnel(Tunnel::kErspan1, 0, rest.after(kPlainGre_B));
    return;
  }
  const auto erspan = wire::ErspanView::parse(rest.bytes);
  if (!erspan) return;
  const wire::Erspan& header = erspan->header();
  mirror_cuts_ = header.truncated;
  if (frame_.mirror.source == kNone) {
    frame_.mirror = {frame_.src, header.session};
    frame_.mirror_sequence = header.sequence;
  }
  const std::size_t headers_B = rest.bytes.size() - erspan->frame().size();
  inside_tunnel(header.type == wire::ErspanType::kII ? Tunnel::kErspan2 : Tunnel::kErspan3, header.session,
                rest.after(headers_B));
}

void Decoder::vxlan(Rest rest) {
  constexpr std::uint8_t kHasNetworkId = 0x08;
  if (rest.bytes.size() < kVxlan_B || (rest.bytes[0] & kHasNetworkId) == 0) return;
  mirror_cuts_ = false;
  inside_tunnel(Tunnel::kVxlan, wire::be24(rest.bytes, 4), rest.after(kVxlan_B));
}

void Decoder::inside_tunnel(Tunnel tunnel, std::uint32_t id, Rest rest) {
  if (++tunnels_ > kMostTunnels) return;
  Frame inner;
  inner.number = frame_.number;
  inner.time_ns = frame_.time_ns;
  inner.point = frame_.point;
  inner.direction = frame_.direction;
  inner.captured_B = frame_.captured_B;
  inner.wire_B = static_cast<std::uint32_t>(rest.wire_B);
  inner.cut = frame_.cut;
  inner.tunnel = tunnel;
  inner.tunnel_id = id;
  inner.mirror = frame_.mirror;
  inner.mirror_sequence = frame_.mirror_sequence;
  frame_ = inner;
  has_options_ = is_fragment_ = false;
  ethernet(rest);
}

}  // namespace weft::analyze::detail
