#include "wire/int_md.h"

#include <algorithm>

#include "base/check.h"

namespace weft::wire {
namespace {

constexpr std::size_t kWord_B = 4;
constexpr std::size_t kHeaderWords = kIntMdHeader_B / kWord_B;
constexpr std::uint32_t kMax24 = 0xffffff;

struct Field {
  std::uint16_t bit;
  std::size_t words;
};
// In the order in which a hop writes them.
constexpr Field kFields[] = {
    {kIntNodeId, 1},     {kIntL1Interfaces, 1}, {kIntHopLatency, 1},    {kIntQueue, 1},  {kIntIngressTime, 2},
    {kIntEgressTime, 2}, {kIntL2Interfaces, 2}, {kIntTxUtilisation, 1}, {kIntBuffer, 1}, {kIntChecksumComplement, 1}};

constexpr std::uint16_t known_bits() {
  std::uint16_t bits = 0;
  for (const Field& field : kFields) bits = static_cast<std::uint16_t>(bits | field.bit);
  return bits;
}

void write_hop(const IntMdHop& hop, std::uint16_t instructions, MutableBytes out) {
  std::size_t at = 0;
  for (const Field& field : kFields) {
    if ((instructions & field.bit) == 0) continue;
    switch (field.bit) {
      case kIntNodeId:
        put_be32(out, at, hop.node_id);
        break;
      case kIntL1Interfaces:
        put_be16(out, at, hop.ingress_interface);
        put_be16(out, at + 2, hop.egress_interface);
        break;
      case kIntHopLatency:
        put_be32(out, at, hop.hop_latency);
        break;
      case kIntQueue:
        out[at] = hop.queue_id;
        put_be24(out, at + 1, std::min(hop.queue_occupancy, kMax24));
        break;
      case kIntIngressTime:
        put_be64(out, at, hop.ingress_time);
        break;
      case kIntEgressTime:
        put_be64(out, at, hop.egress_time);
        break;
      case kIntTxUtilisation:
        put_be32(out, at, hop.tx_utilisation);
        break;
      default:
        break;
    }
    at += field.words * kWord_B;
  }
}

IntMdHop read_hop(Bytes in, std::uint16_t instructions) {
  IntMdHop hop;
  std::size_t at = 0;
  for (const Field& field : kFields) {
    if ((instructions & field.bit) == 0) continue;
    switch (field.bit) {
      case kIntNodeId:
        hop.node_id = be32(in, at);
        break;
      case kIntL1Interfaces:
        hop.ingress_interface = be16(in, at);
        hop.egress_interface = be16(in, at + 2);
        break;
      case kIntHopLatency:
        hop.hop_latency = be32(in, at);
        break;
      case kIntQueue:
        hop.queue_id = in[at];
        hop.queue_occupancy = be24(in, at + 1);
        break;
      case kIntIngressTime:
        hop.ingress_time = be64(in, at);
        break;
      case kIntEgressTime:
        hop.egress_time = be64(in, at);
        break;
      case kIntTxUtilisation:
        hop.tx_utilisation = be32(in, at);
        break;
      default:
        break;
    }
    at += field.words * kWord_B;
  }
  return hop;
}

}  // namespace

std::size_t int_hop_words(std::uint16_t instructions) {
  std::size_t words = 0;
  for (const Field& field : kFields) words += (instructions & field.bit) != 0 ? field.words : 0;
  return words;
}

std::size_t int_max_hops(std::uint16_t instructions) {
  const std::size_t words = int_hop_words(instructions);
  return words == 0 ? 0 : (0xff - kHeaderWords) / words;
}

tl::expected<IntMdView, WireError> IntMdView::parse(Bytes bytes) {
  if (bytes.size() < kIntShim_B + kIntMdHeader_B) return tl::unexpected(WireError::kTruncated);
  if (bytes[0] >> 4 != kIntTypeMd || bytes[4] >> 4 != kIntVersion) return tl::unexpected(WireError::kNotTelemetry);
  if ((bytes[0] >> 2 & 3) > static_cast<int>(IntNext::kIpProtocol)) return tl::unexpected(WireError::kNotTelemetry);
  const std::size_t words = bytes[1];
  const std::uint16_t instructions = be16(bytes, 8);
  const std::size_t hop_words = bytes[6] & 0x1f;
  if ((instructions & ~known_bits()) != 0 || hop_words != int_hop_words(instructions)) {
    return tl::unexpected(WireError::kBadTelemetryLength);
  }
  if (words < kHeaderWords) return tl::unexpected(WireError::kBadTelemetryLength);
  const std::size_t stack_words = words - kHeaderWords;
  if (hop_words == 0 ? stack_words != 0 : stack_words % hop_words != 0) {
    return tl::unexpected(WireError::kBadTelemetryLength);
  }
  const std::size_t size_B = kIntShim_B + words * kWord_B;
  if (bytes.size() < size_B) return tl::unexpected(WireError::kTruncated);
  return IntMdView(bytes.first(size_B));
}

std::size_t IntMdView::hop_count() const {
  const std::size_t hop_B = int_hop_words(instructions()) * kWord_B;
  return hop_B == 0 ? 0 : (bytes_.size() - kIntShim_B - kIntMdHeader_B) / hop_B;
}

IntMdHop IntMdView::hop(std::size_t index) const {
  const std::size_t hop_B = int_hop_words(instructions()) * kWord_B;
  const std::size_t from_top = hop_count() - 1 - index;
  return read_hop(bytes_.subspan(kIntShim_B + kIntMdHeader_B + from_top * hop_B, hop_B), instructions());
}

IntMd IntMdView::header() const {
  IntMd md;
  md.next = next();
  md.next_value = next_value();
  md.discard = (bytes_[4] & 8) != 0;
  md.max_hops_exceeded = (bytes_[4] & 4) != 0;
  md.mtu_exceeded = (bytes_[4] & 2) != 0;
  md.remaining_hops = remaining_hops();
  md.instructions = instructions();
  md.domain_id = be16(bytes_, 10);
  md.domain_instructions = be16(bytes_, 12);
  md.domain_flags = be16(bytes_, 14);
  for (std::size_t i = 0; i < hop_count(); ++i) md.hops.push_back(hop(i));
  return md;
}

std::vector<std::uint8_t> build_int_md(const IntMd& md) {
  WEFT_CHECK((md.instructions & ~kIntReadable) == 0, "INT instruction that is not written");
  WEFT_CHECK(md.hops.size() <= int_max_hops(md.instructions), "more hops than an INT shim can count");
  const std::size_t hop_words = int_hop_words(md.instructions);
  const std::size_t words = kHeaderWords + md.hops.size() * hop_words;
  std::vector<std::uint8_t> out(kIntShim_B + words * kWord_B);
  out[0] = static_cast<std::uint8_t>(kIntTypeMd << 4 | static_cast<int>(md.next) << 2);
  out[1] = static_cast<std::uint8_t>(words);
  put_be16(out, 2, md.next_value);
  out[4] = static_cast<std::uint8_t>(kIntVersion << 4 | (md.discard ? 8 : 0) | (md.max_hops_exceeded ? 4 : 0) |
                                     (md.mtu_exceeded ? 2 : 0));
  out[6] = static_cast<std::uint8_t>(hop_words);
  out[7] = md.remaining_hops;
  put_be16(out, 8, md.instructions);
  put_be16(out, 10, md.domain_id);
  put_be16(out, 12, md.domain_instructions);
  put_be16(out, 14, md.domain_flags);
  MutableBytes stack = MutableBytes(out).subspan(kIntShim_B + kIntMdHeader_B);
  for (std::size_t i = 0; i < md.hops.size(); ++i) {
    const std::size_t from_top = md.hops.size() - 1 - i;
    write_hop(md.hops[i], md.instructions, stack.subspan(from_top * hop_words * kWord_B, hop_words * kWord_B));
  }
  return out;
}

}  // namespace weft::wire
