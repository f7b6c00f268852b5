#include "pcap/capture_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pcap/link_type.h"
#include "pcap/pcap_reader.h"
#include "support/capture_builder.h"

namespace weft::pcap {
namespace {

using support::Buffer;
using support::CaptureBuilder;

// Gives a file in pieces of `piece_B`, except that the first has `first_B`.
class PieceSource final : public ByteSource {
 public:
  PieceSource(Buffer file, std::size_t first_B, std::size_t piece_B)
      : file_(std::move(file)), next_B_(first_B), piece_B_(piece_B) {}

  tl::expected<std::size_t, const char*> read(std::span<std::uint8_t> into) override {
    if (fails && at_ == file_.size()) return tl::unexpected<const char*>("disk on fire");
    const std::size_t got_B = std::min({into.size(), next_B_, file_.size() - at_});
    std::copy_n(file_.begin() + static_cast<std::ptrdiff_t>(at_), got_B, into.begin());
    at_ += got_B;
    next_B_ = piece_B_;
    return got_B;
  }
  std::uint64_t consumed_B() const override { return at_; }
  std::optional<std::uint64_t> file_B() const override { return file_.size(); }

  bool fails = false;

 private:
  Buffer file_;
  std::size_t at_ = 0;
  std::size_t next_B_;
  std::size_t piece_B_;
};

CaptureStream stream_of(const Buffer& file, std::size_t first_B = 1 << 20, std::size_t piece_B = 1 << 20) {
  return CaptureStream(std::make_unique<PieceSource>(file, first_B, piece_B));
}

// All that a stream gives, as text, so that two ways of reading are compared in one line.
std::string read_all(CaptureStream stream) {
  std::string all;
  CapturedPacket packet;
  while (stream.next(packet)) {
    all += std::to_string(packet.time_ns) + " if" + std::to_string(packet.interface) + " " +
           std::to_string(packet.original_B) + " [" + std::string(support::text(packet.bytes)) + "] " +
           std::string(packet.comment) + " " + std::to_string(packet.dropped_before) + " " +
           (packet.outbound ? *packet.outbound ? "out" : "in" : "?") + "\n";
  }
  EXPECT_FALSE(stream.next(packet)) << "a second time";
  if (stream.cut_at_B()) all += "cut at " + std::to_string(*stream.cut_at_B()) + "\n";
  if (stream.error()) all += std::to_string(stream.error()->offset_B) + ": " + stream.error()->message + "\n";
  for (const CaptureInterface& interface : stream.interfaces()) {
    all += interface.name + " " + std::to_string(interface.link_type) + " " + std::to_string(interface.snap_B) + "\n";
  }
  return all;
}

Buffer gzip(const Buffer& plain) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Buffer packed(deflateBound(&stream, plain.size()) + 64);
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Two sections of different byte order, three kinds of packet blocks, statistics, a comment, an unknown block.
Buffer rich_pcapng() {
  CaptureBuilder file;
  file.section().interface(9).interface();
  file.block(6, file.sub()
                    .u32(1)
                    .u32(0)
                    .u32(77)
                    .u32(5)
                    .u32(1500)
                    .padded("hello")
                    .u16(2)
                    .u16(4)
                    .u32(2)
                    .option(1, "marked")
                    .u16(4)
                    .u16(8)
                    .u64(3)
                    .u32(0)
                    .bytes);
  file.block(0x0bad, file.sub().padded("somebody's own").bytes);
  CaptureBuilder second{true};
  second.section().interface(9).packet(0, 1234, "two.");
  second.block(3, second.sub().u32(3).padded("abc").bytes);
  second.block(2, second.sub().u16(0).u16(9).u32(0).u32(55).u32(3).u32(64).padded("old").bytes);
  second.block(5, second.sub().u32(0).u32(0).u32(0).u16(5).u16(8).u64(17).u16(7).u16(8).u64(4).u32(0).bytes);
  file.bytes.insert(file.bytes.end(), second.bytes.begin(), second.bytes.end());
  return file.bytes;
}

const char* const kRichText =
    "77000 if1 1500 [hello] marked 3 out\n"
    "1234 if2 4 [two.]  0 ?\n"
    "0 if2 3 [abc]  0 ?\n"
    "55 if2 64 [old]  9 ?\n"
    " 1 0\n 1 0\n 1 0\n";

TEST(CaptureStream, ReadsAllBlocksOfPcapng) {
  EXPECT_EQ(read_all(stream_of(rich_pcapng())), kRichText);
  EXPECT_EQ(read_all(CaptureStream(rich_pcapng())), kRichText);
}

TEST(CaptureStream, PieceBoundariesAtEveryOffsetGiveSamePackets) {
  for (const Buffer& file : {support::classic_capture(false, 0xa1b2c3d4), support::classic_capture(true, 0xa1b23c4d),
                             rich_pcapng(), gzip(rich_pcapng())}) {
    const std::string whole = read_all(stream_of(file));
    for (std::size_t first_B = 1; first_B <= file.size(); ++first_B) {
      EXPECT_EQ(read_all(stream_of(file, first_B)), whole) << first_B;
    }
    for (std::size_t piece_B = 1; piece_B < 40; ++piece_B) {
      EXPECT_EQ(read_all(stream_of(file, piece_B, piece_B)), whole) << piece_B;
    }
  }
}

TEST(CaptureStream, KeepsDropCountsOfInterface) {
  CaptureStream stream = stream_of(rich_pcapng());
  CapturedPacket packet;
  while (stream.next(packet)) continue;
  ASSERT_EQ(stream.interfaces().size(), 3U);
  EXPECT_FALSE(stream.interfaces()[0].statistics.dropped_by_os);
  EXPECT_EQ(stream.interfaces()[2].statistics.dropped_by_interface, 17U);
  EXPECT_EQ(stream.interfaces()[2].statistics.dropped_by_os, 4U);
  EXPECT_FALSE(stream.interfaces()[2].statistics.received);
}

TEST(CaptureStream, ModifiedPcapHasLongerRecords) {
  CaptureBuilder file{true};
  file.u32(0xa1b2cd34).u16(2).u16(4).u32(0).u32(0).u32(96).u32(1);
  for (int i = 0; i < 2; ++i) file.u32(1).u32(2).u32(4).u32(60).u32(7).u16(8).u16(0).padded("abcd");
  EXPECT_EQ(read_all(stream_of(file.bytes)), "1000002000 if0 60 [abcd]  0 ?\n1000002000 if0 60 [abcd]  0 ?\n 1 96\n");
}

TEST(CaptureStream, FcsLengthOfInterface) {
  CaptureBuilder classic;
  classic.u32(0xa1b2c3d4).u16(2).u16(4).u32(0).u32(0).u32(0).u32(0x2400'0001);
  CaptureStream stream = stream_of(classic.bytes);
  CapturedPacket packet;
  EXPECT_FALSE(stream.next(packet));
  EXPECT_EQ(stream.interfaces().at(0).fcs_B, 4);
  EXPECT_EQ(stream.interfaces()[0].link_type, kLinkTypeEthernet);
  CaptureBuilder file;
  file.section().block(1, file.sub().u16(1).u16(0).u32(0).u16(13).u16(1).number(32, 1).padded("").bytes);
  CaptureStream second = stream_of(file.bytes);
  EXPECT_FALSE(second.next(packet));
  EXPECT_EQ(second.interfaces().at(0).fcs_B, 4);
}

TEST(CaptureStream, CutFileGivesWhatItHolds) {
  const Buffer file = support::classic_capture(false, 0xa1b2c3d4);
  for (std::size_t size_B = 45; size_B < file.size(); ++size_B) {
    const Buffer cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size_B));
    EXPECT_EQ(read_all(stream_of(cut)), "1700000000123456000 if0 60 [abcd]  0 ?\ncut at 44\n 1 9100\n") << size_B;
  }
}

TEST(CaptureStream, CutGzipGivesWhatItHolds) {
  const Buffer packed = gzip(rich_pcapng());
  for (std::size_t size_B = 18; size_B < packed.size(); ++size_B) {
    const Buffer cut(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size_B));
    const std::string all = read_all(stream_of(cut));
    EXPECT_TRUE(all.find("cut at ") != all.npos || all.find("0: too short for a capture") != all.npos)
        << size_B << ": " << all;
  }
  // All packets are there, the trailer is not.
  const Buffer no_trailer(packed.begin(), packed.end() - 8);
  EXPECT_NE(read_all(stream_of(no_trailer)).find("[old]"), std::string::npos);
}

