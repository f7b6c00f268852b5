#include "wire/ipv6.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/public_frames.h"

namespace weft::wire {
namespace {

TEST(Ipv6, ReadsGlobalRouteHeaderOfRoceV1) {
  const auto view = Ipv6View::parse(Bytes(kRoceV1WriteOnly).subspan(14));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->traffic_class(), 2);
  EXPECT_EQ(view->flow_label(), 0U);
  EXPECT_EQ(view->payload_length_B(), 40);
  EXPECT_EQ(view->next_header(), kGrhNextHeaderIba);
  EXPECT_EQ(view->hop_limit(), 64);
  EXPECT_EQ(view->src(), ipv4_mapped(15, 0, 0, 2));
  EXPECT_EQ(view->dst(), ipv4_mapped(15, 0, 0, 2));
  EXPECT_EQ(view->payload().size(), 40U);
}

TEST(Ipv6, RejectsInconsistentLength) {
  auto packet = std::vector<std::uint8_t>(kRoceV1WriteOnly.begin() + 14, kRoceV1WriteOnly.end());
  EXPECT_EQ(Ipv6View::parse(Bytes(packet).first(39)).error(), WireError::kTruncated);
  EXPECT_EQ(Ipv6View::parse(Bytes(packet).first(79)).error(), WireError::kTruncated);
  packet[0] = 0x45;
  EXPECT_EQ(Ipv6View::parse(packet).error(), WireError::kBadIpVersion);
}

RC_GTEST_PROP(Ipv6, RoundTrip, ()) {
  const Ipv6Header header{.traffic_class = any<std::uint8_t>(),
                          .flow_label = any_below(1 << 20),
                          .payload_length_B = static_cast<std::uint16_t>(any_below(200)),
                          .next_header = any<std::uint8_t>(),
                          .hop_limit = any<std::uint8_t>(),
                          .src = any_bytes<16>(),
                          .dst = any_bytes<16>()};
  std::array<std::uint8_t, 256> bytes{};
  write_ipv6(header, bytes);
  const auto view = Ipv6View::parse(bytes);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == header);
  RC_ASSERT(view->payload().size() == header.payload_length_B);
}

}  // namespace
}  // namespace weft::wire
