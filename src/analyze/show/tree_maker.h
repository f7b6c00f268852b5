// The layers of packet_tree.h, one function each; the dispatch is that of decoder.h. Places are offsets in the frame;
// `end` is where the enclosing header says that its content ends, at most what was on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/frames/frame.h"
#include "analyze/show/packet_tree.h"
#include "wire/bytes.h"

namespace weft::analyze::detail {

class TreeMaker {
 public:
  TreeMaker(wire::Bytes bytes, const Frame& decoded) : bytes_(bytes), decoded_(decoded) {}

  void link(std::uint16_t link_type, std::size_t wire_B);
  std::vector<TreeLayer> take() { return std::move(layers_); }

 private:
  // packet_tree.cc
  void ethernet(std::size_t at, std::size_t end);
  void tagged(std::uint16_t type, std::size_t at, std::size_t end);
  void ether_type(std::uint16_t type, std::size_t at, std::size_t end);
  void arp(std::size_t at, std::size_t end);
  void mac_control(std::size_t at, std::size_t end);
  void erf(std::size_t end);
  void infiniband(std::size_t at, std::size_t end);
  void data(std::size_t at, std::size_t end, const char* name = "Data");

  // tree_ip.cc
  void raw_ip(std::size_t at, std::size_t end);
  void ipv4(std::size_t at, std::size_t end);
  void ipv6(std::size_t at, std::size_t end);
  void above_ip(std::uint8_t protocol, std::size_t at, std::size_t end);
  void traffic_class(const char* prefix, unsigned tos, std::size_t at, std::size_t length);
  void udp(std::size_t at, std::size_t end);
  void tcp(std::size_t at, std::size_t end);
  void tcp_options(std::size_t at, std::size_t end);
  void icmp(bool v6, std::size_t at, std::size_t end);

  // tree_transport.cc
  void global_route(std::size_t at, std::size_t end);
  void transport(std::size_t at, std::size_t end);
  void extension_headers(std::uint8_t opcode, std::size_t& at, std::size_t end);
  void atomic(std::size_t at);
  void ack(std::size_t at);
  void mad(std::size_t at, std::size_t end);

  // tree_tunnel.cc
  void gre(std::size_t at, std::size_t end);
  bool erspan(std::uint16_t protocol, std::size_t& at, std::size_t end);
  void vxlan(std::size_t at, std::size_t end);
  void int_md(std::size_t at, std::size_t end);
  void ifa(std::size_t at, std::size_t end);
  void uet(std::size_t at, std::size_t end);
  bool enter_tunnel() { return ++tunnels_ <= kMostTunnels; }

  static constexpr int kMostTunnels = 4;  // as in decoder.h
  static constexpr int kMostTags = 16;    // a frame of nothing but tags is no tree

  bool has(std::size_t at, std::size_t size_B, std::size_t end) const {
    return end <= kFarthest && at <= end && size_B <= end - at && at + size_B <= bytes_.size();
  }
  static constexpr std::size_t kFarthest = std::size_t{1} << 40;
  std::uint8_t u8(std::size_t at) const { return bytes_[at]; }
  std::uint16_t u16(std::size_t at) const { return wire::be16(bytes_, at); }
  std::uint32_t u24(std::size_t at) const { return wire::be24(bytes_, at); }
  std::uint32_t u32(std::size_t at) const { return wire::be32(bytes_, at); }
  std::uint64_t u64(std::size_t at) const { return wire::be64(bytes_, at); }
  std::string mac_text(std::size_t at) const;
  std::string ip_text(std::size_t at, std::size_t size_B) const;

  void layer(std::string_view name, std::size_t at, std::size_t size_B);
  // A field of the layer that was begun last.
  void field(std::string_view name, std::string_view filter, std::string value, std::size_t at, std::size_t size_B,
             std::string_view note = {});
  // The number in those bytes, decimal or with all its hexadecimal digits.
  void decimal(std::string_view name, std::string_view filter, std::size_t at, std::size_t size_B,
               std::string_view note = {});
  void hex(std::string_view name, std::string_view filter, std::size_t at, std::size_t size_B,
           std::string_view note = {});
  void flag(std::string_view name, std::string_view filter, bool set, std::size_t at, std::string_view note = {});
  std::uint64_t number_at(std::size_t at, std::size_t size_B) const;

  wire::Bytes bytes_;
  const Frame& decoded_;
  std::vector<TreeLayer> layers_;
  int tunnels_ = 0;
};

}  // namespace weft::analyze::detail
