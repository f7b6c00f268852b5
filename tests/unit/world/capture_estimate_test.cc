#include "world/capture_estimate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "labfile/reader.h"
#include "support/labs.h"

namespace weft::lab {
namespace {

std::vector<PortRef> all_ports(const Lab& lab) {
  std::vector<PortRef> ports;
  for (const LinkConfig& link : lab.links) ports.insert(ports.end(), {link.a, link.b});
  return ports;
}

double captured_B(const Lab& lab, const std::vector<PortRef>& ports, std::uint32_t snaplen_B) {
  SessionOptions options;
  options.capture_ports = ports;
  options.capture.snaplen_B = snaplen_B;
  options.capture_path =
      (std::filesystem::temp_directory_path() / ("weft-estimate-" + std::to_string(getpid()))).string();
  EXPECT_TRUE(run_lab(lab, options, {}).has_value());
  const auto size_B = std::filesystem::file_size(options.capture_path);
  std::filesystem::remove(options.capture_path);
  return static_cast<double>(size_B);
}

// The estimate is held against the file.
void expect_near(const Lab& lab, const std::vector<PortRef>& ports, double part, std::uint32_t snaplen_B = 0) {
  const CaptureEstimate estimate = estimate_capture(lab, ports, snaplen_B);
  const double is_B = captured_B(lab, ports, snaplen_B);
  EXPECT_TRUE(estimate.is_whole);
  EXPECT_NEAR(estimate.file_B / is_B, 1, part) << lab.name << ": " << estimate.file_B << " of " << is_B;
}

Lab ready_lab(const std::string& name) {
  const std::string path = WEFT_SOURCE_DIR "/labs/" + name + ".yaml";
  auto read = read_lab(read_file(path, 1 << 20).value_or(""), path);
  EXPECT_TRUE(read.has_value()) << path;
  return read ? *read : Lab();
}

TEST(CaptureEstimate, MatchesFilesOfOneCable) {
  Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::perftest("bw", support::write_bw(65536, 300)));
  expect_near(lab, all_ports(lab), 0.03);
  expect_near(lab, {{1, 0, 0}}, 0.03);
  expect_near(lab, all_ports(lab), 0.1, 128);
  workload::TransferOptions read;
  read.op = workload::TransferOp::kRead;
  read.size_B = 100'000;
  read.count = 50;
  lab.workloads = {support::transfer("read", read)};
  expect_near(lab, all_ports(lab), 0.03);
}

TEST(CaptureEstimate, MatchesFilesOfFabrics) {
  Lab lab = ready_lab("fabric/incast-ecn");
  expect_near(lab, all_ports(lab), 0.05);
  expect_near(lab, {lab.links.front().b}, 0.05);
}

// Collectives: the messages of their schedules. A host of few GPUs per NIC sends and receives; what NVLink carries is
// not in it.
TEST(CaptureEstimate, MatchesFilesOfCollectives) {
  for (const char* name : {"ai/healthy-2x4", "ai/socket-fallback"}) {
    Lab lab = ready_lab(name);
    lab.workloads.erase(lab.workloads.begin(), lab.workloads.end() - 1);
    for (const auto collective : {nccl::Collective::kAllReduce, nccl::Collective::kAlltoAll}) {
      auto& options = std::get<workload::NcclOptions>(lab.workloads.front().options);
      options.test.collective = collective;
      options.test.min_B = 1 << 10;
      options.test.max_B = 4 << 20;
      options.test.step_factor = 64;
      options.test.iterations = 3;
      expect_near(lab, all_ports(lab), 0.1);
      expect_near(lab, {lab.links.front().a}, 0.15);
    }
  }
}

TEST(CaptureEstimate, MatchesFilesOfJobs) {
  for (const char* name : {"ai/gpt-step-dp-tp", "ai/chakra-zero1"}) {
    const Lab lab = ready_lab(name);
    expect_near(lab, {lab.links.front().a}, 0.1, 128);
  }
}

TEST(CaptureEstimate, SaysWhatIsNotInIt) {
  const Lab lab = ready_lab("live/pipeline");
  const CaptureEstimate estimate = estimate_capture(lab, all_ports(lab), 0);
  EXPECT_FALSE(estimate.is_whole);
  EXPECT_GT(estimate.full_Bps, 0);
}

}  // namespace
}  // namespace weft::lab
