#include "wire/ethernet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

TEST(Ethernet, UntaggedAndTagged) {
  const auto plain = hex("0180c2000001 020304050607 0800 99");
  const auto view = EthernetView::parse(plain);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->dst(), (MacAddress{0x01, 0x80, 0xc2, 0, 0, 1}));
  EXPECT_EQ(view->src(), (MacAddress{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(view->ether_type(), kEtherTypeIpv4);
  EXPECT_FALSE(view->vlan_tci());
  EXPECT_EQ(view->payload().size(), 1U);

  const auto tagged = hex("0180c2000001 020304050607 8100 6064 86dd 99 98");
  const auto tagged_view = EthernetView::parse(tagged);
  ASSERT_TRUE(tagged_view);
  EXPECT_EQ(tagged_view->ether_type(), kEtherTypeIpv6);
  EXPECT_EQ(tagged_view->vlan_tci(), vlan_tci(3, 100));
  EXPECT_EQ(tagged_view->payload().size(), 2U);
}

TEST(Ethernet, TagControlInformationFields) {
  EXPECT_EQ(vlan_tci(3, 100), 0x6064);
  EXPECT_EQ(vlan_tci(7, 4095, true), 0xffff);
  EXPECT_EQ(vlan_priority(0x6064), 3);
  EXPECT_EQ(vlan_id(0x6064), 100);
}

TEST(Ethernet, RejectsEveryTruncation) {
  const auto tagged = hex("0180c2000001 020304050607 8100 6064 86dd");
  for (std::size_t size_B = 0; size_B < tagged.size(); ++size_B) {
    const auto view = EthernetView::parse(Bytes(tagged).first(size_B));
    ASSERT_FALSE(view) << size_B;
    EXPECT_EQ(view.error(), WireError::kTruncated);
  }
  EXPECT_TRUE(EthernetView::parse(tagged));
}

RC_GTEST_PROP(Ethernet, RoundTrip, ()) {
  EthernetHeader header{any_bytes<6>(), any_bytes<6>(), std::nullopt, any<std::uint16_t>()};
  if (any<bool>()) header.vlan_tci = any<std::uint16_t>();
  RC_PRE(header.vlan_tci || header.ether_type != kEtherTypeVlan);
  std::array<std::uint8_t, 18> bytes{};
  const std::size_t size_B = write_ethernet(header, bytes);
  RC_ASSERT(size_B == ethernet_size_B(header));
  const auto view = EthernetView::parse(Bytes(bytes).first(size_B));
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == header);
}

}  // namespace
}  // namespace weft::wire
