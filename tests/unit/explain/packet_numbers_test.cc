// Packet numbers of incidents' steps, in captures that are written here frame by frame.
#include "explain/packet_numbers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pcap/pcapng.h"
#include "wire/opcode.h"
#include "wire/pfc.h"

namespace weft::explain {
namespace {

constexpr std::int64_t kFirst_ns = 1'767'225'600'000'000'000;  // time 0 of a run

std::vector<std::uint8_t> roce_frame(wire::Opcode opcode, std::uint32_t qp, std::uint32_t psn, std::uint8_t tos = 2) {
  std::vector<std::uint8_t> frame(14 + 20 + 8 + 12);
  frame[12] = 0x08;
  frame[14] = 0x45;
  frame[15] = tos;
  frame[14 + 20 + 2] = 0x12;
  frame[14 + 20 + 3] = 0xb7;
  std::uint8_t* bth = frame.data() + 42;
  bth[0] = static_cast<std::uint8_t>(opcode);
  for (int i = 0; i < 3; ++i) {
    bth[5 + i] = static_cast<std::uint8_t>(qp >> (16 - 8 * i));
    bth[9 + i] = static_cast<std::uint8_t>(psn >> (16 - 8 * i));
  }
  return frame;
}

lab::ChainStep step_of(const std::string& what, Time_ps at_ps, const std::string& port, std::uint32_t qpn = 0,
                       std::uint32_t psn = 0) {
  lab::ChainStep step;
  step.what = what;
  step.time_ps = at_ps;
  step.where = step.port = port;
  step.qpn = qpn;
  step.psn = psn;
  return step;
}

// A capture at a:p0 and leaf:swp1, which is the far end of b:p0.
class PacketNumbers : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("weft_numbers_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
                  std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
    evidence_.links.push_back({"b:p0", "leaf:swp1", 0, 0, 0, 0, 0, 0, {}});
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  struct Frame {
    std::uint32_t interface;
    Time_ps at_ps;
    bool outbound;
    std::vector<std::uint8_t> bytes;
  };
  void write(const std::vector<Frame>& frames) {
    auto writer = pcap::PcapngWriter::create((directory_ / "capture.pcapng").string());
    ASSERT_TRUE(writer);
    writer->add_interface("a:p0", 100'000'000'000);
    writer->add_interface("leaf:swp1", 100'000'000'000);
    for (const Frame& each : frames)
      writer->write(each.interface, kFirst_ns + each.at_ps / 1000, each.outbound, each.bytes);
  }
  std::optional<std::uint64_t> number_of(const lab::ChainStep& step) {
    explanation_ = {};
    explanation_.incidents.emplace_back().steps.push_back(step);
    find_packets(directory_.string(), evidence_, explanation_);
    return explanation_.incidents[0].steps[0].packet;
  }

  std::filesystem::path directory_;
  lab::Evidence evidence_;
  lab::Explanation explanation_;
};

TEST_F(PacketNumbers, MarkIsOfItsQueuePairNumberAndCodepoint) {
  const auto write_only = wire::Opcode::kWriteOnly;
  write({{0, us(1), true, roce_frame(write_only, 0x108, 7, 2)},   // not marked
         {0, us(2), true, roce_frame(write_only, 0x109, 7, 3)},   // of another queue pair
         {0, us(3), true, roce_frame(write_only, 0x108, 8, 3)},   // of another number
         {0, us(4), false, roce_frame(write_only, 0x108, 7, 3)},  // came in
         {1, us(5), true, roce_frame(write_only, 0x108, 7, 3)},   // elsewhere
         {0, us(6), true, roce_frame(write_only, 0x108, 7, 3)}});
  EXPECT_EQ(number_of(step_of("ce_mark", us(1), "a:p0", 0x108, 7)), 6U);
  EXPECT_EQ(number_of(step_of("ce_mark", us(7), "a:p0", 0x108, 7)), std::nullopt) << "before the step";
  EXPECT_EQ(number_of(step_of("ce_mark", us(1), "a:p0", 0x108, 9)), std::nullopt);
  EXPECT_EQ(number_of(step_of("ce_mark", us(1), "c:p0", 0x108, 7)), std::nullopt) << "nobody captured there";
}

TEST_F(PacketNumbers, PortWithoutCaptureIsSeenFromItsFarEnd) {
  write({{1, us(2), true, roce_frame(wire::Opcode::kCnp, 0x108, 0)},
         {1, us(3), false, roce_frame(wire::Opcode::kCnp, 0x108, 0)}});
  EXPECT_EQ(number_of(step_of("cnp", us(1), "b:p0")), 2U) << "what b sends comes in at leaf";
}

TEST_F(PacketNumbers, RateCutHasLastCnpBefore) {
  write({{0, us(1), false, roce_frame(wire::Opcode::kCnp, 0x108, 0)},
         {0, us(2), false, roce_frame(wire::Opcode::kCnp, 0x108, 0)},
         {0, us(3), false, roce_frame(wire::Opcode::kAck, 0x108, 0)},
         {0, us(9), false, roce_frame(wire::Opcode::kCnp, 0x108, 0)}});
  EXPECT_EQ(number_of(step_of("rate_cut", us(4), "a:p0")), 2U);
  EXPECT_EQ(number_of(step_of("rate_cut", ns(500), "a:p0")), std::nullopt);
}

TEST_F(PacketNumbers, PauseStopsAtLeastOneClass) {
  const auto frame_of = [](std::uint16_t quanta) {
    wire::Pfc pfc;
    pfc.class_enable = 8;
    pfc.quanta[3] = quanta;
    const auto frame = wire::build_pfc_frame(pfc);
    return std::vector<std::uint8_t>(frame.begin(), frame.end());
  };
  write({{1, us(2), true, frame_of(0)}, {1, us(3), true, frame_of(0xffff)}});
  EXPECT_EQ(number_of(step_of("pause", us(1), "leaf:swp1")), 2U) << "the first is XON";
  EXPECT_EQ(number_of(step_of("pause_upstream", us(1), "leaf:swp1")), 2U);
  EXPECT_EQ(number_of(step_of("cnp", us(1), "leaf:swp1")), std::nullopt);
}

TEST_F(PacketNumbers, DropHasLastSighting) {
  const auto send = wire::Opcode::kSendOnly;
  write({{0, us(1), true, roce_frame(send, 0x108, 7)},
         {1, us(2), true, roce_frame(send, 0x108, 7)},
         {0, us(8), true, roce_frame(send, 0x108, 7)}});
  EXPECT_EQ(number_of(step_of("drop", us(5), "leaf:swp1", 0x108, 7)), 2U) << "the third is sent again";
  EXPECT_EQ(number_of(step_of("recovery", us(5), "a:p0", 0, 7)), 3U);
}

TEST_F(PacketNumbers, SaysWhatKeptItFromLooking) {
  EXPECT_EQ(number_of(step_of("drop", us(5), "a:p0", 0x108, 7)), std::nullopt);
  EXPECT_TRUE(explanation_.notes.empty()) << "nothing was captured";
  std::ofstream(directory_ / "capture_00001.pcapng") << "";
  number_of(step_of("drop", us(5), "a:p0", 0x108, 7));
  ASSERT_EQ(explanation_.notes.size(), 1U);
  EXPECT_NE(explanation_.notes[0].find("several files"), std::string::npos);
  std::ofstream(directory_ / "capture.pcapng") << "no capture";
  number_of(step_of("drop", us(5), "a:p0", 0x108, 7));
  ASSERT_EQ(explanation_.notes.size(), 1U);
  EXPECT_NE(explanation_.notes[0].find("byte"), std::string::npos) << explanation_.notes[0];
}

TEST_F(PacketNumbers, ShortFramesFitNothing) {
  std::vector<std::uint8_t> shorter = roce_frame(wire::Opcode::kWriteOnly, 0x108, 7, 3);
  shorter.pop_back();
  write({{0, us(2), true, shorter}, {0, us(3), true, std::vector<std::uint8_t>(13)}});
  EXPECT_EQ(number_of(step_of("ce_mark", us(1), "a:p0", 0x108, 7)), std::nullopt);
}

}  // namespace
}  // namespace weft::explain
