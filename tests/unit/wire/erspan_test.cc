#include "wire/erspan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

Bytes gre_of(Bytes frame) {
  const auto ethernet = EthernetView::parse(frame);
  const auto ip = Ipv4View::parse(ethernet->payload());
  EXPECT_EQ(ip->protocol(), kIpProtocolGre);
  EXPECT_TRUE(ip->checksum_ok());
  return ip->payload();
}

std::vector<std::uint8_t> gre_bytes(const Erspan& header, Bytes mirrored) {
  const auto frame = build_erspan_frame({}, header, mirrored);
  const Bytes gre = gre_of(frame);
  return {gre.begin(), gre.end()};
}

// Laid out by hand from the draft: GRE with sequence, then version 1, VLAN 100, COS 3, session 5, index 17.
TEST(Erspan, TypeTwoBytes) {
  Erspan header;
  header.sequence = 9;
  header.vlan = 100;
  header.priority = 3;
  header.session = 5;
  header.index = 17;
  EXPECT_EQ(gre_bytes(header, hex("aabb")), hex("1000 88be 00000009  1064 6005 00000011  aabb"));
  header.truncated = true;
  EXPECT_EQ(gre_bytes(header, {}), hex("1000 88be 00000009  1064 6405 00000011"));
  EXPECT_EQ(erspan_overhead_B(header), 14U + 20 + 8 + 8);
}

TEST(Erspan, TypeThreeBytes) {
  Erspan header;
  header.type = ErspanType::kIII;
  header.sequence = 1;
  header.session = 0x3ff;
  header.timestamp = 0x01020304;
  header.granularity = ErspanGranularity::k100ns;
  header.hardware_id = 0x2a;
  header.egress = true;
  EXPECT_EQ(gre_bytes(header, hex("cc")), hex("1000 22eb 00000001  2000 03ff 01020304 0000 82aa  cc"));
  EXPECT_EQ(erspan_overhead_B(header), 14U + 20 + 8 + 12);
}

// 3.000000425 s at port 12 of switch 7: nanoseconds in the header, seconds in the subheader.
TEST(Erspan, TimestampOfMirroredFrame) {
  const Erspan header = erspan3_at(3 * kSecond_ps + 425'999, 5, 7, 12, false);
  EXPECT_EQ(gre_bytes(header, {}), hex("1000 22eb 00000000  2000 0005 000001a9 0000 8005  1407 000c 00000003"));
  EXPECT_EQ(erspan_overhead_B(header), 14U + 20 + 8 + 12 + 8);
}

TEST(Erspan, SkipsOtherPlatformHeaders) {
  auto bytes = gre_bytes(erspan3_at(0, 1, 2, 3, false), hex("aabbcc"));
  bytes[20] = 7 << 2;
  const auto view = ErspanView::parse(bytes);
  ASSERT_TRUE(view.has_value());
  EXPECT_FALSE(view->header().port.has_value());
  EXPECT_EQ(view->frame().size(), 3U);
}

TEST(Erspan, RejectsOtherTunnels) {
  const auto good = gre_bytes(erspan3_at(0, 1, 2, 3, true), {});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(ErspanView::parse(Bytes(good).first(size)).error(), WireError::kTruncated) << size;
  }
  const auto with = [&](std::size_t at, std::uint8_t value) {
    auto bytes = good;
    bytes[at] = value;
    const auto view = ErspanView::parse(bytes);
    return view ? std::optional<WireError>() : view.error();
  };
  EXPECT_EQ(with(0, 0x00), WireError::kNotErspan);   // no sequence number
  EXPECT_EQ(with(0, 0x30), WireError::kNotErspan);   // a key too
  EXPECT_EQ(with(1, 0x01), WireError::kNotErspan);   // GRE version 1
  EXPECT_EQ(with(3, 0xec), WireError::kNotErspan);   // another protocol
  EXPECT_EQ(with(8, 0x10), WireError::kNotErspan);   // version 1 in type III
  EXPECT_EQ(with(18, 0x00), WireError::kNotErspan);  // no Ethernet frame inside
}

RC_GTEST_PROP(Erspan, RoundTrip, ()) {
  Erspan header;
  header.type = any<bool>() ? ErspanType::kII : ErspanType::kIII;
  header.sequence = any<std::uint32_t>();
  header.vlan = static_cast<std::uint16_t>(any_below(1 << 12));
  header.priority = static_cast<std::uint8_t>(any_below(8));
  header.truncated = any<bool>();
  header.session = static_cast<std::uint16_t>(any_below(1 << 10));
  if (header.type == ErspanType::kII) {
    header.index = any_below(1 << 20);
  } else {
    header.timestamp = any<std::uint32_t>();
    header.granularity = static_cast<ErspanGranularity>(any_below(4));
    header.hardware_id = static_cast<std::uint8_t>(any_below(64));
    header.egress = any<bool>();
    if (any<bool>()) {
      header.port =
          Erspan::Port{static_cast<std::uint16_t>(any_below(1 << 10)), any<std::uint16_t>(), any<std::uint32_t>()};
    }
  }
  const ErspanTunnel tunnel{any_bytes<6>(), any_bytes<6>(),      any_bytes<4>(),
                            any_bytes<4>(), any<std::uint8_t>(), any<std::uint8_t>()};
  const auto mirrored = any<std::vector<std::uint8_t>>();
  const auto frame = build_erspan_frame(tunnel, header, mirrored);
  RC_ASSERT(frame.size() == erspan_overhead_B(header) + mirrored.size());
  RC_ASSERT(EthernetView::parse(frame)->dst() == tunnel.dst_mac);
  RC_ASSERT(Ipv4View::parse(EthernetView::parse(frame)->payload())->dst() == tunnel.dst_ip);
  const auto view = ErspanView::parse(gre_of(frame));
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == header);
  RC_ASSERT(std::equal(view->frame().begin(), view->frame().end(), mirrored.begin(), mirrored.end()));
}

RC_GTEST_PROP(Erspan, AnyBytesAreSafe, ()) {
  auto bytes = any<std::vector<std::uint8_t>>();
  if (bytes.size() >= 9 && any<bool>()) {
    bytes[0] = 0x10;
    bytes[1] = 0;
    bytes[2] = 0x22;
    bytes[3] = 0xeb;
    bytes[8] = 0x20;
  }
  if (const auto view = ErspanView::parse(bytes)) RC_ASSERT(view->frame().size() <= bytes.size());
}

}  // namespace
}  // namespace weft::wire
