#include "observe/capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "pcap/pcap_reader.h"
#include "support/bytes.h"
#include "support/roce_record.h"
#include "wire/opcode.h"
#include "wire/roce_frame.h"

namespace weft::observe {
namespace {

struct Fixture {
  std::string path = std::filesystem::temp_directory_path() /
                     (std::string("weft-") + testing::UnitTest::GetInstance()->current_test_info()->name() +
                      std::to_string(::getpid()));
  fabric::AddressBook book{{"a:p0", {2, 0, 0, 0, 0, 1}, {}, true, std::nullopt},
                           {"b:p0", {2, 0, 0, 0, 0, 2}, {}, true, std::nullopt}};
  engine::Domain domain;
  std::unique_ptr<Capture> capture = std::move(*Capture::create(path, book));
  std::vector<std::uint8_t> bytes;

  Fixture() { domain.formats = &nic::packet_formats(); }
  ~Fixture() { std::filesystem::remove(path); }
  void see(const fabric::Tap& tap, std::uint32_t psn, Time_ps time_ps, bool outbound, std::string_view comment = "",
           std::uint8_t flags = 0) {
    engine::Packet p;
    p.dst = 1;
    p.flags = flags & 0x1f;
    support::make_roce(p, wire::Opcode::kAck, psn);
    tap.frame(tap.self, {p, domain, 0, 1, time_ps, outbound, comment});
  }
  // PSNs in the order of the file.
  std::vector<std::uint32_t> psns() {
    std::vector<std::uint32_t> list;
    for (const pcap::CapturedPacket& packet : packets())
      list.push_back(wire::parse_roce_frame(packet.bytes)->headers.psn);
    return list;
  }
  std::vector<pcap::CapturedPacket> packets() {
    EXPECT_TRUE(capture->close());
    const std::string text = support::read_file(path);
    bytes.assign(text.begin(), text.end());
    return pcap::read_capture(bytes)->packets;
  }
};

// Time, then interface, then outbound before inbound, then the order at the tap.
TEST(Capture, MergesInOneOrder) {
  Fixture f;
  fabric::Tap a = f.capture->add_port(0, 100'000'000'000, "");
  fabric::Tap b = f.capture->add_port(1, 100'000'000'000, "");
  f.see(b, 6, ns(20), true);
  f.see(b, 2, ns(10), false);
  f.see(a, 4, ns(20), false);
  f.see(a, 5, ns(20), false);
  f.see(a, 3, ns(20), true);
  f.see(a, 1, ns(5), true);
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(f.capture->frames(), 6U);
}

TEST(Capture, FlushWritesOnlyEarlierFrames) {
  Fixture f;
  fabric::Tap a = f.capture->add_port(0, 1, "");
  f.see(a, 1, ns(10), true);
  f.see(a, 3, ns(30), true);
  f.capture->flush(ns(30));
  EXPECT_EQ(f.capture->frames(), 1U);
  f.see(a, 2, ns(30) - 1, true);
  f.see(a, 4, ns(40), true);
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

TEST(Capture, StampsNamesAndComments) {
  Fixture f;
  fabric::Tap a = f.capture->add_port(0, 25'000'000'000, "test NIC");
  f.see(a, 1, ns(1500), true, "weft: dropped by fault f");
  f.see(a, 2, ns(1600), true, "", engine::Packet::kRetransmission);
  f.see(a, 3, ns(1700), false, "", engine::Packet::kRetransmission);
  auto packets = f.packets();
  ASSERT_EQ(packets.size(), 3U);
  EXPECT_EQ(packets[0].time_ns, 1'767'225'600'000'001'500);
  EXPECT_EQ(packets[0].comment, "weft: dropped by fault f");
  EXPECT_EQ(packets[0].outbound, true);
  EXPECT_EQ(packets[1].comment, "weft: retransmission");
  EXPECT_EQ(packets[2].comment, "") << "a receiver cannot know";
  EXPECT_EQ(packets[2].outbound, false);
  auto capture = pcap::read_capture(f.bytes);
  ASSERT_EQ(capture->interfaces.size(), 1U);
  EXPECT_EQ(capture->interfaces[0].name, "a:p0");
  EXPECT_EQ(capture->interfaces[0].description, "test NIC");
  EXPECT_EQ(capture->interfaces[0].speed_bps, 25'000'000'000U);
}

// A capture that has much in memory asks to be flushed, and what stays is bounded.
TEST(Capture, RequestsFlushWhenMemoryIsFull) {
  Fixture f;
  std::atomic<bool> full{false};
  f.capture.reset();
  f.capture = std::move(*Capture::create(f.path, f.book, {}, &full));
  const fabric::Tap tap = f.capture->add_port(0, 25'000'000'000, "");
  std::uint32_t frames = 0;
  while (!full) {
    f.see(tap, frames, ns(frames), true);
    ++frames;
  }
  EXPECT_GT(f.capture->pending_B(), Capture::kMostPending_B);
  EXPECT_LT(f.capture->pending_B(), Capture::kMostPending_B + 1000);
  f.capture->flush(ns(frames));
  EXPECT_FALSE(full);
  EXPECT_LT(f.capture->pending_B(), 1000U);
  EXPECT_EQ(f.packets().size(), frames);
}

TEST(Capture, SnaplenKeepsOriginalLength) {
  Fixture f;
  f.capture.reset();
  f.capture = std::move(*Capture::create(f.path, f.book, {.snaplen_B = 50}));
  f.see(f.capture->add_port(0, 25'000'000'000, ""), 1, ns(1), true);
  const std::vector<pcap::CapturedPacket> packets = f.packets();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].bytes.size(), 50U);
  EXPECT_EQ(packets[0].original_B, 62U);  // Ethernet, IPv4, UDP, BTH, AETH, ICRC
}

TEST(Capture, RingKeepsNewestFiles) {
  Fixture f;
  f.capture.reset();
  f.capture = std::move(*Capture::create(f.path, f.book, {.file_B = 1000, .files = 2}));
  const fabric::Tap tap = f.capture->add_port(0, 25'000'000'000, "");
  for (std::uint32_t i = 0; i < 40; ++i) f.see(tap, i, ns(i), true);
  ASSERT_TRUE(f.capture->close());
  EXPECT_EQ(f.capture->frames(), 40U);
  ASSERT_EQ(capture_files(f.path), f.capture->files());
  ASSERT_EQ(f.capture->files().size(), 2U);
  std::uint32_t psn = 40;
  const std::vector<std::string> files = f.capture->files();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    EXPECT_LE(std::filesystem::file_size(*file), 1000U);
    std::ifstream in(*file, std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto capture = pcap::read_capture(bytes);
    ASSERT_TRUE(capture.has_value());
    EXPECT_EQ(capture->interfaces.size(), 1U);
    for (auto packet = capture->packets.rbegin(); packet != capture->packets.rend(); ++packet)
      EXPECT_EQ(wire::parse_roce_frame(packet->bytes)->headers.psn, --psn);
    std::filesystem::remove(*file);
  }
}

TEST(Capture, ReportsFileThatCannotBeCreated) {
  fabric::AddressBook book;
  EXPECT_FALSE(Capture::create("/nonexistent-directory/x.pcapng", book).has_value());
}

}  // namespace
}  // namespace weft::observe
