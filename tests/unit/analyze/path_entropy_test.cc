#include "analyze/path_entropy.h"

#include <gtest/gtest.h>

#include "unit/analyze/congestion_frames.h"

namespace weft::analyze {
namespace {

TEST(PathEntropy, ManyQueuePairsOnOnePortAreFound) {
  for (const bool one_port : {true, false}) {
    CongestionBench bench;
    for (std::uint32_t qp = 0x20; qp < 0x28; ++qp) {
      Frame frame = data_frame(1'000 * qp, 0, 1, qp, 0);
      if (one_port) frame.src_port = 0xc123;
      bench.see(frame);
    }
    bench.finish();
    EXPECT_EQ(bench.find("path-entropy.one-port") != nullptr, one_port);
  }
}

TEST(PathEntropy, LowPortsAreNote) {
  CongestionBench bench;
  Frame frame = data_frame(1'000, 0, 1, 0x11, 0);
  frame.src_port = 69;
  bench.see(frame);
  bench.finish();
  EXPECT_NE(bench.find("path-entropy.source-port"), nullptr);
  EXPECT_TRUE(bench.analysis.findings.healthy());
}

// Two flows between different hosts, on one of two uplinks or on both.
TEST(PathEntropy, FlowsOnOneOfTwoUplinksCollide) {
  for (const bool collide : {true, false}) {
    CongestionBench bench({"leaf:up1", "leaf:up2"});
    for (std::uint32_t i = 0; i < 2000; ++i) {
      Frame one = data_frame(1'000 + i * 670, 2, 4, 0x11, i), other = data_frame(1'335 + i * 670, 3, 5, 0x12, i);
      other.point = collide ? 0 : 1;
      bench.see(one);
      bench.see(other);
    }
    bench.finish();
    EXPECT_EQ(bench.find("path-entropy.collision") != nullptr, collide);
  }
}

TEST(MigReq, MixIsFoundClearOnBothIsNote) {
  for (const bool set : {true, false}) {
    CongestionBench bench;
    Frame data = data_frame(1'000, 0, 1, 0x11, 0), ack = ack_frame(2'000, 1, 0, 0x21, 0);
    data.mig_req = set;
    ack.mig_req = false;
    bench.see(data);
    bench.see(ack);
    bench.finish();
    EXPECT_EQ(bench.find("migreq.mix") != nullptr, set);
    EXPECT_EQ(bench.find("migreq.clear") != nullptr, !set);
  }
}

TEST(Rates, BinsDoubleWithCapture) {
  CongestionBench bench;
  std::uint64_t sent_B = 0;
  for (std::uint32_t i = 0; i < 3000; ++i, sent_B += 4096) bench.see(data_frame(1'000 + i * 1'000, 0, 1, 0x11, i));
  bench.finish();
  const Table& table = bench.analysis.tables.at(2);
  EXPECT_EQ(table.name, "rate");
  EXPECT_LE(table.rows.size(), BinClock::kBins);
  std::int64_t total_B = 0;
  for (const auto& row : table.rows) total_B += std::get<std::int64_t>(row.at(3));
  EXPECT_EQ(total_B, static_cast<std::int64_t>(sent_B));
  EXPECT_NE(table_text(table).find("32.768"), std::string::npos);
}

}  // namespace
}  // namespace weft::analyze
