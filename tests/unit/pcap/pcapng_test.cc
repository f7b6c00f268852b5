#include "pcap/pcapng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pcap/pcap_reader.h"
#include "wire/pfc.h"
#include "wire/roce_frame.h"

namespace weft::pcap {
namespace {

using Frame = std::vector<std::uint8_t>;

// A file name of its own for each test, removed when it ends.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-pcapng-XXXXXX").string();
    const int descriptor = mkstemp(name.data());
    EXPECT_GE(descriptor, 0);
    std::fclose(fdopen(descriptor, "w"));
    path_ = name;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }
  Frame bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
};

Frame write_frame() {
  wire::RoceHeaders headers;
  headers.src_ip = wire::ipv4_mapped(10, 0, 0, 1);
  headers.dst_ip = wire::ipv4_mapped(10, 0, 0, 2);
  headers.src_port = 0xc132;
  headers.opcode = wire::Opcode::kWriteOnly;
  headers.dma_len = 5;
  const Frame payload = {1, 2, 3, 4, 5};
  Frame frame(wire::roce_frame_size_B(headers, payload.size()));
  wire::build_roce_frame(headers, payload, frame);
  return frame;
}

void write_two_packets(const std::string& path) {
  auto writer = PcapngWriter::create(path);
  ASSERT_TRUE(writer) << writer.error();
  EXPECT_EQ(writer->add_interface("h1:mlx5_0", 100'000'000'000, "host h1, NIC 0"), 0U);
  EXPECT_EQ(writer->add_interface("leaf1:Ethernet4", 400'000'000'000), 1U);
  writer->write(0, 1'700'000'000'123'456'789, true, write_frame());
  const auto pause = wire::build_pfc_frame({.class_enable = 8, .quanta = {0, 0, 0, 0xffff}});
  writer->write(1, 1'700'000'000'123'456'790, false, pause, "XOFF: headroom of leaf1 Ethernet4 pg 3");
  EXPECT_TRUE(writer->close());
}

TEST(Pcapng, ReadsBackWrittenFile) {
  const TemporaryFile file;
  write_two_packets(file.path());
  const Frame bytes = file.bytes();
  const auto capture = read_capture(bytes);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_FALSE(capture->cut_at_B);
  ASSERT_EQ(capture->interfaces.size(), 2U);
  EXPECT_EQ(capture->interfaces[0],
            (CaptureInterface{"h1:mlx5_0", "host h1, NIC 0", 100'000'000'000, kLinkTypeEthernet, 0}));
  EXPECT_EQ(capture->interfaces[1], (CaptureInterface{"leaf1:Ethernet4", "", 400'000'000'000, kLinkTypeEthernet, 0}));
  ASSERT_EQ(capture->packets.size(), 2U);
  const CapturedPacket& first = capture->packets[0];
  EXPECT_EQ(first.time_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(first.interface, 0U);
  EXPECT_EQ(first.outbound, true);
  EXPECT_EQ(Frame(first.bytes.begin(), first.bytes.end()), write_frame());
  EXPECT_EQ(first.original_B, first.bytes.size());
  EXPECT_EQ(first.comment, "");
  const CapturedPacket& second = capture->packets[1];
  EXPECT_EQ(second.time_ns, 1'700'000'000'123'456'790);
  EXPECT_EQ(second.interface, 1U);
  EXPECT_EQ(second.outbound, false);
  EXPECT_EQ(second.comment, "XOFF: headroom of leaf1 Ethernet4 pg 3");
}

TEST(Pcapng, MatchesBytesOfDraft) {
  const TemporaryFile file;
  {
    auto writer = PcapngWriter::create(file.path());
    ASSERT_TRUE(writer);
    writer->add_interface("p", 1);
    writer->write(0, 0x1'0000'0002, false, Frame{0xaa, 0xbb, 0xcc}, "hi", 9);
  }  // the destructor writes it out
  const Frame expected = {
      0x0a, 0x0d, 0x0d, 0x0a, 40,   0,    0,    0,    0x4d, 0x3c, 0x2b, 0x1a, 1,    0,    0,    0,    // section header
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4,    0,    4,    0,    'w',  'e',  'f',  't',  // no length
      0,    0,    0,    0,    40,   0,    0,    0,                                                    //
      1,    0,    0,    0,    52,   0,    0,    0,    1,    0,    0,    0,    0,    0,    0,    0,    // interface
      2,    0,    1,    0,    'p',  0,    0,    0,    8,    0,    8,    0,    1,    0,    0,    0,    // name, speed
      0,    0,    0,    0,    9,    0,    1,    0,    9,    0,    0,    0,    0,    0,    0,    0,    // tsresol
      52,   0,    0,    0,                                                                            //
      6,    0,    0,    0,    56,   0,    0,    0,    0,    0,    0,    0,    1,    0,    0,    0,    // packet
      2,    0,    0,    0,    3,    0,    0,    0,    9,    0,    0,    0,    0xaa, 0xbb, 0xcc, 0,    // data
      2,    0,    4,    0,    1,    0,    0,    0,    1,    0,    2,    0,    'h',  'i',  0,    0,    // flags, comment
      0,    0,    0,    0,    56,   0,    0,    0};
  EXPECT_EQ(file.bytes(), expected);
}

TEST(Pcapng, LargeCaptureRefillsBuffer) {
  const TemporaryFile file;
  auto writer = PcapngWriter::create(file.path());
  ASSERT_TRUE(writer);
  writer->add_interface("p", 1);
  Frame frame(4154);
  for (int i = 0; i < 500; ++i) {
    frame[0] = static_cast<std::uint8_t>(i);
    writer->write(0, i, true, frame, std::string(static_cast<std::size_t>(i % 5), 'c'));
  }
  ASSERT_TRUE(writer->close());
  EXPECT_TRUE(writer->close()) << "a second close changes nothing";
  const Frame bytes = file.bytes();
  const auto capture = read_capture(bytes);
  ASSERT_TRUE(capture);
  ASSERT_EQ(capture->packets.size(), 500U);
  for (std::size_t i = 0; i < 500; ++i) {
    EXPECT_EQ(capture->packets[i].time_ns, static_cast<std::int64_t>(i));
    EXPECT_EQ(capture->packets[i].bytes[0], static_cast<std::uint8_t>(i));
    EXPECT_EQ(capture->packets[i].comment.size(), i % 5);
  }
}

TEST(Pcapng, BorrowedFileAndMove) {
  const TemporaryFile file;
  std::FILE* out = std::fopen(file.path().c_str(), "wb");
  ASSERT_NE(out, nullptr);
  PcapngWriter first(out);
  first.add_interface("p", 1);
  PcapngWriter second = std::move(first);
  second.write(0, 5, true, Frame{1, 2});
  EXPECT_TRUE(second.close());
  EXPECT_EQ(std::fputc('x', out), 'x') << "the file stays the caller's";
  EXPECT_EQ(std::fclose(out), 0);
  Frame bytes = file.bytes();
  bytes.pop_back();
  const auto capture = read_capture(bytes);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->packets.size(), 1U);
}

TEST(Pcapng, ReportsFullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  auto writer = PcapngWriter::create("/dev/full");
  ASSERT_TRUE(writer);
  writer->add_interface("p", 1);
  const Frame frame(4000);
  for (int i = 0; i < 200; ++i) writer->write(0, i, true, frame);
  EXPECT_FALSE(writer->ok());
  EXPECT_FALSE(writer->close());

  auto small = PcapngWriter::create("/dev/full");
  EXPECT_TRUE(small->ok());
  EXPECT_FALSE(small->close()) << "what fits the buffer fails at the end";

  std::FILE* borrowed = std::fopen("/dev/full", "wb");
  ASSERT_NE(borrowed, nullptr);
  PcapngWriter buffered(borrowed);  // stdio takes the bytes; only the flush finds the disk full
  EXPECT_FALSE(buffered.close());
  std::fclose(borrowed);
}

TEST(Pcapng, ReportsMissingDirectory) {
  const auto writer = PcapngWriter::create("/nonexistent/x.pcapng");
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().find("/nonexistent/x.pcapng"), std::string::npos);
}

TEST(PcapngDeathTest, InterfacesComeBeforePackets) {
  auto writer = PcapngWriter::create("/dev/null");
  ASSERT_TRUE(writer);
  EXPECT_DEATH(writer->write(0, 0, true, Frame{1}), "not added");
  writer->add_interface("p", 1);
  writer->write(0, 0, true, Frame{1});
  EXPECT_DEATH(writer->add_interface("q", 1), "after the first packet");
  EXPECT_DEATH(writer->write(0, -1, true, Frame{1}), "before the epoch");
}

RC_GTEST_PROP(Pcapng, RoundTrip, (const std::vector<Frame>& frames, const std::string& name, bool outbound)) {
  const TemporaryFile file;
  auto writer = PcapngWriter::create(file.path());
  RC_ASSERT(writer.has_value());
  const auto speed_bps = *rc::gen::arbitrary<std::uint64_t>();
  const auto time_ns = *rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
  writer->add_interface(name, speed_bps, name);
  for (const Frame& frame : frames) writer->write(0, time_ns, outbound, frame, name, frame.size() + 1);
  RC_ASSERT(writer->close());
  const Frame bytes = file.bytes();
  const auto capture = read_capture(bytes);
  RC_ASSERT(capture.has_value());
  RC_ASSERT(capture->interfaces.at(0) == (CaptureInterface{name, name, speed_bps, kLinkTypeEthernet, 0}));
  RC_ASSERT(capture->packets.size() == frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const CapturedPacket& packet = capture->packets[i];
    RC_ASSERT(Frame(packet.bytes.begin(), packet.bytes.end()) == frames[i]);
    RC_ASSERT(packet.time_ns == time_ns);
    RC_ASSERT(packet.original_B == frames[i].size() + 1);
    RC_ASSERT(packet.comment == name);
    RC_ASSERT(packet.outbound == outbound);
  }
}

// What Wireshark sees in the file.
TEST(Pcapng, TsharkReadsNamesTimesDirectionsAndComments) {
  if (std::system("command -v tshark >/dev/null 2>&1") != 0) GTEST_SKIP() << "tshark is not installed";
  const TemporaryFile file;
  write_two_packets(file.path());
  // The directions as filters, because versions of tshark print the number differently.
  const std::string fields =
      " -T fields -E separator='|' -e frame.number -e frame.interface_name -e frame.interface_description"
      " -e frame.time_epoch -e frame.comment 2>/dev/null";
  auto tshark = [&](const std::string& filter) {
    std::FILE* pipe = popen(("tshark -r " + file.path() + " -Y '" + filter + "'" + fields).c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string output;
    std::array<char, 256> line;
    while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) output += line.data();
    EXPECT_EQ(pclose(pipe), 0);
    return output;
  };
  EXPECT_EQ(tshark("frame.packet_flags_direction == 2 && infiniband.reth.dmalen == 5"),
            "1|h1:mlx5_0|host h1, NIC 0|1700000000.123456789|\n");
  EXPECT_EQ(tshark("frame.packet_flags_direction == 1 && macc.cbfc.pause_time.c3 == 65535"),
            "2|leaf1:Ethernet4||1700000000.123456790|XOFF: headroom of leaf1 Ethernet4 pg 3\n");
}

}  // namespace
}  // namespace weft::pcap
