#include "wire/neighbour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weft::wire {
namespace {

const MacAddress kAsker{0x52, 0x54, 0, 0x12, 0x34, 0x56}, kTarget{0x50, 0x6b, 0x4b, 0, 0, 1};

std::vector<std::uint8_t> request_frame(const NeighbourRequest& request) {
  std::vector<std::uint8_t> bytes(kMaxNeighbourFrame_B);
  bytes.resize(build_neighbour_request(request, bytes));
  return bytes;
}

// The fields of RFC 826 in their places.
TEST(Neighbour, ArpRequestAndReplyMatchRfc826) {
  NeighbourRequest request{ipv4_mapped(10, 0, 0, 9), ipv4_mapped(10, 0, 0, 1), true, kAsker, std::nullopt};
  const std::vector<std::uint8_t> wanted = {
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0x12, 0x34, 0x56, 0x08, 0x06, 0, 1, 0x08, 0,  6, 4, 0,
      1,    0x52, 0x54, 0,    0x12, 0x34, 0x56, 10,   0, 0,    9,    0,    0,    0,    0, 0, 0,    10, 0, 0, 1};
  EXPECT_EQ(request_frame(request), wanted);
  EXPECT_EQ(parse_neighbour_request(wanted), request);
  std::vector<std::uint8_t> answer(kMaxNeighbourFrame_B);
  answer.resize(build_neighbour_answer(request, kTarget, answer));
  const std::vector<std::uint8_t> reply = {0x52, 0x54, 0, 0x12, 0x34, 0x56, 0x50, 0x6b, 0x4b, 0, 0, 1, 0x08, 0x06, 0, 1,
                                           0x08, 0,    6, 4,    0,    2,    0x50, 0x6b, 0x4b, 0, 0, 1, 10,   0,    0, 1,
                                           0x52, 0x54, 0, 0x12, 0x34, 0x56, 10,   0,    0,    9};
  EXPECT_EQ(answer, reply);
  EXPECT_FALSE(parse_neighbour_request(reply)) << "a reply asks for nobody";
}

// RFC 4861: ICMPv6 type 135 to the solicited-node group, answered by 136 with the solicited and override flags; the
// one's complement sum over pseudo-header and message is all ones.
TEST(Neighbour, SolicitationAndAdvertisementMatchRfc4861) {
  IpAddress sender{0xfd, 0}, target{0xfd, 0};
  sender[15] = 9;
  target[13] = 0xaa;
  target[15] = 1;
  NeighbourRequest request{sender, target, false, kAsker, std::uint16_t{0x6005}};
  const auto bytes = request_frame(request);
  EXPECT_EQ(parse_neighbour_request(bytes), request);
  const std::vector<std::uint8_t> group_mac = {0x33, 0x33, 0xff, 0xaa, 0, 1};
  EXPECT_TRUE(std::equal(group_mac.begin(), group_mac.end(), bytes.begin()));
  std::vector<std::uint8_t> answer(kMaxNeighbourFrame_B);
  answer.resize(build_neighbour_answer(request, kTarget, answer));
  ASSERT_EQ(answer.size(), 14U + 4 + 40 + 32);
  EXPECT_EQ(answer[58], 136);
  EXPECT_EQ(answer[62], 0x60);
  EXPECT_TRUE(std::equal(kTarget.begin(), kTarget.end(), answer.begin() + 84));
  std::uint32_t sum = 32 + 58;  // length and next header of the pseudo-header
  for (std::size_t i = 26; i < answer.size(); i += 2) sum += be16(answer, i);  // addresses, then the message
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  EXPECT_EQ(sum, 0xffffU);
  auto broken = bytes;
  broken[60] ^= 1;
  EXPECT_FALSE(parse_neighbour_request(broken)) << "a wrong checksum";
}

TEST(Neighbour, RejectsEveryTruncation) {
  NeighbourRequest request{ipv4_mapped(10, 0, 0, 9), ipv4_mapped(10, 0, 0, 1), true, kAsker, std::nullopt};
  const auto bytes = request_frame(request);
  for (std::size_t size_B = 0; size_B < bytes.size(); ++size_B)
    EXPECT_FALSE(parse_neighbour_request(Bytes(bytes).first(size_B))) << size_B;
}

}  // namespace
}  // namespace weft::wire
