// The labs of labs/host against arithmetic of their own: what is in flight over the round trip, headers per completion,
// hops. And what a driver that forbids GPUDirect says.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "labfile/reader.h"
#include "results/report.h"
#include "tools/perftest/report.h"
#include "world/runner.h"

namespace {

using namespace weft;

struct HostLab {
  lab::Lab lab;
  std::string report;
  std::map<std::string, workload::PerftestNumbers> numbers;
  std::map<std::string, std::string> failures;
};

HostLab run_host_lab(const std::string& name, const std::vector<std::string>& overrides = {}) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  auto read = lab::read_lab(text.str(), path, overrides);
  EXPECT_TRUE(read) << path;
  HostLab out;
  if (!read) return out;
  out.lab = *std::move(read);
  auto result = lab::run_lab(out.lab, {});
  EXPECT_TRUE(result) << path;
  out.report = lab::report(out.lab, *result, {});
  for (std::size_t i = 0; i < out.lab.workloads.size(); ++i) {
    const auto* perftest = result->workloads[i].as<workload::PerftestResult>();
    if (perftest == nullptr) continue;
    const auto& row = perftest->rows.front();
    out.failures[out.lab.workloads[i].name] = row.failure;
    if (row.failure.empty())
      out.numbers[out.lab.workloads[i].name] =
          workload::perftest_numbers(*out.lab.workloads[i].as<workload::PerftestOptions>(), row);
  }
  return out;
}

TEST(HostLabs, ReadRequestSize) {
  const HostLab run = run_host_lab("host/read-request-size");
  // 32 requests in flight over 600 ns and the time of one on the link.
  for (const char* name : {"write-128", "read-128"})
    EXPECT_NEAR(run.numbers.at(name).bw_average_Gbps, 32 * 128 * 8 / 600.0, 1.1) << name;
  EXPECT_NEAR(run.numbers.at("write-512").bw_average_Gbps, run.numbers.at("write-1024").bw_average_Gbps, 0.1);
}

TEST(HostLabs, HopsBetweenSockets) {
  const HostLab run = run_host_lab("host/numa-near-far-200g");
  // One hop of 100 ns for the doorbell, two for the write; with the CPU alone far two for its look at memory.
  const double near_us = run.numbers.at("lat-near").t_typical_us;
  EXPECT_NEAR(run.numbers.at("lat-far").t_typical_us - near_us, 0.3, 0.02);
  EXPECT_NEAR(run.numbers.at("lat-far-cpu").t_typical_us - near_us, 0.3, 0.02);
  EXPECT_NEAR(run.numbers.at("far").bw_average_Gbps, 91, 0.5);
  EXPECT_NEAR(run.numbers.at("far-memory").bw_average_Gbps, 91, 0.5);
}

// GPU 1 is below another switch than the NIC, too far for the NIC's read requests; GPU 0 is beside it.
TEST(HostLabs, GpuThroughRootComplex) {
  const HostLab run = run_host_lab("host/gpu-bidirectional-400g");
  EXPECT_NEAR(run.numbers.at("gpu").bw_average_Gbps, 697, 7);
  EXPECT_NE(run.report.find("payload in GPU 1, mi355x (PHB)"), std::string::npos);
  const std::string args = "workloads[gpu].args=-b -q 4 -s 1M -n 1000 --report_gbits --use_rocm=0";
  const HostLab beside = run_host_lab("host/gpu-bidirectional-400g", {args});
  EXPECT_NEAR(beside.numbers.at("gpu").bw_average_Gbps, run.numbers.at("host").bw_average_Gbps, 8);
}

TEST(HostLabs, OrderedWritesToGpu) {
  const HostLab run = run_host_lab("host/relaxed-ordering");
  // 16 KiB in flight over 330 ns of the host and 700 ns of the GPU.
  EXPECT_NEAR(run.numbers.at("gpu-ordered").bw_average_Gbps, 16384 * 8 / 1030.0, 4);
  EXPECT_GT(run.numbers.at("gpu").bw_average_Gbps, 3 * run.numbers.at("gpu-ordered").bw_average_Gbps);
  EXPECT_NEAR(run.numbers.at("host").bw_average_Gbps, run.numbers.at("host-ordered").bw_average_Gbps, 1);
}

TEST(HostLabs, AcsSendsGpuTrafficThroughRoot) {
  const HostLab direct = run_host_lab("host/relaxed-ordering");
  const HostLab acs = run_host_lab("host/relaxed-ordering", {"nodes.h0.acs=true", "nodes.h1.acs=true"});
  // Up and down one uplink, and a longer round trip.
  EXPECT_LT(acs.numbers.at("gpu-ordered").bw_average_Gbps, 0.9 * direct.numbers.at("gpu-ordered").bw_average_Gbps);
  EXPECT_LE(acs.numbers.at("gpu").bw_average_Gbps, direct.numbers.at("gpu").bw_average_Gbps);
  EXPECT_NE(acs.report.find("(PIX, by the root: ACS)"), std::string::npos);
}

