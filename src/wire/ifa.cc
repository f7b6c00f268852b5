#include "wire/ifa.h"

#include "base/check.h"

namespace weft::wire {
namespace {

void write_hop(const IfaHop& hop, MutableBytes out) {
  put_be32(out, 0, std::uint32_t{hop.name_space} << 28 | (hop.device_id & 0xfffff) << 8 | hop.ttl);
  put_be32(out, 4,
           std::uint32_t{hop.speed} << 28 | (std::uint32_t{hop.congestion} & 3) << 26 |
               (std::uint32_t{hop.queue_id} & 0x3f) << 20 | (hop.rx_s & 0xfffff));
  put_be16(out, 8, hop.egress_port);
  put_be16(out, 10, hop.ingress_port);
  put_be32(out, 12, hop.rx_ns);
  put_be32(out, 16, hop.residence_ns);
  put_be32(out, 20, hop.queue_B);
  put_be16(out, 24, 0);
  put_be16(out, 26, hop.queue_cells);
  put_be32(out, 28, 0);
}

IfaHop read_hop(Bytes in) {
  IfaHop hop;
  hop.name_space = static_cast<std::uint8_t>(in[0] >> 4);
  hop.device_id = be32(in, 0) >> 8 & 0xfffff;
  hop.ttl = in[3];
  hop.speed = static_cast<std::uint8_t>(in[4] >> 4);
  hop.congestion = static_cast<std::uint8_t>(in[4] >> 2 & 3);
  hop.queue_id = static_cast<std::uint8_t>(be16(in, 4) >> 4 & 0x3f);
  hop.rx_s = be32(in, 4) & 0xfffff;
  hop.egress_port = be16(in, 8);
  hop.ingress_port = be16(in, 10);
  hop.rx_ns = be32(in, 12);
  hop.residence_ns = be32(in, 16);
  hop.queue_B = be32(in, 20);
  hop.queue_cells = be16(in, 26);
  return hop;
}

}  // namespace

tl::expected<IfaHeaderView, WireError> IfaHeaderView::parse(Bytes bytes) {
  if (bytes.size() < kIfaHeader_B) return tl::unexpected(WireError::kTruncated);
  if (bytes[0] >> 4 != kIfaVersion) return tl::unexpected(WireError::kNotTelemetry);
  return IfaHeaderView(bytes.first(kIfaHeader_B));
}

void write_ifa_header(const IfaHeader& header, MutableBytes out) {
  out[0] = static_cast<std::uint8_t>(kIfaVersion << 4 | (header.name_space & 0xf));
  out[1] = header.next_header;
  out[2] = header.flags;
  out[3] = header.max_length;
}

tl::expected<IfaMetadataView, WireError> IfaMetadataView::parse(Bytes bytes) {
  if (bytes.size() < kIfaMetadataHeader_B) return tl::unexpected(WireError::kTruncated);
  const std::size_t stack_B = std::size_t{bytes[3]} * 4;
  if (stack_B % kIfaHop_B != 0) return tl::unexpected(WireError::kBadTelemetryLength);
  if (bytes.size() < kIfaMetadataHeader_B + stack_B) return tl::unexpected(WireError::kTruncated);
  return IfaMetadataView(bytes.first(kIfaMetadataHeader_B + stack_B));
}

IfaHop IfaMetadataView::hop(std::size_t index) const {
  const std::size_t from_top = hop_count() - 1 - index;
  return read_hop(bytes_.subspan(kIfaMetadataHeader_B + from_top * kIfaHop_B, kIfaHop_B));
}

IfaMetadata IfaMetadataView::header() const {
  IfaMetadata metadata{bytes_[0], bytes_[1], bytes_[2], {}};
  for (std::size_t i = 0; i < hop_count(); ++i) metadata.hops.push_back(hop(i));
  return metadata;
}

std::vector<std::uint8_t> build_ifa_metadata(const IfaMetadata& metadata) {
  WEFT_CHECK(metadata.hops.size() <= kIfaMaxHops, "more hops than an IFA header can count");
  std::vector<std::uint8_t> out(kIfaMetadataHeader_B + metadata.hops.size() * kIfaHop_B);
  out[0] = metadata.request;
  out[1] = metadata.action;
  out[2] = metadata.hop_limit;
  out[3] = static_cast<std::uint8_t>(metadata.hops.size() * kIfaHop_B / 4);
  for (std::size_t i = 0; i < metadata.hops.size(); ++i) {
    const std::size_t from_top = metadata.hops.size() - 1 - i;
    write_hop(metadata.hops[i], MutableBytes(out).subspan(kIfaMetadataHeader_B + from_top * kIfaHop_B, kIfaHop_B));
  }
  return out;
}

}  // namespace weft::wire
