#include "pcap/merged_capture.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/capture_builder.h"

namespace weft::pcap {
namespace {

using support::Buffer;
using support::CaptureBuilder;

// The builder's interface counts microseconds.
Buffer capture_at(const std::vector<std::pair<std::uint64_t, std::string>>& packets) {
  CaptureBuilder file;
  file.section().interface();
  for (const auto& [time_us, data] : packets) file.packet(0, time_us, data);
  return file.bytes;
}

std::string read_merged(MergedCapture& capture) {
  std::string all;
  CapturedPacket packet;
  while (capture.next(packet)) {
    all += std::to_string(packet.time_ns / 1000) + ":" + std::to_string(packet.interface) + ":" +
           std::string(support::text(packet.bytes)) + " ";
  }
  return all;
}

MergedCapture merge_of(const std::vector<Buffer>& files) {
  std::vector<CaptureStream> streams;
  for (const Buffer& file : files) streams.emplace_back(std::span<const std::uint8_t>(file));
  return MergedCapture(std::move(streams));
}

TEST(MergedCapture, PacketsComeInOrderOfTime) {
  const std::vector<Buffer> files = {capture_at({{1, "a1"}, {4, "a4"}, {9, "a9"}}), capture_at({{2, "b2"}, {4, "b4"}}),
                                     capture_at({}), capture_at({{0, "d0"}, {10, "d10"}})};
  MergedCapture capture = merge_of(files);
  EXPECT_EQ(read_merged(capture), "0:3:d0 1:0:a1 2:1:b2 4:0:a4 4:1:b4 9:0:a9 10:3:d10 ");
  EXPECT_EQ(capture.interface_count(), 4U);
  EXPECT_EQ(capture.file_of(3), 3U);
  EXPECT_EQ(capture.interface(3).link_type, 1U);
  EXPECT_EQ(capture.consumed_B(), *capture.file_B());
}

TEST(MergedCapture, OneFileKeepsItsOwnOrder) {
  const std::vector<Buffer> files = {capture_at({{5, "x"}, {3, "y"}})};
  MergedCapture capture = merge_of(files);
  EXPECT_EQ(read_merged(capture), "5:0:x 3:0:y ");
  EXPECT_EQ(capture.interface_count(), 1U);
  EXPECT_EQ(capture.file_of(0), 0U);
}

TEST(MergedCapture, NewSectionInOneFileAddsInterfaces) {
  Buffer first = capture_at({{1, "a"}});
  const Buffer again = capture_at({{7, "c"}});
  first.insert(first.end(), again.begin(), again.end());
  const std::vector<Buffer> files = {first, capture_at({{2, "b"}})};
  MergedCapture capture = merge_of(files);
  EXPECT_EQ(read_merged(capture), "1:0:a 2:1:b 7:2:c ");
  EXPECT_EQ(capture.file_of(2), 0U);
}

TEST(MergedCapture, WrongFileEndsAndOthersGoOn) {
  Buffer wrong = capture_at({{1, "a"}});
  wrong.insert(wrong.end(), {6, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0});
  Buffer cut = capture_at({{3, "c"}, {5, "d"}});
  cut.resize(cut.size() - 1);
  const std::vector<Buffer> files = {wrong, cut, capture_at({{2, "b"}, {9, "e"}})};
  MergedCapture capture = merge_of(files);
  EXPECT_EQ(read_merged(capture), "1:0:a 2:2:b 3:1:c 9:2:e ");
  EXPECT_STREQ(capture.files()[0].error()->message, "bad block length");
  EXPECT_TRUE(capture.files()[1].cut_at_B());
  EXPECT_FALSE(capture.files()[2].error());
}

TEST(MergedCapture, NamesFileThatCannotBeOpened) {
  EXPECT_EQ(MergedCapture::open({"/no/such/file.pcap"}).error(), "/no/such/file.pcap: No such file or directory");
}

}  // namespace
}  // namespace weft::pcap