TEST(CaptureStream, GzipMembersFollowEachOther) {
  const Buffer plain = rich_pcapng();
  const std::ptrdiff_t half = 101;
  Buffer packed = gzip(Buffer(plain.begin(), plain.begin() + half));
  const Buffer second = gzip(Buffer(plain.begin() + half, plain.end()));
  packed.insert(packed.end(), second.begin(), second.end());
  EXPECT_EQ(read_all(stream_of(packed)), kRichText);
  packed.insert(packed.end(), 512, 0);  // padding of a tape, which gzip(1) ignores too
  EXPECT_EQ(read_all(stream_of(packed)), kRichText);
}

TEST(CaptureStream, DamagedGzipIsError) {
  Buffer packed = gzip(rich_pcapng());
  packed[packed.size() - 6] ^= 1;  // the CRC
  const std::string all = read_all(stream_of(packed));
  EXPECT_NE(all.find("gzip data is damaged"), std::string::npos) << all;
  EXPECT_NE(all.find("[two.]"), std::string::npos) << all;
  EXPECT_NE(read_all(stream_of(gzip(packed))).find("0: gzip within gzip"), std::string::npos);
}

TEST(CaptureStream, ErrorComesAfterPacketsBeforeIt) {
  Buffer file = rich_pcapng();
  file.resize(file.size() - 4);
  file.insert(file.end(), {1, 2, 3, 4});
  const std::string all = read_all(stream_of(file, 7, 7));
  EXPECT_NE(all.find("[old]"), std::string::npos) << all;
  EXPECT_NE(all.find("the two lengths of a block differ"), std::string::npos) << all;
}

