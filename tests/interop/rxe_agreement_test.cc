// The same exchanges between two Linux kernels (rxe, 6.1) and between two simulated hosts, compared field by field.
// The kernels' capture holds ibv_rc_pingpong (4096 B at MTU 1024), ib_write_bw and ib_read_bw (8192 B at MTU 4096),
// ib_atomic_bw (fetch and add), rping (SEND 16 B, READ and WRITE 64 B at MTU 4096) and its connection management.
// What differs is in rxe_differences.txt, each with the clause that allows it; the list must be exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "interop/rxe_transcript.h"

namespace weft::interop {
namespace {

const std::string kCapture = std::string(WEFT_SOURCE_DIR) + "/../shared/captures/linux-rxe-6.1.pcap";
const std::string kDifferences = std::string(WEFT_SOURCE_DIR) + "/tests/interop/rxe_differences.txt";

// The only connection with MTU 1024 is the first, pingpong's.
std::uint32_t mtu_of(const std::vector<const Frame*>& connection) {
  const bool small = std::any_of(connection.begin(), connection.end(), [](const Frame* frame) {
    return wire::is_first(frame->headers().opcode) && frame->roce.payload.size() == 1024;
  });
  return small ? 1024 : 4096;
}

Transcript transcript_of(const std::vector<Frame>& frames) {
  Transcript transcript;
  TranscriptBuilder builder(transcript);
  for (const auto& connection : connections(frames)) builder.add_connection(connection, mtu_of(connection));
  return transcript;
}

Transcript transcript_of_kernels(const CaptureFile& file) {
  return transcript_of(file.frames);
}

// Each frame once: as it leaves.
std::vector<Frame> sent(const CaptureFile& file) {
  std::vector<Frame> frames;
  std::copy_if(file.frames.begin(), file.frames.end(), std::back_inserter(frames),
               [](const Frame& f) { return f.outbound; });
  return frames;
}

Transcript transcript_of_weft() {
  TwoHosts small;
  small.netdev_mtu_B = 1500;
  small.sections =
      "workloads:\n  - {name: pingpong, transfer: send, client: h0, server: h1, size: 4096 B, count: 20, depth: 1}\n";
  TwoHosts large;
  large.netdev_mtu_B = 4200;
  large.sections =
      "workloads:\n"
      "  - {name: write, perftest: write_bw, client: h0, server: h1, args: \"-s 8192 -n 50 -t 10\"}\n"
      "  - {name: read, perftest: read_bw, client: h0, server: h1, args: \"-s 8192 -n 20\"}\n"
      "  - {name: atomic, perftest: atomic_bw, client: h0, server: h1, args: \"-n 20\"}\n"
      "  - {name: rping-send, transfer: send, client: h0, server: h1, size: 16 B, count: 6, depth: 1}\n"
      "  - {name: rping-read, transfer: read, client: h1, server: h0, size: 64 B, count: 3, depth: 1}\n"
      "  - {name: rping-write, transfer: write, client: h1, server: h0, size: 64 B, count: 3, depth: 1}\n"
      "  - {name: cm, transfer: send, client: h0, server: h1, connection: UD, size: 256 B, count: 3}\n";
  Transcript both;
  for (const TwoHosts& lab : {small, large}) {
    const auto run = run_lab_text(lab.text());
    EXPECT_EQ(run->status, run->meant_status()) << run->output;
    for (auto& [field, values] : transcript_of(sent(*run->capture))) both[field].insert(values.begin(), values.end());
  }
  // rping uses one buffer for all its messages; where a transfer puts them is its own affair.
  for (const char* kind : {"READ", "WRITE"})
    both.erase(std::string(kind) + " 64 B at MTU 4096: VA of the next message");
  return both;
}

std::string joined(const Transcript& transcript, const std::string& field) {
  const auto at = transcript.find(field);
  if (at == transcript.end()) return "-";
  std::string text;
  for (const std::string& value : at->second) text += (text.empty() ? "" : ", ") + value;
  return text;
}

// "field | kernels | weft"
std::set<std::string> differences(const Transcript& kernels, const Transcript& weft) {
  std::set<std::string> found;
  Transcript all = kernels;
  all.insert(weft.begin(), weft.end());
  for (const auto& [field, values] : all) {
    const std::string ours = joined(weft, field), theirs = joined(kernels, field);
    if (ours != theirs) found.insert(field + " | " + theirs + " | " + ours);
  }
  return found;
}

std::set<std::string> listed_differences() {
  std::set<std::string> found;
  const std::vector<std::uint8_t> bytes = read_bytes(kDifferences);
  for (const std::string& line : split(std::string(bytes.begin(), bytes.end()), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t last = line.rfind(" | ");
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 3) << line;
    EXPECT_GT(line.size(), last + 10) << "no reason: " << line;
    EXPECT_TRUE(found.insert(line.substr(0, last)).second) << "listed twice: " << line;
  }
  return found;
}

class RxeAgreement : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kCapture)) GTEST_SKIP() << kCapture << " is not here";
    file_ = open_capture(kCapture);
    ASSERT_TRUE(file_->errors.empty()) << file_->errors[0];
  }
  std::unique_ptr<CaptureFile> file_;
};

TEST_F(RxeAgreement, KernelFramesRoundTrip) {
  EXPECT_EQ(file_->frames.size(), 491u);
  std::vector<std::uint8_t> rebuilt(16384);
  for (const Frame& frame : file_->frames) {
    EXPECT_TRUE(frame.roce.icrc_ok) << "frame " << frame.number;
    const std::size_t size_B = wire::build_roce_frame(frame.headers(), frame.roce.payload, rebuilt);
    ASSERT_EQ(size_B, frame.bytes.size()) << "frame " << frame.number;
    EXPECT_TRUE(std::equal(frame.bytes.begin(), frame.bytes.end(), rebuilt.begin())) << "frame " << frame.number;
  }
}

// The transcript says what a reader of the capture sees, so that the comparison compares something.
TEST_F(RxeAgreement, KernelTranscriptIsComplete) {
  const Transcript kernels = transcript_of_kernels(*file_);
  const auto expect = [&](const std::string& field, const std::string& values) {
    EXPECT_EQ(joined(kernels, field), values) << field;
  };
  expect("SEND 4096 B at MTU 1024: request packets", "4");
  expect("SEND 4096 B at MTU 1024, request 4: AckReq", "1");
  expect("SEND 4096 B at MTU 1024, response 1: PSN", "first + 3");
  expect("WRITE 8192 B at MTU 4096, request 1: RETH", "first VA + 0, DMALen 8192");
  expect("WRITE 8192 B at MTU 4096, response 1: AETH MSN", "number of the message");
  expect("READ 8192 B at MTU 4096, response 2: opcode", "0x0f");
  expect("READ 64 B at MTU 4096, response 1: opcode", "0x10");
  expect("FETCH_ADD, response 1: opcode", "0x12");
  expect("WRITE 64 B at MTU 4096, request 1: opcode", "0x0a");
  expect("UD SEND 256 B, request 1: payload", "256 B");
  expect("every request: ICRC", "good");
}

TEST_F(RxeAgreement, DiffersOnlyWhereListed) {
  const std::set<std::string> found = differences(transcript_of_kernels(*file_), transcript_of_weft());
  const std::set<std::string> listed = listed_differences();
  for (const std::string& each : found) EXPECT_TRUE(listed.contains(each)) << "not in the list: " << each;
  for (const std::string& each : listed) EXPECT_TRUE(found.contains(each)) << "no longer so: " << each;
}

}  // namespace
}  // namespace weft::interop
