#include "wire/int_md.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

// Laid out by hand from INT v2.1, 5.7 and 5.8: two hops with node id, interfaces and queue; 3 + 2 * 3 words.
TEST(IntMd, Bytes) {
  IntMd md;
  md.next_value = 4791;
  md.remaining_hops = 6;
  md.instructions = kIntNodeId | kIntL1Interfaces | kIntQueue;
  md.domain_id = 0xabcd;
  md.hops = {
      {.node_id = 1, .ingress_interface = 2, .egress_interface = 3, .queue_id = 4, .queue_occupancy = 5},
      {.node_id = 11, .ingress_interface = 12, .egress_interface = 13, .queue_id = 14, .queue_occupancy = 0x150000}};
  EXPECT_EQ(build_int_md(md), hex("14 09 12b7  20 00 03 06  d000 abcd  0000 0000"
                                  "0000000b 000c 000d 0e150000"
                                  "00000001 0002 0003 04000005"));
}

TEST(IntMd, FlagsAndWideFields) {
  IntMd md;
  md.next = IntNext::kDscp;
  md.next_value = 26;
  md.discard = md.max_hops_exceeded = md.mtu_exceeded = true;
  md.instructions = kIntHopLatency | kIntIngressTime | kIntEgressTime | kIntTxUtilisation;
  md.hops = {{.hop_latency = 425, .ingress_time = 0x0102030405060708, .egress_time = 9, .tx_utilisation = 77}};
  EXPECT_EQ(build_int_md(md), hex("10 09 001a  2e 00 06 00  2d00 0000  0000 0000"
                                  "000001a9 0102030405060708 0000000000000009 0000004d"));
}

TEST(IntMd, OccupancySaturatesAtFieldWidth) {
  IntMd md;
  md.instructions = kIntQueue;
  md.hops = {{.queue_occupancy = 0x1000000}};
  EXPECT_EQ(IntMdView::parse(build_int_md(md))->hop(0).queue_occupancy, 0xffffffU);
}

TEST(IntMd, SkipsUnreadWords) {
  // Node id, L2 interfaces (2 words), buffer, checksum complement: 5 words.
  const auto bytes = hex("14 08 12b7  20 00 05 06  8281 0000  0000 0000  00000007 1111111122222222 33333333 44444444");
  const auto view = IntMdView::parse(bytes);
  ASSERT_TRUE(view.has_value());
  ASSERT_EQ(view->hop_count(), 1U);
  EXPECT_EQ(view->hop(0), IntMdHop{.node_id = 7});
}

TEST(IntMd, RejectsIncompleteHeaders) {
  IntMd md;
  md.instructions = kIntNodeId | kIntHopLatency;
  md.hops = {{.node_id = 1}, {.node_id = 2}};
  const auto good = build_int_md(md);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(IntMdView::parse(Bytes(good).first(size)).error(), WireError::kTruncated) << size;
  }
  const auto with = [&](std::size_t at, std::uint8_t value) {
    auto bytes = good;
    bytes[at] = value;
    const auto view = IntMdView::parse(bytes);
    return view ? std::optional<WireError>() : view.error();
  };
  EXPECT_EQ(with(0, 0x24), WireError::kNotTelemetry);        // INT-MX
  EXPECT_EQ(with(0, 0x1c), WireError::kNotTelemetry);        // next protocol type 3
  EXPECT_EQ(with(4, 0x10), WireError::kNotTelemetry);        // version 1
  EXPECT_EQ(with(1, 2), WireError::kBadTelemetryLength);     // shorter than its header
  EXPECT_EQ(with(1, 6), WireError::kBadTelemetryLength);     // one hop and a half
  EXPECT_EQ(with(6, 3), WireError::kBadTelemetryLength);     // hop length and bitmap disagree
  EXPECT_EQ(with(9, 0x02), WireError::kBadTelemetryLength);  // reserved instruction
  EXPECT_EQ(with(1, 255), WireError::kTruncated);
}

RC_GTEST_PROP(IntMd, RoundTrip, ()) {
  IntMd md;
  md.next = static_cast<IntNext>(any_below(3));
  md.next_value = any<std::uint16_t>();
  md.discard = any<bool>();
  md.max_hops_exceeded = any<bool>();
  md.mtu_exceeded = any<bool>();
  md.remaining_hops = any<std::uint8_t>();
  md.instructions = any<std::uint16_t>() & kIntReadable;
  md.domain_id = any<std::uint16_t>();
  md.domain_instructions = any<std::uint16_t>();
  md.domain_flags = any<std::uint16_t>();
  md.hops.resize(any_below(static_cast<std::uint32_t>(std::min<std::size_t>(int_max_hops(md.instructions), 8)) + 1));
  const auto asked = [&](std::uint16_t bit) { return (md.instructions & bit) != 0; };
  for (IntMdHop& hop : md.hops) {
    if (asked(kIntNodeId)) hop.node_id = any<std::uint32_t>();
    if (asked(kIntL1Interfaces)) hop.ingress_interface = any<std::uint16_t>();
    if (asked(kIntL1Interfaces)) hop.egress_interface = any<std::uint16_t>();
    if (asked(kIntHopLatency)) hop.hop_latency = any<std::uint32_t>();
    if (asked(kIntQueue)) hop.queue_id = any<std::uint8_t>();
    if (asked(kIntQueue)) hop.queue_occupancy = any_u24();
    if (asked(kIntIngressTime)) hop.ingress_time = any<std::uint64_t>();
    if (asked(kIntEgressTime)) hop.egress_time = any<std::uint64_t>();
    if (asked(kIntTxUtilisation)) hop.tx_utilisation = any<std::uint32_t>();
  }
  auto bytes = build_int_md(md);
  const std::size_t size_B = bytes.size();
  const auto payload = any<std::vector<std::uint8_t>>();
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const auto view = IntMdView::parse(bytes);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->size_B() == size_B);
  RC_ASSERT(view->header() == md);
}

// Whatever the bytes: an error, or a view whose every hop can be read.
RC_GTEST_PROP(IntMd, AnyBytesAreSafe, ()) {
  auto bytes = any<std::vector<std::uint8_t>>();
  if (bytes.size() > 4 && any<bool>()) {
    bytes[0] = 0x14;
    bytes[4] = 0x20;
  }
  if (const auto view = IntMdView::parse(bytes)) {
    RC_ASSERT(view->size_B() <= bytes.size());
    RC_ASSERT(view->header().hops.size() == view->hop_count());
  }
}

}  // namespace
}  // namespace weft::wire