TEST(CaptureStream, ReadErrorIsGivenWithOffset) {
  const Buffer file = support::classic_capture(false, 0xa1b2c3d4);
  auto source = std::make_unique<PieceSource>(file, 100, 100);
  source->fails = true;
  EXPECT_NE(read_all(CaptureStream(std::move(source))).find("63: disk on fire"), std::string::npos);
}

TEST(CaptureStream, OtherPackersAreNamed) {
  const auto message = [](Buffer file) {
    CaptureStream stream{std::span<const std::uint8_t>(file)};
    CapturedPacket packet;
    EXPECT_FALSE(stream.next(packet));
    return stream.error() ? std::string(stream.error()->message) : "";
  };
  EXPECT_NE(message({0x28, 0xb5, 0x2f, 0xfd}).find("zstd -dc"), std::string::npos);
  EXPECT_NE(message({0xfd, '7', 'z', 'X'}).find("xz -dc"), std::string::npos);
  EXPECT_NE(message({'B', 'Z', 'h', '9'}).find("bzip2 -dc"), std::string::npos);
  EXPECT_NE(message({0x04, 0x22, 0x4d, 0x18}).find("lz4 -dc"), std::string::npos);
  EXPECT_EQ(message({'M', 'Z', 0, 0}), "neither pcap nor pcapng");
}

// A record that says 16 MiB in a file of a few bytes: no more memory than the file warrants, and it is cut.
TEST(CaptureStream, LongRecordGrowsWindow) {
  CaptureBuilder file;
  file.u32(0xa1b2c3d4).u16(2).u16(4).u32(0).u32(0).u32(0).u32(1);
  const std::string big(3'000'000, 'x');
  file.u32(1).u32(0).u32(big.size()).u32(big.size()).padded(big);
  file.u32(2).u32(0).u32(4).u32(4).padded("tail");
  CaptureStream stream = stream_of(file.bytes, 1000, 70'000);
  CapturedPacket packet;
  ASSERT_TRUE(stream.next(packet));
  EXPECT_EQ(support::text(packet.bytes), big);
  ASSERT_TRUE(stream.next(packet));
  EXPECT_EQ(support::text(packet.bytes), "tail");
  EXPECT_FALSE(stream.next(packet));
  EXPECT_EQ(stream.consumed_B(), file.bytes.size());
}

TEST(CaptureStream, OpensFileAndReportsWhyNot) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("weft-capture-stream-" + std::to_string(getpid()) + ".pcap");
  const Buffer file = support::classic_capture(true, 0xa1b2c3d4);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
  auto stream = CaptureStream::open(path);
  ASSERT_TRUE(stream) << stream.error();
  EXPECT_EQ(stream->file_B(), file.size());
  EXPECT_STREQ(stream->format_name(), "");
  CapturedPacket packet;
  ASSERT_TRUE(stream->next(packet));
  EXPECT_STREQ(stream->format_name(), "pcap");
  EXPECT_EQ(support::text(packet.bytes), "abcd");
  std::filesystem::remove(path);
  EXPECT_EQ(CaptureStream::open(path).error(), path + ": No such file or directory");
  EXPECT_EQ(CaptureStream::open("/").error(), "/: is a directory");
}

TEST(CaptureStream, LinkTypesHaveNames) {
  EXPECT_EQ(link_type_name(1), "Ethernet");
  EXPECT_EQ(link_type_name(12), "raw IP");
  EXPECT_EQ(link_type_name(113), "Linux cooked");
  EXPECT_EQ(link_type_name(276), "Linux cooked v2");
  EXPECT_EQ(link_type_name(197), "ERF");
  EXPECT_EQ(link_type_name(247), "InfiniBand");
  EXPECT_EQ(link_type_name(9999), "unknown");
}

// Whole in memory or in pieces of any size, any bytes give the same packets and the same end.
RC_GTEST_PROP(CaptureStream, AnyBytesInAnyPiecesReadAlike, (const Buffer& tail)) {
  CaptureBuilder section;
  section.section().interface();
  Buffer bytes = *rc::gen::element(Buffer{}, section.bytes, rich_pcapng(), support::classic_capture(true, 0xa1b23c4d));
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  const auto first_B = *rc::gen::inRange<std::size_t>(1, bytes.size() + 2);
  const auto piece_B = *rc::gen::inRange<std::size_t>(1, 64);
  RC_ASSERT(read_all(stream_of(bytes, first_B, piece_B)) ==
            read_all(CaptureStream(std::span<const std::uint8_t>(bytes))));
}

}  // namespace
}  // namespace weft::pcap
