#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "analyze/analyzer.h"
#include "analyze/frames/open_captures.h"
#include "support/capture_builder.h"
#include "wire/roce_frame.h"

namespace weft::analyze {
namespace {

using support::Buffer;
using support::CaptureBuilder;

// Files of one test, removed at its end.
class DriverFiles {
 public:
  DriverFiles()
      : folder_(std::filesystem::temp_directory_path() / ("weft-analyze-driver-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~DriverFiles() { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const Buffer& bytes) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

 private:
  std::filesystem::path folder_;
};

std::string send_frame(std::uint32_t psn) {
  wire::RoceHeaders headers;
  headers.src_ip = wire::ipv4_mapped(10, 0, 0, 1);
  headers.dst_ip = wire::ipv4_mapped(10, 0, 0, 2);
  headers.src_port = 0xc000;
  headers.dest_qp = 0x11;
  headers.psn = psn;
  std::string frame(wire::roce_frame_size_B(headers, 0), '\0');
  wire::build_roce_frame(headers, {}, {reinterpret_cast<std::uint8_t*>(frame.data()), frame.size()});
  return frame;
}

// One frame at each of these microseconds.
CaptureBuilder capture_at(const std::vector<std::uint64_t>& times_us) {
  CaptureBuilder file;
  file.section().interface();
  std::uint32_t psn = 0;
  for (const std::uint64_t time_us : times_us) file.packet(0, time_us, send_frame(psn++));
  return file;
}

bool has_finding(const Analysis& analysis, std::string_view id) {
  for (const Finding& finding : analysis.findings.all())
    if (finding.id == id) return true;
  return false;
}

std::string frame_with_payload(wire::RoceHeaders headers, std::size_t payload_B) {
  headers.src_port = 0xc000;
  const std::vector<std::uint8_t> payload(payload_B, 7);
  std::string frame(wire::roce_frame_size_B(headers, payload.size()), '\0');
  wire::build_roce_frame(headers, payload, {reinterpret_cast<std::uint8_t*>(frame.data()), frame.size()});
  return frame;
}

std::string request_of(std::uint32_t psn, wire::Opcode opcode = wire::Opcode::kSendOnly) {
  wire::RoceHeaders headers;
  headers.src_ip = wire::ipv4_mapped(10, 0, 0, 1);
  headers.dst_ip = wire::ipv4_mapped(10, 0, 0, 2);
  headers.opcode = opcode;
  headers.ack_req = true;
  headers.dest_qp = 0x11;
  headers.psn = psn;
  return frame_with_payload(headers, 1024);
}

std::string answer_to(std::uint32_t psn, std::uint32_t msn) {
  wire::RoceHeaders headers;
  headers.src_ip = wire::ipv4_mapped(10, 0, 0, 2);
  headers.dst_ip = wire::ipv4_mapped(10, 0, 0, 1);
  headers.opcode = wire::Opcode::kAck;
  headers.aeth_syndrome = 0x1f;
  headers.dest_qp = 0x21;
  headers.psn = psn;
  headers.msn = msn;
  return frame_with_payload(headers, 0);
}

// Eight messages and their ACKs, at a point that is so far from the requester; its clock starts at `clock_us`.
Buffer exchange_seen_at(std::uint64_t clock_us, std::uint64_t way_us) {
  CaptureBuilder file;
  file.section().interface();
  for (std::uint32_t i = 0; i < 8; ++i) {
    file.packet(0, clock_us + 100 * i + way_us, request_of(i));
    file.packet(0, clock_us + 100 * i + 20 - way_us, answer_to(i, i + 1));
  }
  return file.bytes;
}

TEST(AnalyzeFiles, ClockOffsetOfFilesIsNotInGoodput) {
  DriverFiles files;
  const std::string near = files.write("near", exchange_seen_at(1'000'000, 0));
  const auto alone = analyze_files({near}, {});
  ASSERT_TRUE(alone) << alone.error();
  for (const std::uint64_t clock_us : {1'000'000u, 1'500'000u}) {
    const auto both = analyze_files({near, files.write("far", exchange_seen_at(clock_us, 5))}, {});
    ASSERT_TRUE(both) << both.error();
    ASSERT_EQ(both->conversations.size(), 1U);
    EXPECT_EQ(both->conversations[0].goodput_bps, alone->conversations[0].goodput_bps);
    EXPECT_EQ(has_finding(*both, "capture.clocks"), clock_us == 1'500'000);
  }
  EXPECT_FALSE(has_finding(*alone, "capture.clocks"));
}

// A clock that is 500 ms ahead and gains 40 us in each second.
TEST(AnalyzeFiles, TimesOfSeveralFilesAreByOneClock) {
  DriverFiles files;
  CaptureBuilder near, far;
  near.section().interface();
  far.section().interface();
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t at_us = 1'000'000 + i * 10'000, far_us = 500'000 + at_us + i * 10'000 * 40 / 1'000'000;
    near.packet(0, at_us, request_of(static_cast<std::uint32_t>(i)));
    far.packet(0, far_us + 5, request_of(static_cast<std::uint32_t>(i)));
    far.packet(0, far_us + 7, answer_to(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)));
    near.packet(0, at_us + 12, answer_to(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)));
  }
  const std::string near_path = files.write("near", near.bytes), far_path = files.write("far", far.bytes);
  auto opened = open_captures({near_path, far_path});
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_TRUE(opened->is_compared);
  pcap::CapturedPacket packet;
  std::int64_t first_ns = 0;
  for (int n = 0; opened->merged.next(packet); ++n) {  // each exchange: near, far, far, near
    EXPECT_EQ(packet.interface, n % 4 == 0 || n % 4 == 3 ? 0U : 1U) << n;
    if (n % 4 == 0) first_ns = packet.time_ns;
    EXPECT_LE(packet.time_ns - first_ns, 12'000) << n;
  }
  const auto analysis = analyze_files({near_path, far_path}, {});
  ASSERT_TRUE(analysis) << analysis.error();
  ASSERT_EQ(analysis->capture.clocks.size(), 1U);
  EXPECT_TRUE(analysis->capture.clocks[0].is_corrected);
  EXPECT_NEAR(analysis->capture.clocks[0].drift * 1e6, 40, 2);
  EXPECT_LE(analysis->capture.last_ns - analysis->capture.first_ns, 4'990'012'000);
}

// A pipe cannot be read before: its times are compared with no other file's.
TEST(AnalyzeFiles, PipeWithAnotherClockIsNoOutage) {
  DriverFiles files;
  CaptureBuilder near, far;
  near.section().interface();
  far.section().interface();
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint64_t at_us = 1'000'000 + i * 10;
    near.packet(0, at_us, request_of(i));
    if (i == 100) {  // lost once
      near.packet(0, at_us + 7, request_of(i));
      far.packet(0, 600'000 + at_us + 8, request_of(i));
    } else {
      far.packet(0, 600'000 + at_us + 1, request_of(i));
    }
    far.packet(0, 600'000 + at_us + 9, answer_to(i, i + 1));
    near.packet(0, at_us + 10, answer_to(i, i + 1));
  }
  const std::string near_path = files.write("near", near.bytes), far_path = files.write("far", far.bytes);
  const std::string pipe_path = far_path + ".pipe";
  ASSERT_EQ(mkfifo(pipe_path.c_str(), 0600), 0);
  std::thread writer(
      [&] { std::ofstream(pipe_path, std::ios::binary) << std::ifstream(far_path, std::ios::binary).rdbuf(); });
  const auto analysis = analyze_files({near_path, pipe_path}, {});
  writer.join();
  ASSERT_TRUE(analysis) << analysis.error();
  EXPECT_TRUE(has_finding(*analysis, "capture.clocks"));
  EXPECT_FALSE(has_finding(*analysis, "psn.outage"));
}

// FLUSH and ATOMIC WRITE have PSNs, and are not looked into: what acknowledges them is no sign of a loss.
TEST(AnalyzeFiles, UnreadOpcodeIsNoLoss) {
  for (const bool is_there : {true, false}) {
    DriverFiles files;
    CaptureBuilder file;
    file.section().interface();
    for (std::uint32_t i = 0; i < 8; ++i) {
      std::string frame = request_of(i);
      if (i == 4) frame[42] = 0x1c;  // FLUSH
      if (i != 4 || is_there) file.packet(0, 100 * i, frame);
      file.packet(0, 100 * i + 20, answer_to(i, i + 1));
    }
    AnalyzeOptions options;
    options.decode.check_icrc = false;
    const auto analysis = analyze_files({files.write("flush", file.bytes)}, options);
    ASSERT_TRUE(analysis) << analysis.error();
    EXPECT_EQ(has_finding(*analysis, "capture.lost"), !is_there);
    EXPECT_EQ(has_finding(*analysis, "integrity.other-opcode"), is_there);
  }
}

TEST(AnalyzeFiles, SeveralFilesAreOneCapture) {
  DriverFiles files;
  const auto analysis = analyze_files(
      {files.write("a", capture_at({10, 30}).bytes), files.write("b", capture_at({20, 40, 50}).bytes)}, {});
  ASSERT_TRUE(analysis) << analysis.error();
  EXPECT_EQ(analysis->capture.frames, 5U);
  EXPECT_EQ(analysis->capture.roce, 5U);
  ASSERT_EQ(analysis->capture.points.size(), 2U);
  EXPECT_EQ(analysis->capture.points[0].frames, 2U);
  EXPECT_EQ(analysis->capture.points[1].frames, 3U);
  EXPECT_EQ(analysis->capture.last_ns - analysis->capture.first_ns, 40'000);
  EXPECT_FALSE(has_finding(*analysis, "capture.order"));
}

TEST(AnalyzeFiles, SinceAndUntilCountFromFirstFrame) {
  DriverFiles files;
  AnalyzeOptions options;
  options.since_ns = 10'000;
  options.until_ns = 30'000;
  const auto analysis = analyze_files({files.write("a", capture_at({100, 110, 120, 130, 140}).bytes)}, options);
  ASSERT_TRUE(analysis) << analysis.error();
  EXPECT_EQ(analysis->capture.frames, 3U);
  EXPECT_EQ(analysis->capture.first_ns, 110'000);
  EXPECT_EQ(analysis->capture.last_ns, 130'000);
}

TEST(AnalyzeFiles, FramesKeepTheirNumbers) {
  DriverFiles files;
  AnalyzeOptions options;
  options.since_ns = 10'000;
  CaptureBuilder file = capture_at({100, 110});
  std::string wrong = send_frame(2);
  wrong[wrong.size() - 1] ^= 1;
  file.packet(0, 120, wrong);
  const auto analysis = analyze_files({files.write("a", file.bytes)}, options);
  ASSERT_TRUE(analysis);
  ASSERT_TRUE(has_finding(*analysis, "integrity.icrc"));
  EXPECT_EQ(analysis->findings.all().front().evidence.at(0).frame, 3U);
}

// As Wireshark shows them for the whole file.
TEST(AnalyzeFiles, TimesCountFromFirstFrameOfFile) {
  DriverFiles files;
  AnalyzeOptions options;
  options.since_ns = 10'000;
  CaptureBuilder file = capture_at({100, 110});
  std::string wrong = send_frame(2);
  wrong[wrong.size() - 1] ^= 1;
  file.packet(0, 120, wrong);
  const auto analysis = analyze_files({files.write("a", file.bytes)}, options);
  ASSERT_TRUE(analysis);
  EXPECT_EQ(analysis->capture.begin_ns, 100'000);
  EXPECT_NE(analysis_text(*analysis).find("frame 3 at 20.00 us"), std::string::npos) << analysis_text(*analysis);
}

TEST(AnalyzeFiles, CutAndDamagedFilesGiveWhatTheyHold) {
  DriverFiles files;
  Buffer cut = capture_at({1, 2, 3}).bytes;
  cut.resize(cut.size() - 5);
  CaptureBuilder damaged = capture_at({1, 2});
  damaged.u32(6).u32(7).u32(0);
  const auto analysis = analyze_files({files.write("cut", cut), files.write("damaged", damaged.bytes)}, {});
  ASSERT_TRUE(analysis) << analysis.error();
  EXPECT_EQ(analysis->capture.frames, 4U);
  EXPECT_TRUE(has_finding(*analysis, "capture.cut"));
  EXPECT_TRUE(has_finding(*analysis, "capture.damaged"));
}

TEST(AnalyzeFiles, RefusesOtherFiles) {
  DriverFiles files;
  const std::string path = files.write("text", {'h', 'e', 'l', 'l', 'o'});
  EXPECT_EQ(analyze_files({path}, {}).error(), path + ": neither pcap nor pcapng at byte 0");
  EXPECT_FALSE(analyze_files({path + ".missing"}, {}));
}

TEST(AnalyzeFiles, DropCountsOfFileAreFound) {
  DriverFiles files;
  CaptureBuilder file = capture_at({1, 2});
  file.block(5, file.sub().u32(0).u32(0).u32(0).u16(5).u16(8).u64(17).u32(0).bytes);
  const auto analysis = analyze_files({files.write("a", file.bytes)}, {});
  ASSERT_TRUE(analysis);
  ASSERT_TRUE(has_finding(*analysis, "capture.lost"));
}

TEST(AnalyzeFiles, ProgressIsReported) {
  DriverFiles files;
  CaptureBuilder file;
  file.section().interface();
  for (std::uint64_t i = 0; i < 70'000; ++i) file.packet(0, i, "abcd");
  AnalyzeOptions options;
  std::uint64_t calls = 0, all_B = 0;
  options.progress = [&](std::uint64_t read_B, std::uint64_t size_B) {
    ++calls;
    all_B = size_B;
    EXPECT_GT(read_B, 0U);
  };
  ASSERT_TRUE(analyze_files({files.write("a", file.bytes)}, options));
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(all_B, file.bytes.size());
}

// As short as they can be told apart.
TEST(ShortNames, TellFilesApart) {
  EXPECT_EQ(short_names({"/var/tmp/run/a.pcap", "b.pcap"}), (std::vector<std::string>{"a.pcap", "b.pcap"}));
  EXPECT_EQ(short_names({"/x/h0/eth0.pcap", "/x/h1/eth0.pcap"}),
            (std::vector<std::string>{"h0/eth0.pcap", "h1/eth0.pcap"}));
  EXPECT_EQ(short_names({"eth0.pcap", "old/eth0.pcap"}), (std::vector<std::string>{"eth0.pcap", "old/eth0.pcap"}));
  EXPECT_EQ(short_names({"/eth0.pcap", "-", ""}), (std::vector<std::string>{"eth0.pcap", "-", ""}));
}

}  // namespace
}  // namespace weft::analyze
