#include "wire/tcp.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::wire {
namespace {

constexpr std::array<std::uint8_t, 16> kFrom = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
constexpr std::array<std::uint8_t, 16> kTo = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};

// The one's complement sum of pseudo-header and segment, which is all ones when the checksum is right.
std::uint32_t sum_with_pseudo_header(Bytes segment) {
  std::uint32_t sum = be16(kFrom, 12) + be16(kFrom, 14) + be16(kTo, 12) + be16(kTo, 14) + kIpProtocolTcp +
                      static_cast<std::uint32_t>(segment.size());
  for (std::size_t i = 0; i < segment.size(); i += 2)
    sum += i + 1 < segment.size() ? be16(segment, i) : static_cast<std::uint32_t>(segment[i]) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

TEST(Tcp, SynCarriesOptionsInLinuxOrder) {
  TcpHeader header;
  header.flags = kTcpSyn;
  header.mss_B = 1460;
  header.window_scale = 7;
  header.ts_value = 0x01020304;
  std::vector<std::uint8_t> out(64);
  ASSERT_EQ(write_tcp(header, out), 40U);
  EXPECT_EQ(out[12], 0xa0) << "ten words";
  const std::vector<std::uint8_t> options = {2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7};
  EXPECT_EQ(std::vector<std::uint8_t>(out.begin() + 20, out.begin() + 40), options);
}

TEST(Tcp, SackBlocksFollowTimestamps) {
  TcpHeader header;
  header.flags = kTcpAck;
  header.sack_count = 2;
  header.sack = {{{100, 200}, {300, 400}}};
  std::vector<std::uint8_t> out(64);
  ASSERT_EQ(write_tcp(header, out), tcp_header_B(false, 2));
  EXPECT_EQ(out[34], 5);
  EXPECT_EQ(out[35], 18);
  EXPECT_EQ(be32(out, 36), 100U);
  EXPECT_EQ(be32(out, 48), 400U);
}

TEST(Tcp, ChecksumCoversPseudoHeaderAndPayload) {
  for (std::size_t payload_B : {0U, 1U, 8U, 1447U}) {
    TcpHeader header;
    header.src_port = 49152;
    header.dst_port = 5201;
    header.sequence = 0xfffffff0;
    header.flags = kTcpAck | kTcpPsh;
    std::vector<std::uint8_t> segment(tcp_header_B(false, 0) + payload_B, 0xa5);
    write_tcp(header, segment);
    write_tcp_checksum(kFrom, kTo, true, segment);
    EXPECT_EQ(sum_with_pseudo_header(segment), 0xffffU) << payload_B;
  }
}

}  // namespace
}  // namespace weft::wire
