#include "wire/erspan.h"

#include <algorithm>

#include "base/check.h"

namespace weft::wire {
namespace {

constexpr std::uint16_t kGreSequencePresent = 0x1000;
constexpr std::uint16_t kVersion2 = 1;  // type II calls itself version 1,
constexpr std::uint16_t kVersion3 = 2;  // type III version 2
constexpr std::uint16_t kHasEthernetFrame = 0x8000;
constexpr std::uint32_t kPlatform = 5;

std::size_t header_B(const Erspan& header) {
  if (header.type == ErspanType::kII) return kErspan2_B;
  return kErspan3_B + (header.port ? kErspanSubheader_B : 0);
}

// The first word, the same in both types.
void write_common(const Erspan& header, std::uint16_t version, MutableBytes out) {
  put_be16(out, 0, static_cast<std::uint16_t>(version << 12 | (header.vlan & 0xfff)));
  put_be16(out, 2,
           static_cast<std::uint16_t>((header.priority & 7) << 13 | (header.truncated ? 0x400 : 0) |
                                      (header.session & 0x3ff)));
}

void read_common(Bytes in, Erspan& header) {
  header.vlan = be16(in, 0) & 0xfff;
  header.priority = static_cast<std::uint8_t>(in[2] >> 5);
  header.truncated = (in[2] & 4) != 0;
  header.session = be16(in, 2) & 0x3ff;
}

void write_type3(const Erspan& header, MutableBytes out) {
  put_be32(out, 4, header.timestamp);
  put_be16(out, 8, 0);
  put_be16(out, 10,
           static_cast<std::uint16_t>(kHasEthernetFrame | (header.hardware_id & 0x3f) << 4 | (header.egress ? 8 : 0) |
                                      static_cast<int>(header.granularity) << 1 | (header.port ? 1 : 0)));
  if (!header.port) return;
  put_be32(out, 12, kPlatform << 26 | (header.port->switch_id & 0x3ffu) << 16 | header.port->port);
  put_be32(out, 16, header.port->seconds);
}

}  // namespace

Erspan erspan3_at(Time_ps time_ps, std::uint16_t session, std::uint16_t switch_id, std::uint16_t port, bool egress) {
  Erspan header;
  header.type = ErspanType::kIII;
  header.session = session;
  header.granularity = ErspanGranularity::kIeee1588;
  header.timestamp = static_cast<std::uint32_t>(time_ps % kSecond_ps / kNanosecond_ps);
  header.egress = egress;
  header.port = Erspan::Port{switch_id, port, static_cast<std::uint32_t>(time_ps / kSecond_ps)};
  return header;
}

tl::expected<ErspanView, WireError> ErspanView::parse(Bytes gre) {
  if (gre.size() < kGre_B) return tl::unexpected(WireError::kTruncated);
  const std::uint16_t protocol = be16(gre, 2);
  if (be16(gre, 0) != kGreSequencePresent || (protocol != kGreErspan2 && protocol != kGreErspan3)) {
    return tl::unexpected(WireError::kNotErspan);
  }
  Erspan header;
  header.sequence = be32(gre, 4);
  const Bytes in = gre.subspan(kGre_B);
  header.type = protocol == kGreErspan2 ? ErspanType::kII : ErspanType::kIII;
  if (in.size() < header_B(header)) return tl::unexpected(WireError::kTruncated);
  const std::uint16_t version = in[0] >> 4;
  if (version != (header.type == ErspanType::kII ? kVersion2 : kVersion3)) {
    return tl::unexpected(WireError::kNotErspan);
  }
  read_common(in, header);
  if (header.type == ErspanType::kII) {
    header.index = be32(in, 4) & 0xfffff;
    return ErspanView(header, in.subspan(kErspan2_B));
  }
  const std::uint16_t bits = be16(in, 10);
  if ((bits & kHasEthernetFrame) == 0) return tl::unexpected(WireError::kNotErspan);
  header.timestamp = be32(in, 4);
  header.hardware_id = bits >> 4 & 0x3f;
  header.egress = (bits & 8) != 0;
  header.granularity = static_cast<ErspanGranularity>(bits >> 1 & 3);
  std::size_t size_B = kErspan3_B;
  if ((bits & 1) != 0) {
    size_B += kErspanSubheader_B;
    if (in.size() < size_B) return tl::unexpected(WireError::kTruncated);
    // Other platforms' subheaders are stepped over.
    if (in[12] >> 2 == kPlatform) {
      header.port = Erspan::Port{static_cast<std::uint16_t>(be16(in, 12) & 0x3ff), be16(in, 14), be32(in, 16)};
    }
  }
  return ErspanView(header, in.subspan(size_B));
}

std::size_t erspan_overhead_B(const Erspan& header) {
  return kEthernetSize_B + kIpv4Size_B + kGre_B + header_B(header);
}

std::vector<std::uint8_t> build_erspan_frame(const ErspanTunnel& tunnel, const Erspan& header, Bytes mirrored) {
  const std::size_t overhead_B = erspan_overhead_B(header);
  const std::size_t total_B = overhead_B - kEthernetSize_B + mirrored.size();
  WEFT_CHECK(total_B <= 0xffff, "a mirrored frame that no IPv4 packet can hold");
  std::vector<std::uint8_t> out(overhead_B + mirrored.size());
  const MutableBytes bytes(out);
  write_ethernet({tunnel.dst_mac, tunnel.src_mac, std::nullopt, kEtherTypeIpv4}, bytes);
  Ipv4Header ip;
  ip.tos = tunnel.tos;
  ip.total_length_B = static_cast<std::uint16_t>(total_B);
  ip.ttl = tunnel.ttl;
  ip.protocol = kIpProtocolGre;
  ip.src = tunnel.src_ip;
  ip.dst = tunnel.dst_ip;
  write_ipv4(ip, bytes.subspan(kEthernetSize_B));
  const MutableBytes gre = bytes.subspan(kEthernetSize_B + kIpv4Size_B);
  put_be16(gre, 0, kGreSequencePresent);
  put_be16(gre, 2, header.type == ErspanType::kII ? kGreErspan2 : kGreErspan3);
  put_be32(gre, 4, header.sequence);
  const MutableBytes erspan = gre.subspan(kGre_B);
  if (header.type == ErspanType::kII) {
    write_common(header, kVersion2, erspan);
    put_be32(erspan, 4, header.index & 0xfffff);
  } else {
    write_common(header, kVersion3, erspan);
    write_type3(header, erspan);
  }
  std::copy(mirrored.begin(), mirrored.end(), out.begin() + static_cast<std::ptrdiff_t>(overhead_B));
  return out;
}

}  // namespace weft::wire
