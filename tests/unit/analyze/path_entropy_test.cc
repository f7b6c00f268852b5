#include <gtest/gtest.h>

#include "analyze/paths/entropy.h"
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

// Sixteen flows of four hosts come in by one port of an aggregation switch: on one of two uplinks, or on both. Answers
// come in by both uplinks unless `silent`.
CongestionBench polarised_bench(bool one_uplink, bool silent) {
  CongestionBench bench({"agg:down", "agg:up1", "agg:up2"});
  for (std::uint32_t i = 0; i < 16; ++i) {
    const AddressId src = i % 4, dst = 4 + i % 4;
    Frame in = data_frame(1'000 + i * 100, src, dst, 0x40 + i, 0), out = in;
    in.direction = Direction::kIn;
    out.point = one_uplink || i % 2 == 0 ? 1 : 2;
    bench.see(in);
    bench.see(out);
    Frame answer = ack_frame(2'000 + i * 100, dst, src, 0x80 + i, 0);
    answer.point = i % 2 == 0 || silent ? 1 : 2;
    bench.see(answer);
  }
  bench.finish();
  return bench;
}

TEST(PathEntropy, ManyFlowsOnOneUplinkArePolarised) {
  const auto polarised = polarised_bench(true, false), spread = polarised_bench(false, false);
  ASSERT_NE(polarised.find("path-entropy.polarised"), nullptr);
  EXPECT_NE(polarised.find("path-entropy.polarised")->what.find("16 of 16 flows"), std::string::npos);
  EXPECT_EQ(spread.find("path-entropy.polarised"), nullptr);
}

TEST(PathEntropy, SilentPortMayLeadElsewhere) {
  const auto bench = polarised_bench(true, true);
  EXPECT_EQ(bench.find("path-entropy.polarised"), nullptr);
  ASSERT_NE(bench.find("path-entropy.single-path"), nullptr);
  EXPECT_TRUE(bench.analysis.findings.healthy());
}

// Two aggregation switches, each with one of two uplinks: the choice of the tier before, made again.
TEST(PathEntropy, SiblingShowsWhereSilentPortLeads) {
  for (const bool mirrored : {true, false}) {
    CongestionBench bench({"agg0:down", "agg0:up1", "agg0:up2", "agg1:down", "agg1:up1", "agg1:up2"});
    for (std::uint32_t i = 0; i < 32; ++i) {
      const AddressId src = i % 4, dst = 4 + i % 4;
      Frame in = data_frame(1'000 + i * 100, src, dst, 0x40 + i, 0), out = in;
      in.direction = Direction::kIn;
      in.point = i < 16 ? 0 : 3;
      out.point = i < 16 ? 1 : mirrored ? 5 : 4;
      bench.see(in);
      bench.see(out);
    }
    bench.finish();
    EXPECT_EQ(bench.find("path-entropy.polarised") != nullptr, mirrored);
    EXPECT_EQ(bench.find("path-entropy.single-path") != nullptr, !mirrored);
  }
}

// Two mirrored uplinks without names and directions; the router has one MAC address.
TEST(PathEntropy, UnnamedUplinksOfOneRouterCollide) {
  for (const bool collide : {true, false}) {
    CongestionBench bench({"", ""});
    for (std::uint32_t i = 0; i < 2000; ++i) {
      Frame one = data_frame(1'000 + i * 670, 2, 4, 0x11, i), other = data_frame(1'335 + i * 670, 3, 5, 0x12, i);
      Frame answer = ack_frame(1'400 + i * 670, 4, 2, 0x21, i), beside = ack_frame(1'450 + i * 670, 5, 3, 0x22, i);
      one.src_mac = other.src_mac = 0xa0;
      answer.src_mac = beside.src_mac = one.dst_mac = other.dst_mac = 0xb0;
      answer.dst_mac = beside.dst_mac = 0xa0;
      other.point = collide ? 0 : 1;
      beside.point = 1;
      for (Frame* frame : {&one, &other, &answer, &beside}) {
        frame->direction = Direction::kUnknown;
        bench.see(*frame);
      }
    }
    bench.finish();
    EXPECT_EQ(bench.find("path-entropy.collision") != nullptr, collide);
    ASSERT_NE(bench.find("path-entropy.estimate"), nullptr);
    EXPECT_NE(bench.find("path-entropy.estimate")->what.find("2 large queue pairs hash as 2 flows"), std::string::npos);
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
