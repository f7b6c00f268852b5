// Latencies of messages against what other parts of the program say of the same messages: the frames at the sender's
// port, perftest's own samples, and Little's law.
#include "results/message_latency.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <numeric>

#include "base/files.h"
#include "pcap/pcap_reader.h"
#include "spec/perftest_result.h"
#include "spec/transfer_result.h"
#include "support/fabric_lab.h"
#include "support/labs.h"

namespace weft::lab {
namespace {

workload::TransferOptions one_at_a_time(workload::TransferOp op, std::uint64_t size_B, std::uint64_t count) {
  workload::TransferOptions options;
  options.op = op;
  options.size_B = size_B;
  options.count = count;
  options.depth = 1;
  return options;
}

const LogHistogram& latency_of_workload(const RunResult& result, std::size_t number) {
  return result.latency.workloads.at(number).latency_ps;
}

// Of each message at the sender's port, in ns: from its first request to the last bit of what answers it. One at a
// time.
std::vector<std::int64_t> captured_latencies(const std::string& path) {
  constexpr std::size_t kBth_B = 14 + 20 + 8;
  const std::string file = *read_file(path, std::size_t{1} << 30);
  const auto capture = pcap::read_capture({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  std::vector<std::int64_t> out;
  std::int64_t first_ns = -1;
  for (const pcap::CapturedPacket& packet : capture->packets) {
    if (packet.interface != 0 || packet.bytes.size() < kBth_B + 12) continue;
    const std::uint8_t opcode = packet.bytes[kBth_B];
    const bool is_ack = opcode == 0x11, is_last_read = opcode == 0x0f || opcode == 0x10;  // IBTA vol 1, 9.2
    if (first_ns < 0) first_ns = packet.time_ns;
    if (!is_ack && !is_last_read) continue;
    const std::int64_t frame_ns = packet.original_B * 8 / 100;  // stamps are of first bits; 100 Gb/s
    out.push_back(packet.time_ns + frame_ns - first_ns);
    first_ns = -1;
  }
  return out;
}

// What the NIC adds to the wire's part is the same for every message: doorbell and transmit pipeline before the first
// frame, receive pipeline and the completion's way to memory after the last.
TEST(MessageLatency, IsThatOfFramesAndNicsOwnPart) {
  for (const workload::TransferOp op : {workload::TransferOp::kWrite, workload::TransferOp::kRead}) {
    for (const std::uint64_t size_B : {4096u, 65536u}) {
      Lab lab = support::two_host_lab();
      lab.workloads.push_back(support::transfer("one", one_at_a_time(op, size_B, 40)));
      const std::string path =
          (std::filesystem::temp_directory_path() / ("weft-latency-" + std::to_string(getpid()))).string();
      const support::Outcome outcome = support::run(lab, {}, path);
      const std::vector<std::int64_t> wire_ns = captured_latencies(path);
      std::filesystem::remove(path);
      const LogHistogram& latency_ps = latency_of_workload(outcome.result, 0);
      ASSERT_EQ(wire_ns.size(), 40u);
      ASSERT_EQ(latency_ps.count(), 40u);
      const auto [least, most] = std::minmax_element(wire_ns.begin(), wire_ns.end());
      const double mean = std::accumulate(wire_ns.begin(), wire_ns.end(), 0.0) / 40;
      const double own_ns = static_cast<double>(latency_ps.least()) / 1e3 - static_cast<double>(*least);
      EXPECT_NEAR(static_cast<double>(latency_ps.most()) / 1e3 - static_cast<double>(*most), own_ns, 2);
      EXPECT_NEAR(static_cast<double>(latency_ps.mean()) / 1e3 - mean, own_ns, 2);
      const host::HostModel host = support::test_host();
      const nic::NicModel nic = support::test_nic();
      Time_ps model_ps = host.mmio_write_ps + nic.tx_latency_ps + nic.rx_latency_ps + host.dma_write_ps;
      if (op == workload::TransferOp::kWrite) model_ps += host.dma_read_ps;
      // And PCIe transfers, PHY and MAC.
      EXPECT_GT(own_ns, static_cast<double>(model_ps) / 1e3) << size_B;
      EXPECT_LT(own_ns, static_cast<double>(model_ps) / 1e3 + 300) << size_B;
    }
  }
}

// perftest times a READ from one post to the next: CPU time for posting and polling, and the latency between.
TEST(MessageLatency, FitsSamplesOfPerftest) {
  for (const workload::PerftestVerb verb : {workload::PerftestVerb::kRead, workload::PerftestVerb::kAtomic}) {
    Lab lab = support::two_host_lab();
    workload::PerftestOptions options;
    options.verb = verb;
    options.latency = true;
    options.size_B = 8;
    options.iterations = 500;
    options.tx_depth = 1;
    options.cq_mod = 1;
    lab.workloads.push_back(support::perftest("lat", options));
    const RunResult result = support::run(lab).result;
    const auto& samples = result.workloads[0].as<workload::PerftestResult>()->rows.at(0).samples_ps;
    const LogHistogram& latency_ps = latency_of_workload(result, 0);
    EXPECT_EQ(latency_ps.count(), 500u);
    const double mean_ps = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
    const host::HostModel host = support::test_host();
    const Time_ps cpu_ps = host.post_wqe_ps + host.doorbell_ps + host.poll_hit_ps;
    EXPECT_GE(mean_ps, static_cast<double>(latency_ps.mean() + cpu_ps));
    EXPECT_LE(mean_ps, static_cast<double>(latency_ps.mean() + cpu_ps + 2 * host.poll_empty_ps + host.post_loop_ps));
  }
}

// Little's law: what is outstanding on the average is the rate times the mean time. perftest keeps its send queue full.
TEST(MessageLatency, FitsRateAndDepthOfSendQueue) {
  for (const std::uint32_t depth : {2u, 16u}) {
    Lab lab = support::two_host_lab();
    workload::PerftestOptions options = support::write_bw(65536, 2000);
    options.tx_depth = depth;
    lab.workloads.push_back(support::perftest("bw", options));
    const RunResult result = support::run(lab).result;
    const auto& bw = result.workloads[0].as<workload::PerftestResult>()->rows.at(0).bw.at(0);
    const LogHistogram& latency_ps = latency_of_workload(result, 0);
    ASSERT_EQ(latency_ps.count(), 2000u);
    const double outstanding = static_cast<double>(latency_ps.sum()) / static_cast<double>(bw.elapsed_ps);
    EXPECT_NEAR(outstanding, depth, 0.02 * depth + 0.05);
  }
}

TEST(MessageLatency, LeavesFailuresOut) {
  Lab lab = support::two_host_lab();
  workload::TransferOptions options = one_at_a_time(workload::TransferOp::kWrite, 4096, 5);
  options.misuse = workload::Misuse::kWrongRkey;
  lab.workloads.push_back(support::transfer("wrong", options));
  const RunResult result = support::run(lab).result;
  EXPECT_GT(result.workloads[0].as<workload::TransferResult>()->failed, 0u);
  EXPECT_EQ(latency_of_workload(result, 0).count(), result.workloads[0].as<workload::TransferResult>()->completed);
  if (latency_of_workload(result, 0).count() == 0)
    EXPECT_EQ(result.latency.workloads[0].none, "no message was completed");
}

// A flow of one message: FCT has the same end and begins with its post.
TEST(MessageLatency, OfFlowsWithOneMessageIsTheirCompletionTime) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 4);
  fabric.add_flows("incast", support::incast_to(0, 8, 100'000));
  const RunResult result = *run_lab(fabric.lab, {});
  const auto& flows = result.workloads[0].as<workload::FlowsOutcome>()->flows;
  ASSERT_EQ(result.latency.flows.size(), flows.size());
  std::uint64_t messages = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const FlowLatency& each = result.latency.flows[i];
    EXPECT_EQ(each.number, i);
    EXPECT_EQ(each.from, flows[i].from);
    messages += each.latency_ps.count();
    EXPECT_LT(each.latency_ps.most(), flows[i].row.fct_ps());
    EXPECT_GT(each.latency_ps.most() + ns(200), flows[i].row.fct_ps());
  }
  EXPECT_EQ(latency_of_workload(result, 0).count(), messages);
}

// Data of READs flows from the server: that is the flow whose messages these are, each once.
TEST(MessageLatency, OfReadsBelongsToFlowOfData) {
  Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::transfer("read", one_at_a_time(workload::TransferOp::kRead, 4096, 7)));
  lab.workloads.push_back(support::transfer("add", one_at_a_time(workload::TransferOp::kFetchAdd, 8, 3)));
  const RunResult result = support::run(lab).result;
  std::map<std::string, const FlowLatency*> flows;
  for (const FlowLatency& each : result.latency.flows) flows[each.workload + " " + each.from] = &each;
  ASSERT_TRUE(flows.contains("read vm01:p0"));
  EXPECT_FALSE(flows.contains("read vm00:p0"));
  EXPECT_EQ(flows["read vm01:p0"]->latency_ps.count(), 7u);
  EXPECT_EQ(latency_of_workload(result, 0).count(), 7u);
  EXPECT_EQ(latency_of_workload(result, 1).count(), 3u);
}

TEST(MessageLatency, DoesNotDependOnThreads) {
  support::FabricLab fabric = support::leaf_spine(2, 2, 4);
  fabric.add_flows("incast", support::incast_to(0, 8, 500'000));
  const auto run = [&](std::uint32_t threads) {
    SessionOptions options;
    options.threads = threads;
    const RunResult result = *run_lab(fabric.lab, options);
    std::string text;
    for (const FlowLatency& each : result.latency.flows) {
      for (const LogHistogram::Bucket& bucket : each.latency_ps.buckets())
        text += std::to_string(bucket.upto) + " " + std::to_string(bucket.count) + "\n";
    }
    return text;
  };
  const std::string one = run(1);
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(run(2), one);
  EXPECT_EQ(run(3), one);
}

}  // namespace
}  // namespace weft::lab
