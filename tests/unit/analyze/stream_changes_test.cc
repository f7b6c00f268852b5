#include "analyze/streams/stream_changes.h"

#include <gtest/gtest.h>

#include "unit/analyze/finding_ids.h"

namespace weft::analyze {
namespace {

class StreamChangesTest : public testing::Test {
 protected:
  StreamChangesTest() {
    capture_.points.resize(1);
    for (const std::uint8_t last : {std::uint8_t{1}, std::uint8_t{2}})
      addresses_.id_of(wire::ipv4_mapped(10, 0, 0, last));
  }
  void see(const Frame& with, std::uint32_t dest_qp = 0x11) {
    Frame frame = with;
    frame.number = ++number_;
    frame.time_ns = 1000 * static_cast<std::int64_t>(number_);
    frame.kind = FrameKind::kRoce;
    frame.opcode = wire::Opcode::kSendOnly;
    frame.src = 0;
    frame.dst = 1;
    frame.dest_qp = dest_qp;
    frame.psn = static_cast<std::uint32_t>(number_);
    frame.payload_B = 64;
    const StreamId id = streams_.see(frame);
    changes_.see(frame, id);
  }
  void see_many(const Frame& frame, int times) {
    for (int i = 0; i < times; ++i) see(frame);
  }
  Ids found() {
    const std::vector<StreamMarks> marks(streams_.size());
    changes_.finish(findings_, {capture_, streams_, addresses_, marks});
    return ids_of(findings_);
  }
  static Frame usual() {
    Frame frame;
    frame.p_key = 0xffff;
    frame.src_port = 0xc000;
    frame.ttl = 64;
    frame.src_mac = 0x020000000001;
    return frame;
  }

  Streams streams_;
  StreamChanges changes_;
  CaptureSummary capture_;
  Addresses addresses_;
  Findings findings_;
  std::uint64_t number_ = 0;
};

TEST_F(StreamChangesTest, ConstantStream) {
  see_many(usual(), 100);
  EXPECT_EQ(found(), Ids{});
}

TEST_F(StreamChangesTest, OneOtherPKeyIsEnough) {
  see_many(usual(), 40);
  Frame other = usual();
  other.p_key = 0x7fff;
  see(other);
  see_many(usual(), 40);
  EXPECT_EQ(found(), Ids{"integrity.p-key"});
}

TEST_F(StreamChangesTest, LastingChangeOfWay) {
  see_many(usual(), 40);
  Frame other = usual();
  other.ttl = 62;
  other.src_mac = 0x020000000009;
  see_many(other, 40);
  EXPECT_EQ(found(), Ids{"path-entropy.moved"});
}

// A mirror on both sides of a router: another TTL and another MAC address for each second frame.
TEST_F(StreamChangesTest, CopiesOfRouterAreNoChange) {
  Frame routed = usual();
  routed.ttl = 63;
  routed.src_mac = 0x020000000009;
  for (int i = 0; i < 40; ++i) {
    see(usual());
    see(routed);
  }
  EXPECT_EQ(found(), Ids{});
}

TEST_F(StreamChangesTest, TwoHostsWithOneAddress) {
  Frame other = usual();
  other.src_mac = 0x020000000009;
  for (int i = 0; i < 10; ++i) {
    see(usual(), 0x11);
    see(other, 0x22);
  }
  EXPECT_EQ(found(), Ids{"path-entropy.two-macs"});
}

}  // namespace
}  // namespace weft::analyze
