#include "pcap/frame_index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pcap/pcapng.h"

namespace weft::pcap {
namespace {

class FrameIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("weft-frame-index-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Frames with their number in the first four bytes, 10 ns after each other, of lengths that differ.
  std::string write(const char* name, std::uint32_t first, std::uint32_t count) {
    const std::string path = (directory_ / name).string();
    auto writer = PcapngWriter::create(path);
    writer->add_interface("a", 1);
    writer->add_interface("b", 1);
    for (std::uint32_t i = first; i < first + count; ++i) {
      std::vector<std::uint8_t> bytes(60 + i % 100);
      bytes[0] = static_cast<std::uint8_t>(i >> 16);
      bytes[1] = static_cast<std::uint8_t>(i >> 8);
      bytes[2] = static_cast<std::uint8_t>(i);
      writer->write(i % 2, 1000 + std::int64_t{i} * 10, true, bytes, i % 7 == 0 ? "comment" : "");
    }
    EXPECT_TRUE(writer->close());
    return path;
  }
  static std::uint32_t number_of(const CapturedPacket& packet) {
    return std::uint32_t{packet.bytes[0]} << 16 | std::uint32_t{packet.bytes[1]} << 8 | packet.bytes[2];
  }
  std::filesystem::path directory_;
};

TEST_F(FrameIndexTest, ReadsFromAnyFrameOn) {
  std::uint32_t seen = 0;
  const auto index =
      FrameIndex::make({write("one.pcapng", 1, 5000)}, [&](const CapturedPacket&, const CaptureInterface&) { ++seen; });
  ASSERT_TRUE(index);
  EXPECT_EQ(seen, 5000u);
  EXPECT_EQ(index->frames(), 5000u);
  CapturedPacket packet;
  for (const std::uint64_t first : {1u, 2u, 1024u, 1025u, 1026u, 4097u, 5000u}) {
    FrameReader reader(*index, first);
    for (std::uint64_t n = first; n <= std::min<std::uint64_t>(first + 1100, 5000); ++n) {
      ASSERT_TRUE(reader.next(packet)) << n;
      ASSERT_EQ(reader.number(), n);
      ASSERT_EQ(number_of(packet), n);
      ASSERT_EQ(reader.interface(packet).name, n % 2 == 0 ? "a" : "b");
    }
  }
  FrameReader behind(*index, 5001);
  EXPECT_FALSE(behind.next(packet));
}

TEST_F(FrameIndexTest, GoesThroughFilesOfRing) {
  const auto index =
      FrameIndex::make({write("r1.pcapng", 1, 1500), write("r2.pcapng", 1501, 10), write("r3.pcapng", 1511, 2000)});
  ASSERT_TRUE(index);
  EXPECT_EQ(index->frames(), 3510u);
  CapturedPacket packet;
  for (const std::uint64_t first : {1u, 1400u, 1500u, 1501u, 1511u, 3000u}) {
    FrameReader reader(*index, first);
    for (std::uint64_t n = first; n <= std::min<std::uint64_t>(first + 200, 3510); ++n) {
      ASSERT_TRUE(reader.next(packet)) << n;
      ASSERT_EQ(number_of(packet), n);
    }
  }
}

TEST_F(FrameIndexTest, FindsTimes) {
  const auto index = FrameIndex::make({write("time.pcapng", 1, 3000)});
  ASSERT_TRUE(index);
  EXPECT_EQ(index->first_at(0), 1u);
  EXPECT_EQ(index->first_at(1010), 1u);
  EXPECT_EQ(index->first_at(1011), 2u);
  EXPECT_EQ(index->first_at(1000 + 10 * 1025), 1025u);
  EXPECT_EQ(index->first_at(1000 + 10 * 2999 + 5), 3000u);
  EXPECT_EQ(index->first_at(1'000'000), 3001u);
}

TEST_F(FrameIndexTest, TellsWhereFileIsCut) {
  const std::string path = write("cut.pcapng", 1, 2000);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
  const auto index = FrameIndex::make({path});
  ASSERT_TRUE(index);
  EXPECT_EQ(index->frames(), 1999u);
  EXPECT_NE(index->problem().find("ends within a record"), std::string::npos) << index->problem();
  EXPECT_FALSE(FrameIndex::make({path + "-none"}));
}

}  // namespace
}  // namespace weft::pcap
