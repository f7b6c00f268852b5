// A leaf-spine fabric with everything at once, in one domain and in several, on 1, 2 and 4 threads: the same bytes.
// Also run under ThreadSanitizer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/random.h"
#include "results/results_json.h"
#include "support/fabric_lab.h"
#include "support/fabric_run.h"
#include "support/labs.h"
#include "support/sanitized.h"
#include "support/thread_exchange.h"
#include "world/runner.h"

namespace weft {
namespace {

using support::Outcome;

lab::FaultConfig fault(fabric::FaultAction action, lab::PortRef from) {
  lab::FaultConfig config;
  config.from = from;
  config.rule.name = std::string("fault");
  config.rule.action = action;
  return config;
}

// PFC and ECN at the switches, DCQCN at the hosts, an incast beside flows across and verified transfers; frames are
// lost, corrupted and delayed, a cable is cut and routes follow, a NIC stops its switch and a receiver is slow.
lab::Lab busy_fabric(fabric::Balancing balancing) {
  fabric::SwitchQos qos = support::lossless_qos();
  qos.ingress_pool_B = qos.egress_pool_B = 1 << 20;
  qos.queues[3].ecn = {.enabled = true, .min_B = 20'000, .max_B = 200'000, .probability_ppb = 300'000'000};
  qos.watchdog.enabled = true;
  qos.watchdog.poll_ps = us(50);
  qos.watchdog.detection_ps = qos.watchdog.restoration_ps = us(100);
  support::FabricLab fabric = support::leaf_spine(4, 2, 2, qos);
  lab::Lab& lab = fabric.lab;
  lab.seed = 21;
  for (lab::SwitchConfig& each : lab.switches) {
    each.routing.balancing = balancing;
    each.routing.convergence_ps = us(60);
  }
  const std::uint64_t size_B = support::kSanitized ? 200'000 : 800'000;
  fabric.add_flows("incast", support::incast_to(0, 8, size_B));
  std::vector<workload::Flow> across;
  for (std::uint32_t h = 0; h < 8; ++h) across.push_back({h, (h + 3) % 8, size_B, 0, 0});
  fabric.add_flows("across", across);
  int number = 0;
  for (auto op : {workload::TransferOp::kRead, workload::TransferOp::kSend, workload::TransferOp::kFetchAdd}) {
    workload::TransferOptions options;
    options.op = op;
    options.size_B = op == workload::TransferOp::kFetchAdd ? 8 : 20'000;
    options.count = 10;
    options.timeout = 8;
    lab.workloads.push_back(support::transfer(fmt::format("t{}", number++), options));
    lab.workloads.back().client = {1, 0, 0};
    lab.workloads.back().server = {6, 0, 0};
  }
  for (lab::WorkloadConfig& each : lab.workloads) each.start_ps = us(1);
  using support::kSwitchRef;
  lab.faults.push_back(fault(fabric::FaultAction::kDrop, {2, 0, 0}));
  lab.faults.push_back(fault(fabric::FaultAction::kCorrupt, {0, kSwitchRef, 2}));
  lab.faults.push_back(fault(fabric::FaultAction::kDelay, {4, kSwitchRef, 0}));
  for (lab::FaultConfig& each : lab.faults) each.rule.probability_ppb = 5'000'000;
  lab.faults.back().rule.delay_ps = us(3);
  lab.faults.push_back(fault(fabric::FaultAction::kCut, {1, kSwitchRef, 2}));
  lab.faults.back().both_directions = true;
  lab.faults.back().rule.start_ps = us(40);
  lab.faults.back().rule.end_ps = us(300);
  lab.faults.push_back(fault(fabric::FaultAction::kPauseStorm, {7, 0, 0}));
  lab.faults.back().rule.priority = 3;
  lab.faults.back().rule.end_ps = us(400);
  lab.faults.push_back(fault(fabric::FaultAction::kSlowReceiver, {5, 0, 0}));
  lab.faults.back().rule.rate_bps = 20'000'000'000;
  lab.faults.back().rule.start_ps = us(20);
  lab.faults.back().rule.end_ps = us(200);
  lab.duration_ps = ms(20);
  return lab;
}

Outcome run(const lab::Lab& lab, std::uint32_t domains, std::uint32_t threads, const std::string& capture) {
  lab::SessionOptions options;
  options.domains = domains;
  options.threads = threads;
  return support::run(lab, options, capture);
}

TEST(FabricDomains, DomainsAndThreadsGiveSameBytes) {
  const std::filesystem::path scratch =
      std::filesystem::temp_directory_path() / fmt::format("weft-fabric-domains-{}", ::getpid());
  std::filesystem::create_directories(scratch);
  const std::string expected_file = scratch / "expected.pcapng", other_file = scratch / "other.pcapng";
  for (fabric::Balancing balancing : {fabric::Balancing::kEcmp, fabric::Balancing::kAdaptive}) {
    const lab::Lab lab = busy_fabric(balancing);
    const Outcome expected = run(lab, 1, 1, expected_file);
    const std::string expected_capture = support::read_file(expected_file);
    // It is as busy as it should be.
    std::uint64_t marked = 0, pauses = 0, drops = 0, cnps = 0;
    for (const lab::SwitchOutcome& each : expected.result.switches) {
      for (const lab::SwitchPortOutcome& port : each.ports) {
        marked += port.counters.ecn_marked[3];
        pauses += port.counters.pause_tx[3];
        drops += port.counters.drops[static_cast<std::size_t>(fabric::Fate::kPortDown)];
      }
    }
    for (const lab::PortOutcome& port : expected.result.ports) cnps += port.counters.np_cnp_sent;
    EXPECT_GT(marked, 0U);
    EXPECT_GT(pauses, 0U);
    EXPECT_GT(cnps, 0U);
    EXPECT_GT(drops, 0U);
    EXPECT_GT(expected.result.captured_frames, support::kSanitized ? 500U : 1000U);
    for (const lab::WorkloadOutcome& outcome : expected.result.workloads) {
      const auto* transfer = outcome.as<workload::TransferResult>();
      if (transfer == nullptr) continue;
      EXPECT_EQ(transfer->verified, 10U) << outcome.config->name;
    }
    const std::pair<std::uint32_t, std::uint32_t> splits[] = {{2, 2}, {4, 4}, {4, 2}, {4, 1}};
    for (const auto& [domains, threads] : splits) {
      const Outcome outcome = run(lab, domains, threads, other_file);
      EXPECT_TRUE(outcome.json == expected.json) << domains << " domains, " << threads << " threads";
      EXPECT_TRUE(support::read_file(other_file) == expected_capture)
          << domains << " domains, " << threads << " threads";
    }
  }
  std::filesystem::remove_all(scratch);
}

// Each engine builds its own hosts and switches and knows of the others only what the plan says: numbers of queue
// pairs, PSNs, keys, routes.
TEST(SharedWorld, PartsMatchWhole) {
  lab::Lab lab = busy_fabric(fabric::Balancing::kEcmp);
  std::erase_if(lab.workloads,
                [](const lab::WorkloadConfig& each) { return each.as<workload::FlowOptions>() == nullptr; });
  support::FabricRunOptions options;
  options.domains = 4;
  auto expected = support::FabricRun(lab, options).digests();
  for (std::uint32_t engines : {2U, 4U}) {
    std::vector<std::uint32_t> owner;
    for (std::uint32_t d = 0; d < 4; ++d) owner.push_back(d * engines / 4);
    support::ThreadExchange exchange(engines, owner);
    std::vector<std::map<std::string, std::uint64_t>> parts(engines);
    {
      std::vector<std::jthread> runners;
      for (std::uint32_t e = 0; e < engines; ++e) {
        runners.emplace_back([&, e] {
          support::FabricRunOptions mine = options;
          mine.part = {e * 4 / engines, 4 / engines};
          mine.exchange = &exchange.end(e);
          parts[e] = support::FabricRun(lab, mine).digests();
        });
      }
    }
    std::map<std::string, std::uint64_t> together;
    for (const auto& part : parts) {
      EXPECT_LT(part.size(), expected.size());
      for (const auto& [name, digest] : part) EXPECT_TRUE(together.emplace(name, digest).second) << name << " twice";
    }
    EXPECT_EQ(together, expected) << engines << " engines";
    EXPECT_GT(exchange.parcels(), 100U);
  }
}

// Flows that wait for others, drawn so that each predecessor ends at the host that waits: in any domains, on any number
// of threads and with shorter windows, the same bytes.
TEST(FabricDomains, GraphsOfFlowsGiveSameBytes) {
  for (const workload::FlowOp op : {workload::FlowOp::kWrite, workload::FlowOp::kSend}) {
    support::FabricLab fabric = support::leaf_spine(4, 2, 2);
    const auto hosts = static_cast<std::uint32_t>(fabric.lab.hosts.size());
    RandomStream random(7, 0, RandomPurpose::kTest);
    workload::FlowOptions options;
    options.op = op;
    std::vector<std::vector<std::uint32_t>> ends(hosts);  // flows that end there
    for (std::uint32_t i = 0; i < (support::kSanitized ? 60U : 300U); ++i) {
      const auto from = static_cast<std::uint32_t>(random.below(hosts));
      const auto to = static_cast<std::uint32_t>((from + 1 + random.below(hosts - 1)) % hosts);
      for (std::uint64_t k = random.below(4); k > 0 && !ends[from].empty(); --k) {
        const std::uint32_t before = ends[from][random.below(ends[from].size())];
        if (options.dependencies.empty() || options.dependencies.back().flow != i ||
            options.dependencies.back().before != before)
          options.dependencies.push_back({i, before});
      }
      options.flows.push_back({from, to, 1 + random.below(50'000), static_cast<Time_ps>(random.below(3)) * ns(400), 0});
      options.names.push_back(fmt::format("f{}", i));
      ends[from].push_back(i);
      ends[to].push_back(i);
    }
    EXPECT_GT(options.dependencies.size(), options.flows.size() / 2);
    fabric.add_flows("graph", {});
    fabric.lab.workloads.back().options = options;
    const auto run_in = [&](std::uint32_t domains, std::uint32_t threads, std::int64_t divisor) {
      lab::SessionOptions session;
      session.domains = domains;
      session.threads = threads;
      session.window_divisor = divisor;
      const auto result = lab::run_lab(fabric.lab, session);
      EXPECT_EQ(result->workloads[0].as<workload::FlowsOutcome>()->summary.done, options.flows.size());
      return lab::results_json(fabric.lab, *result);
    };
    const std::string expected = run_in(1, 1, 1);
    EXPECT_EQ(run_in(4, 1, 1), expected);
    EXPECT_EQ(run_in(4, 2, 1), expected);
    EXPECT_EQ(run_in(7, 4, 3), expected);
  }
}

}  // namespace
}  // namespace weft
