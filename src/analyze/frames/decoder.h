// The layers of a frame, one function each, from the link to the UDP port; decode.h is the way in. A layer reads what
// the capture holds (`Rest::bytes`) and believes no length that goes beyond what was on the wire (`Rest::wire_B`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "analyze/frames/addresses.h"
#include "analyze/frames/decode.h"
#include "analyze/frames/frame.h"
#include "wire/bytes.h"

namespace weft::analyze::detail {

// Rest to read: the captured bytes, and how many there were on the wire.
struct Rest {
  wire::Bytes bytes;
  std::size_t wire_B;

  Rest after(std::size_t size_B) const {
    return {bytes.subspan(std::min(size_B, bytes.size())), wire_B - std::min(size_B, wire_B)};
  }
  Rest first(std::size_t size_B) const {
    return {bytes.first(std::min(size_B, bytes.size())), std::min(size_B, wire_B)};
  }
  bool whole() const { return bytes.size() == wire_B; }
};

constexpr int kMostTunnels = 4;  // one in another

class Decoder {
 public:
  Decoder(const DecodeOptions& options, Addresses& addresses, Frame& frame)
      : options_(options), addresses_(addresses), frame_(frame) {}

  void link(std::uint16_t link_type, Rest rest);

 private:
  // decode_link.cc
  void ethernet(Rest rest);
  void tagged(std::uint16_t type, Rest rest);
  void linux_cooked(Rest rest);
  void linux_cooked2(Rest rest);
  void cooked_origin(unsigned packet_type, wire::Bytes address, std::size_t address_B);
  void bsd_loopback(Rest rest);
  void raw_ip(Rest rest);
  void erf(Rest rest);
  void infiniband(Rest rest);
  void mac_control(Rest rest);

  // decode.cc
  void ether_type(std::uint16_t type, Rest rest);
  void ipv4(Rest rest);
  void ipv6(Rest rest);
  bool ipv6_extensions(Rest& rest);
  void network_header(wire::Bytes ip, std::uint8_t version);
  void roce_v1(Rest rest);
  void fit_to(std::size_t total_B, std::size_t udp_at, Rest& rest);
  void above_ip(Rest ip, Rest rest);
  void udp(Rest ip, Rest rest);
  bool udp_checksum_fits(Rest ip, Rest udp) const;
  void int_md(Rest rest);
  void ifa(Rest rest);
  void uet_on_ip(Rest rest);
  void check_icrc(wire::Bytes packet, std::uint32_t (*crc)(wire::Bytes));

  // decode_tunnel.cc
  void gre(Rest rest);
  void vxlan(Rest rest);
  void inside_tunnel(Tunnel tunnel, std::uint32_t id, Rest rest);

  const DecodeOptions& options_;
  Addresses& addresses_;
  Frame& frame_;
  int tunnels_ = 0;            // entered
  bool has_ethernet_ = false;  // the frame may have padding and FCS behind its IP packet
  bool mirror_cuts_ = false;   // ERSPAN says that the mirrored frame is not whole
  bool is_fragment_ = false;   // of an IP packet
  bool has_options_ = false;   // IP options or extension headers: no ICRC is defined
};

// From the BTH to the end of the ICRC: `bytes` what is captured of it, `size_B` what it is by the lengths of the
// headers before it.
void decode_transport(wire::Bytes bytes, std::size_t size_B, Frame& frame);

}  // namespace weft::analyze::detail
