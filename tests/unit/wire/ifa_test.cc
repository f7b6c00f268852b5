#include "wire/ifa.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

IfaHop any_hop() {
  IfaHop hop;
  hop.name_space = static_cast<std::uint8_t>(any_below(16));
  hop.device_id = any_below(1 << 20);
  hop.ttl = any<std::uint8_t>();
  hop.speed = static_cast<std::uint8_t>(any_below(16));
  hop.congestion = static_cast<std::uint8_t>(any_below(4));
  hop.queue_id = static_cast<std::uint8_t>(any_below(64));
  hop.rx_s = any_below(1 << 20);
  hop.egress_port = any<std::uint16_t>();
  hop.ingress_port = any<std::uint16_t>();
  hop.rx_ns = any<std::uint32_t>();
  hop.residence_ns = any<std::uint32_t>();
  hop.queue_B = any<std::uint32_t>();
  hop.queue_cells = any<std::uint16_t>();
  return hop;
}

TEST(Ifa, HeaderBytes) {
  std::array<std::uint8_t, kIfaHeader_B> out{};
  write_ifa_header({.name_space = 0xf, .next_header = 17, .flags = kIfaInband, .max_length = 48}, out);
  EXPECT_EQ(std::vector<std::uint8_t>(out.begin(), out.end()), hex("2f 11 04 30"));
  EXPECT_EQ(IfaHeaderView::parse(out)->header().next_header, 17);
  out[0] = 0x3f;
  EXPECT_EQ(IfaHeaderView::parse(out).error(), WireError::kNotTelemetry);
  EXPECT_EQ(IfaHeaderView::parse(Bytes(out).first(3)).error(), WireError::kTruncated);
}

// Laid out by hand from the draft's table, two hops; the second was written last and comes first.
TEST(Ifa, MetadataBytes) {
  IfaMetadata metadata;
  metadata.request = 0xff;
  metadata.action = 1;
  metadata.hop_limit = 6;
  IfaHop hop;
  hop.name_space = 2;
  hop.device_id = 0x12345;
  hop.ttl = 63;
  hop.speed = static_cast<std::uint8_t>(IfaSpeed::k100G);
  hop.congestion = 3;
  hop.queue_id = 0x21;
  hop.rx_s = 0xabcde;
  hop.egress_port = 7;
  hop.ingress_port = 8;
  hop.rx_ns = 999999999;
  hop.residence_ns = 425;
  hop.queue_B = 150000;
  hop.queue_cells = 1042;
  metadata.hops = {hop, IfaHop{.ttl = 62}};
  EXPECT_EQ(build_ifa_metadata(metadata),
            hex("ff 01 06 10"
                "0000003e 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
                "2123453f 4e1abcde 0007 0008 3b9ac9ff 000001a9 000249f0 0000 0412 00000000"));
}

TEST(Ifa, RejectsIncompleteHeaders) {
  IfaMetadata metadata;
  metadata.hops.resize(2);
  auto bytes = build_ifa_metadata(metadata);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(IfaMetadataView::parse(Bytes(bytes).first(size)).error(), WireError::kTruncated) << size;
  }
  bytes[3] = 9;
  EXPECT_EQ(IfaMetadataView::parse(bytes).error(), WireError::kBadTelemetryLength);
  bytes[3] = 0;
  EXPECT_EQ(IfaMetadataView::parse(bytes)->hop_count(), 0U);
}

RC_GTEST_PROP(Ifa, RoundTrip, ()) {
  const IfaHeader header{static_cast<std::uint8_t>(any_below(16)), any<std::uint8_t>(), any<std::uint8_t>(),
                         any<std::uint8_t>()};
  std::array<std::uint8_t, kIfaHeader_B> out{};
  write_ifa_header(header, out);
  RC_ASSERT(IfaHeaderView::parse(out)->header() == header);

  IfaMetadata metadata{any<std::uint8_t>(), any<std::uint8_t>(), any<std::uint8_t>(), {}};
  metadata.hops.resize(any_below(kIfaMaxHops + 1));
  for (IfaHop& hop : metadata.hops) hop = any_hop();
  auto bytes = build_ifa_metadata(metadata);
  const std::size_t size_B = bytes.size();
  const auto payload = any<std::vector<std::uint8_t>>();
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const auto view = IfaMetadataView::parse(bytes);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->size_B() == size_B);
  RC_ASSERT(view->header() == metadata);
}

RC_GTEST_PROP(Ifa, AnyBytesAreSafe, ()) {
  const auto bytes = any<std::vector<std::uint8_t>>();
  if (const auto view = IfaMetadataView::parse(bytes)) {
    RC_ASSERT(view->size_B() <= bytes.size());
    RC_ASSERT(view->header().hops.size() == view->hop_count());
  }
  if (const auto view = IfaHeaderView::parse(bytes)) RC_ASSERT(view->header().next_header == bytes[1]);
}

}  // namespace
}  // namespace weft::wire