TEST(HostLabs, RefusedRegistration) {
  const HostLab run = run_host_lab("host/gpudirect-25g", {"workloads[gpu].args=--use_cuda=0"});
  EXPECT_EQ(
      run.failures.at("gpu"),
      "Couldn't allocate MR: ibv_reg_mr: errno 14 (Bad address): GPUDirect RDMA of rtx-3090: no: ibv_reg_mr fails "
      "with EFAULT in the stock driver");
  EXPECT_EQ(run.failures.at("host"), "");
  const HostLab by_dmabuf = run_host_lab("host/gpudirect-25g", {"workloads[gpu].args=--use_cuda=1 --use_cuda_dmabuf"});
  EXPECT_NE(by_dmabuf.failures.at("gpu").find("errno 95"), std::string::npos);
}

TEST(HostLabs, WrongNodeOfSecondSeed) {
  const HostLab run = run_host_lab("two-vms-one-host");
  const workload::PerftestNumbers& near = run.numbers.at("near");
  const workload::PerftestNumbers& wrong = run.numbers.at("wrong");
  // Three hops of 60 ns, and tails that grow more than the typical value does, as measured.
  EXPECT_NEAR(wrong.t_typical_us - near.t_typical_us, 0.18, 0.02);
  EXPECT_GT(wrong.p99_us / near.p99_us, wrong.t_typical_us / near.t_typical_us);
  EXPECT_GT(wrong.p999_us / near.p999_us, wrong.p99_us / near.p99_us);
  // A busy sibling: posting and polling take 60 % longer, and so does an interrupt.
  const workload::PerftestNumbers& contended = run.numbers.at("contended");
  EXPECT_NEAR(contended.t_typical_us - near.t_typical_us, 0.12, 0.03);
  EXPECT_GT(contended.p999_us, near.p999_us + 2);
  EXPECT_NE(run.report.find("vm00 (VM of epyc, epyc-7551p)"), std::string::npos);
  EXPECT_NE(run.report.find("28 vCPUs on nodes 0, 2; 32 GiB"), std::string::npos);
}

TEST(HostLabs, EmbeddedSwitchOfConnectX5) {
  const HostLab run = run_host_lab("measured/m7-loopback-cx5");
  const auto Gbps = [&](const char* name) { return run.numbers.at(name).bw_average_Gbps; };
  // 200 Gb/s of frames of 4154 B and 16 B more in the first of 16.
  EXPECT_NEAR(Gbps("loop-alone"), 200 * 65536.0 / (65536 + 16 * 62 + 16), 0.5);
  EXPECT_NEAR(Gbps("wire"), Gbps("wire-alone"), 0.1) << "the cable comes first";
  EXPECT_NEAR(Gbps("wire") + Gbps("loop"), 197, 1);
  EXPECT_NEAR(Gbps("loop") / Gbps("loop-alone"), 0.51, 0.02);
}

TEST(HostLabs, VirtualFunctionOfBlueField3) {
  const HostLab run = run_host_lab("measured/m13-bf3-vf");
  EXPECT_NEAR(run.numbers.at("lat").t_typical_us, run.numbers.at("pf").t_typical_us, 0.02)
      << "the card's own data path";
  // Two exits of 2.3 us in a tick, half of it in a one-way time.
  EXPECT_NEAR(run.numbers.at("lat").p999_us - run.numbers.at("pf").p999_us, 2.3, 1.2);
  EXPECT_NEAR(run.numbers.at("one").bw_average_Gbps, 196.03, 0.5);
  // 4 KiB pages: the buffers of all workloads are more than the IOTLB holds.
  const HostLab small = run_host_lab("measured/m13-bf3-vf", {"nodes.vm0.pages=4K", "nodes.vm1.pages=4K"});
  EXPECT_GT(small.numbers.at("lat").t_typical_us, run.numbers.at("lat").t_typical_us + 0.2);
  EXPECT_NEAR(small.numbers.at("pf").t_typical_us, run.numbers.at("pf").t_typical_us, 0.001);
}

TEST(HostLabs, RateOfVirtualFunction) {
  const HostLab run = run_host_lab("measured/m13-bf3-vf", {"nodes.vm0.nics[0].max_tx_rate=50 Gbps"});
  EXPECT_NEAR(run.numbers.at("one").bw_average_Gbps, 50, 0.5);
  EXPECT_NEAR(run.numbers.at("many").bw_average_Gbps, 50, 0.5) << "of all its queue pairs together";
  EXPECT_NE(run.report.find("max_tx_rate 7"), std::string::npos) << "the verdict says so";
}

}  // namespace
