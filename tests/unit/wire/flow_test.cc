#include "wire/flow.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"

namespace weft::wire {
namespace {

// Expected values from the formula written a second time, in Python.
TEST(Flow, LinuxFormula) {
  EXPECT_EQ(flow_label(0x11, 0x12), 0x132U);
  EXPECT_EQ(udp_source_port(0x11, 0x12), 0xc132);
  EXPECT_EQ(flow_label(0x118, 0x2b7), 0x2f828U);
  EXPECT_EQ(udp_source_port(0x118, 0x2b7), 0xf823);
  EXPECT_EQ(flow_label(0xabcdef, 0x123456), 0xac3e3U);
  EXPECT_EQ(udp_source_port(0xabcdef, 0x123456), 0xc3c8);
  EXPECT_EQ(flow_label(0xffffff, 0xffffff), 0xfff1eU);
  EXPECT_EQ(udp_source_port(0xffffff, 0xffffff), 0xff21);
}

RC_GTEST_PROP(Flow, IsSymmetricAndInDynamicRange, ()) {
  const std::uint32_t a = any_u24();
  const std::uint32_t b = any_u24();
  RC_ASSERT(flow_label(a, b) == flow_label(b, a));
  RC_ASSERT(flow_label(a, b) <= 0xfffffU);
  RC_ASSERT(udp_source_port(a, b) >= kFirstUdpSourcePort);
}

}  // namespace
}  // namespace weft::wire
