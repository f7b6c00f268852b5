#include "analyze/streams/capture_check.h"

#include <gtest/gtest.h>

#include "unit/analyze/finding_ids.h"

namespace weft::analyze {
namespace {

struct CaptureCheckTest : testing::Test {
  CaptureCheckTest() { capture.points.resize(1); }

  void see(std::int64_t time_ns, std::optional<std::uint32_t> sequence = {}, MirrorSession session = {}) {
    Frame frame;
    frame.number = ++capture.frames;
    frame.time_ns = time_ns;
    frame.mirror_sequence = sequence;
    frame.mirror = session;
    check.see(frame);
  }
  Ids ids() {
    Findings findings;
    check.finish(capture, streams, addresses, findings);
    return ids_of(findings);
  }

  CaptureCheck check;
  CaptureSummary capture;
  Streams streams;
  Addresses addresses;
};

TEST_F(CaptureCheckTest, OrderedFramesAreWell) {
  for (std::int64_t t : {1'000, 2'000, 2'000, 1'500, 9'000}) see(t);  // half a microsecond back is no finding
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(CaptureCheckTest, StampsThatRunBackwards) {
  for (std::int64_t t : {1'000, 20'000, 5'000, 30'000}) see(t);
  EXPECT_EQ(ids(), Ids{"capture.order"});
}

TEST_F(CaptureCheckTest, MissingSequenceNumbersOfMirror) {
  for (std::uint32_t sequence : {7u, 8u, 12u, 13u}) see(sequence * 1'000, sequence);
  EXPECT_EQ(ids(), Ids{"capture.lost"});
}

TEST_F(CaptureCheckTest, SwitchesNumberTheirSessionsAlike) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    see(i * 1'000, 7 + i, {0, 5});
    see(i * 1'000 + 10, 5'000'000 + i, {1, 5});
  }
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(CaptureCheckTest, NumbersThatNoSingleCounterGivesSayNothing) {
  for (std::uint32_t i = 0; i < 100; ++i) {  // two pipelines of one switch, each with its own counter
    see(i * 1'000, 7 + i, {0, 5});
    see(i * 1'000 + 10, 5'000'000 + i, {0, 5});
  }
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(CaptureCheckTest, SequenceNumbersMayWrapAndComeLate) {
  for (std::uint32_t sequence : {0xfffffffeu, 0xffffffffu, 0u, 1u, 3u, 2u, 4u}) see(1'000, sequence);
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(CaptureCheckTest, DropCountOfFile) {
  see(1);
  check.add_dropped(0, 12);
  EXPECT_EQ(ids(), Ids{"capture.lost"});
}

TEST_F(CaptureCheckTest, SnappedFramesAreNotedOnly) {
  see(1);
  capture.cut_frames = 1;
  EXPECT_EQ(ids(), Ids{"capture.snapped"});
}

}  // namespace
}  // namespace weft::analyze
