#include "pcap/pcap_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/capture_builder.h"
#include "wire/roce_frame.h"

namespace weft::pcap {
namespace {

using support::Buffer;
using support::text;
using Builder = support::CaptureBuilder;

Buffer classic(bool big_endian, std::uint32_t magic) {
  return support::classic_capture(big_endian, magic);
}

TEST(PcapReader, ClassicInFourFlavours) {
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      const Buffer file = classic(big_endian, nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
      const auto capture = read_capture(file);
      ASSERT_TRUE(capture) << capture.error().message;
      ASSERT_EQ(capture->interfaces.size(), 1U);
      EXPECT_EQ(capture->interfaces[0].link_type, kLinkTypeEthernet);
      EXPECT_EQ(capture->interfaces[0].snap_B, 9100U);
      ASSERT_EQ(capture->packets.size(), 2U);
      const std::int64_t unit_ns = nanoseconds ? 1 : 1000;
      EXPECT_EQ(capture->packets[0].time_ns, 1'700'000'000'000'000'000 + 123'456 * unit_ns);
      EXPECT_EQ(text(capture->packets[0].bytes), "abcd");
      EXPECT_EQ(capture->packets[0].original_B, 60U);
      EXPECT_EQ(capture->packets[1].time_ns, 1'700'000'001'000'000'000 + 7 * unit_ns);
      EXPECT_EQ(text(capture->packets[1].bytes), "xyz");
      EXPECT_FALSE(capture->packets[0].outbound);
      EXPECT_FALSE(capture->cut_at_B);
    }
  }
}

// An interrupted capture keeps the packets before the cut and says where it was.
TEST(PcapReader, ClassicTruncatedAnywhere) {
  const Buffer file = classic(false, 0xa1b2c3d4);
  for (std::size_t size_B = 0; size_B < file.size(); ++size_B) {
    const auto capture = read_capture(std::span(file).first(size_B));
    if (size_B < 24) {
      EXPECT_FALSE(capture) << size_B;
    } else if (size_B == 24 || size_B == 44) {
      EXPECT_FALSE(capture->cut_at_B) << size_B;
    } else {
      EXPECT_EQ(capture->cut_at_B, size_B < 44 ? 24U : 44U) << size_B;
      EXPECT_EQ(capture->packets.size(), size_B < 44 ? 0U : 1U) << size_B;
    }
  }
}

TEST(PcapReader, ClassicBadLengthIsErrorAtOffset) {
  Buffer file = classic(false, 0xa1b2c3d4);
  file[44 + 8 + 3] = 0x7f;
  const auto capture = read_capture(file);
  ASSERT_FALSE(capture);
  EXPECT_EQ(capture.error().offset_B, 44U);
}

TEST(PcapReader, PcapngInBothByteOrders) {
  for (const bool big_endian : {false, true}) {
    Builder file{big_endian};
    file.section();
    file.block(1, file.sub()
                      .u16(1)
                      .u16(0)
                      .u32(96)
                      .option(1, "a comment of the interface")
                      .option(2, "eth0")
                      .option(3, "first port")
                      .u16(8)
                      .u16(8)
                      .u64(25'000'000'000)
                      .u16(0)
                      .u16(0)
                      .bytes);
    file.block(5, file.sub().u32(0).u32(0).u32(0).bytes);               // statistics: skipped
    file.block(0x80001234, file.sub().padded("somebody's own").bytes);  // unknown: skipped
    file.block(6, file.sub()
                      .u32(0)
                      .u32(0x0005'0000)
                      .u32(7)
                      .u32(5)
                      .u32(1500)
                      .padded("hello")
                      .u16(2)
                      .u16(4)
                      .u32(2)
                      .option(1, "dropped: headroom")
                      .option(1, "a second comment")
                      .bytes);  // ends without an end-of-options
    file.block(3, file.sub().u32(3).padded("abc").bytes);
    const auto capture = read_capture(file.bytes);
    ASSERT_TRUE(capture) << capture.error().message;
    ASSERT_EQ(capture->interfaces.size(), 1U);
    EXPECT_EQ(capture->interfaces[0], (CaptureInterface{"eth0", "first port", 25'000'000'000, 1, 96}));
    ASSERT_EQ(capture->packets.size(), 2U);
    const CapturedPacket& first = capture->packets[0];
    EXPECT_EQ(first.time_ns, ((std::int64_t{0x50000} << 32) + 7) * 1000) << "microseconds unless told";
    EXPECT_EQ(text(first.bytes), "hello");
    EXPECT_EQ(first.original_B, 1500U);
    EXPECT_EQ(first.comment, "dropped: headroom");
    EXPECT_EQ(first.outbound, true);
    EXPECT_EQ(text(capture->packets[1].bytes), "abc");
    EXPECT_EQ(capture->packets[1].time_ns, 0);
  }
}

TEST(PcapReader, SimplePacketIsLimitedBySnapLength) {
  Builder file;
  file.section().block(1, file.sub().u16(1).u16(0).u32(6).bytes);
  file.block(3, file.sub().u32(100).padded("abcdef").bytes);
  const auto capture = read_capture(file.bytes);
  ASSERT_TRUE(capture);
  EXPECT_EQ(text(capture->packets.at(0).bytes), "abcdef");
  EXPECT_EQ(capture->packets[0].original_B, 100U);
}

TEST(PcapReader, TimeResolutions) {
  struct Case {
    std::uint8_t tsresol;
    std::uint64_t ticks;
    std::int64_t time_ns;
  };
  for (const Case& c : {Case{0, 5, 5'000'000'000}, Case{3, 5, 5'000'000}, Case{9, 5, 5}, Case{12, 5'999, 5},
                        Case{127, ~std::uint64_t{0}, 0}, Case{0x80 | 10, 1024, 1'000'000'000},
                        Case{0x80 | 32, std::uint64_t{3} << 31, 1'500'000'000}, Case{0xff, ~std::uint64_t{0}, 0}}) {
    Builder file;
    file.section().interface(c.tsresol).packet(0, c.ticks, "abcd");
    const auto capture = read_capture(file.bytes);
    ASSERT_TRUE(capture) << capture.error().message;
    EXPECT_EQ(capture->packets.at(0).time_ns, c.time_ns) << int{c.tsresol};
  }
  Builder overflow;
  overflow.section().interface(0).packet(0, ~std::uint64_t{0}, "abcd");
  EXPECT_STREQ(read_capture(overflow.bytes).error().message, "time out of range");
}

TEST(PcapReader, TimeOffset) {
  Builder file;
  const std::int64_t minus_two_s = -2;
  file.section().block(
      1, file.sub().u16(1).u16(0).u32(0).u16(14).u16(8).u64(static_cast<std::uint64_t>(minus_two_s)).bytes);
  file.packet(0, 3'000'001, "abcd");
  EXPECT_EQ(read_capture(file.bytes)->packets.at(0).time_ns, 1'000'001'000);
}

TEST(PcapReader, SectionsHaveOwnInterfacesAndByteOrder) {
  Builder file;
  file.section().interface().interface().packet(1, 1, "one.");
  Builder second{true};
  second.section().interface().packet(0, 2, "two.");
  file.bytes.insert(file.bytes.end(), second.bytes.begin(), second.bytes.end());
  const auto capture = read_capture(file.bytes);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->interfaces.size(), 3U);
  EXPECT_EQ(capture->packets.at(0).interface, 1U);
  EXPECT_EQ(capture->packets.at(1).interface, 2U);
  EXPECT_EQ(capture->packets.at(1).time_ns, 2000);

  Builder lost;
  lost.section().interface().section().packet(0, 1, "x...");
  EXPECT_STREQ(read_capture(lost.bytes).error().message, "packet of an interface not described");
}

// Each breaks one thing of a good file; the error names it and the block's offset.
TEST(PcapReader, ErrorsNameProblem) {
  auto good = [] {
    Builder file;
    return file.section().interface().packet(0, 1, "abcd").bytes;
  };
  ASSERT_TRUE(read_capture(good()));
  const std::size_t interface_at = 28;
  const std::size_t packet_at = interface_at + 28;
  auto broken = [&](std::size_t at, std::uint8_t value) {
    Buffer file = good();
    file.at(at) = value;
    const auto capture = read_capture(file);
    return capture ? std::string("no error")
                   : std::to_string(capture.error().offset_B) + ": " + capture.error().message;
  };
  EXPECT_EQ(broken(0, 0), "0: neither pcap nor pcapng");
  EXPECT_EQ(broken(8, 0), "0: section without byte-order magic");
  EXPECT_EQ(broken(12, 2), "0: pcapng version is not 1");
  EXPECT_EQ(broken(interface_at + 4, 8), "28: bad block length");
  EXPECT_EQ(broken(interface_at + 4, 27), "28: bad block length");
  EXPECT_EQ(broken(interface_at + 7, 1), "28: block longer than 16 MiB");
  EXPECT_EQ(broken(interface_at + 24, 32), "28: the two lengths of a block differ");
  EXPECT_EQ(broken(interface_at + 18, 200), "28: option runs over the end of its block");
  EXPECT_EQ(broken(packet_at + 8, 1), "56: packet of an interface not described");
  EXPECT_EQ(broken(packet_at + 20, 5), "56: packet runs over the end of its block");
  EXPECT_EQ(broken(packet_at + 23, 0xff), "56: packet runs over the end of its block");

  Builder short_blocks;
  short_blocks.section().block(1, short_blocks.sub().u32(1).bytes);
  EXPECT_STREQ(read_capture(short_blocks.bytes).error().message, "interface description is too short");
  EXPECT_STREQ(read_capture({}).error().message, "too short for a capture");
}

TEST(PcapReader, PcapngTruncatedAnywhere) {
  Builder file;
  file.section().interface().packet(0, 1, "abcd").packet(0, 2, "efgh");
  const std::size_t packet_at = 56;
  const std::size_t packet_B = 36;
  for (std::size_t size_B = 12; size_B < file.bytes.size(); ++size_B) {
    const auto capture = read_capture(std::span(file.bytes).first(size_B));
    ASSERT_TRUE(capture) << size_B;
    EXPECT_EQ(capture->packets.size(), size_B < packet_at + packet_B ? 0U : 1U) << size_B;
    const bool at_a_boundary = size_B == 28 || size_B == packet_at || size_B == packet_at + packet_B;
    EXPECT_EQ(capture->cut_at_B.has_value(), !at_a_boundary) << size_B;
  }
}

RC_GTEST_PROP(PcapReader, AnyBytesGiveCaptureOrError, (const Buffer& tail)) {
  Builder file;
  file.section().interface();
  Buffer bytes = *rc::gen::element(Buffer{}, file.bytes, classic(true, 0xa1b23c4d));
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  const auto capture = read_capture(bytes);
  if (!capture) {
    RC_ASSERT(capture.error().offset_B <= bytes.size());
    return;
  }
  for (const CapturedPacket& packet : capture->packets) {
    RC_ASSERT(packet.interface < capture->interfaces.size());
    RC_ASSERT(packet.bytes.empty() || (packet.bytes.data() >= bytes.data() &&
                                       packet.bytes.data() + packet.bytes.size() <= bytes.data() + bytes.size()));
  }
}

Buffer read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What the Linux kernel's rxe sent: each frame parses with a good
// ICRC and is rebuilt byte for byte.
TEST(PcapReader, LinuxRxeCaptureRebuildsByteForByte) {
  const std::string path = WEFT_SOURCE_DIR "/../shared/captures/linux-rxe-6.1.pcap";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const Buffer file = read_file(path);
  const auto capture = read_capture(file);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->packets.size(), 648U);
  int roce_frames = 0;
  for (std::size_t i = 0; i < capture->packets.size(); ++i) {
    const CapturedPacket& packet = capture->packets[i];
    if (!wire::is_rocev2(packet.bytes)) continue;
    ++roce_frames;
    const auto frame = wire::parse_roce_frame(packet.bytes);
    ASSERT_TRUE(frame) << "frame " << i + 1 << ": " << wire::describe(frame.error());
    EXPECT_TRUE(frame->icrc_ok) << "frame " << i + 1;
    EXPECT_TRUE(frame->ipv4_checksum_ok) << "frame " << i + 1;
    Buffer rebuilt(wire::roce_frame_size_B(frame->headers, frame->payload.size()));
    wire::build_roce_frame(frame->headers, frame->payload, rebuilt);
    EXPECT_EQ(rebuilt, Buffer(packet.bytes.begin(), packet.bytes.end())) << "frame " << i + 1;
  }
  EXPECT_EQ(roce_frames, 491);
}

}  // namespace
}  // namespace weft::pcap
