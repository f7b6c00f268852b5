#include "wire/udp.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

TEST(Udp, LengthMustMatchDatagram) {
  const auto datagram = hex("c000 12b7 000a 1234 aabb");
  const auto view = UdpView::parse(datagram);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->header(), (UdpHeader{0xc000, 4791, 10, 0x1234}));
  EXPECT_EQ(view->payload().size(), 2U);
  EXPECT_EQ(UdpView::parse(Bytes(datagram).first(9)).error(), WireError::kBadUdpLength);
  EXPECT_EQ(UdpView::parse(Bytes(datagram).first(7)).error(), WireError::kTruncated);
  EXPECT_EQ(UdpView::parse(hex("c000 12b7 0009 1234 aabb")).error(), WireError::kBadUdpLength);
}

RC_GTEST_PROP(Udp, RoundTrip, ()) {
  const std::uint32_t payload_B = any_below(100);
  const UdpHeader header{any<std::uint16_t>(), any<std::uint16_t>(), static_cast<std::uint16_t>(kUdpSize_B + payload_B),
                         any<std::uint16_t>()};
  std::vector<std::uint8_t> bytes(header.length_B);
  write_udp(header, bytes);
  const auto view = UdpView::parse(bytes);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == header);
}

}  // namespace
}  // namespace weft::wire
