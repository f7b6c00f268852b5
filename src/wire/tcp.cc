#include "wire/tcp.h"

namespace weft::wire {

namespace {

constexpr std::uint8_t kNop = 1, kMss = 2, kWindowScale = 3, kSackPermitted = 4, kSack = 5, kTimestamps = 8;
constexpr std::size_t kChecksumAt = 16;

std::uint64_t sum_words(Bytes bytes, std::uint64_t sum) {
  std::size_t at = 0;
  for (; at + 1 < bytes.size(); at += 2) sum += be16(bytes, at);
  if (at < bytes.size()) sum += std::uint64_t{bytes[at]} << 8;
  return sum;
}

}  // namespace

std::size_t write_tcp(const TcpHeader& header, MutableBytes out) {
  const bool syn = (header.flags & kTcpSyn) != 0;
  const std::size_t size_B = tcp_header_B(syn, header.sack_count);
  put_be16(out, 0, header.src_port);
  put_be16(out, 2, header.dst_port);
  put_be32(out, 4, header.sequence);
  put_be32(out, 8, header.acknowledgment);
  out[12] = static_cast<std::uint8_t>(size_B / 4 << 4);
  out[13] = header.flags;
  put_be16(out, 14, header.window);
  put_be16(out, kChecksumAt, 0);
  put_be16(out, 18, 0);
  std::size_t at = kTcpSize_B;
  // In the order in which Linux writes them.
  if (syn) {
    out[at] = kMss;
    out[at + 1] = 4;
    put_be16(out, at + 2, header.mss_B);
    out[at + 4] = kSackPermitted;
    out[at + 5] = 2;
    at += 6;
  } else {
    out[at] = out[at + 1] = kNop;
    at += 2;
  }
  out[at] = kTimestamps;
  out[at + 1] = 10;
  put_be32(out, at + 2, header.ts_value);
  put_be32(out, at + 6, header.ts_echo);
  at += 10;
  if (syn) {
    out[at] = kNop;
    out[at + 1] = kWindowScale;
    out[at + 2] = 3;
    out[at + 3] = header.window_scale;
  } else if (header.sack_count > 0) {
    out[at] = out[at + 1] = kNop;
    out[at + 2] = kSack;
    out[at + 3] = static_cast<std::uint8_t>(2 + 8 * header.sack_count);
    for (std::size_t i = 0; i < header.sack_count; ++i) {
      put_be32(out, at + 4 + 8 * i, header.sack[i].begin);
      put_be32(out, at + 8 + 8 * i, header.sack[i].end);
    }
  }
  return size_B;
}

void write_tcp_checksum(const std::array<std::uint8_t, 16>& src, const std::array<std::uint8_t, 16>& dst, bool v4,
                        MutableBytes segment) {
  constexpr std::size_t kV4At = 12;
  put_be16(segment, kChecksumAt, 0);
  std::uint64_t sum = sum_words(Bytes(src).subspan(v4 ? kV4At : 0), 0);
  sum = sum_words(Bytes(dst).subspan(v4 ? kV4At : 0), sum);
  sum += kIpProtocolTcp + segment.size();
  sum = sum_words(segment, sum);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  put_be16(segment, kChecksumAt, static_cast<std::uint16_t>(~sum));
}

}  // namespace weft::wire
