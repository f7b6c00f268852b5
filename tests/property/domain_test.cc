// The same world in one domain and in two, on one thread and on two, with long windows and short ones: the same bytes.
// Also run under ThreadSanitizer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "support/labs.h"
#include "support/sanitized.h"

namespace weft {
namespace {

using support::Outcome;
using support::two_host_lab;

lab::FaultConfig fault(fabric::FaultAction action, std::uint64_t probability_ppb, std::uint32_t from) {
  lab::FaultConfig config;
  config.from = {from, 0, 0};
  config.rule.name = std::string("some");
  config.rule.action = action;
  config.rule.probability_ppb = probability_ppb;
  config.rule.delay_ps = us(2);
  return config;
}

// Traffic of every kind in both directions, with every kind of fault, and a bandwidth test beside it.
lab::Lab busy_lab() {
  lab::Lab lab = two_host_lab();
  lab.seed = 11;
  int number = 0;
  for (auto op : {workload::TransferOp::kWrite, workload::TransferOp::kSendImm, workload::TransferOp::kRead,
                  workload::TransferOp::kFetchAdd, workload::TransferOp::kSendInv}) {
    workload::TransferOptions options;
    options.op = op;
    options.size_B = 9000;
    options.count = 30;
    options.timeout = 6;
    lab.workloads.push_back(support::transfer(fmt::format("t{}", number), options, number % 2 == 1));
    lab.workloads.back().start_ps = us(1);
    ++number;
  }
  workload::TransferOptions datagrams;
  datagrams.op = workload::TransferOp::kSend;
  datagrams.ud = true;
  datagrams.size_B = 2000;
  datagrams.count = 30;
  lab.workloads.push_back(support::transfer("ud", datagrams));
  lab.workloads.push_back(support::perftest("bw", support::write_bw(65536, 50)));
  for (std::uint32_t from : {0U, 1U}) {
    lab.faults.push_back(fault(fabric::FaultAction::kDrop, 10'000'000, from));
    lab.faults.push_back(fault(fabric::FaultAction::kCorrupt, 10'000'000, from));
    lab.faults.push_back(fault(fabric::FaultAction::kDuplicate, 10'000'000, from));
    lab.faults.push_back(fault(fabric::FaultAction::kDelay, 10'000'000, from));
    lab.faults.push_back(fault(fabric::FaultAction::kCeMark, 10'000'000, from));
  }
  return lab;
}

class Scratch {
 public:
  Scratch() {
    std::string name = std::string("weft-") + testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = std::filesystem::temp_directory_path() / (name + "-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_ / "a");
    std::filesystem::create_directories(path_ / "b");
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

TEST(Domains, DomainsThreadsAndWindowsGiveSameBytes) {
  Scratch scratch;
  lab::Lab lab = busy_lab();
  Outcome expected = support::run(lab, {}, scratch.file("expected.pcapng"));
  std::string expected_capture = support::read_file(scratch.file("expected.pcapng"));
  ASSERT_GT(expected.result.captured_frames, 2000U);
  ASSERT_GT(expected_capture.size(), 1'000'000U);
  for (std::uint32_t domains : {1U, 2U}) {
    for (std::uint32_t threads : {1U, 2U}) {
      if (support::kSanitized && threads == 1) continue;  // no races to find
      for (std::int64_t divisor : {1, 3}) {
        lab::SessionOptions options;
        options.domains = domains;
        options.threads = threads;
        options.window_divisor = divisor;
        Outcome outcome = support::run(lab, options, scratch.file("other.pcapng"));
        EXPECT_EQ(outcome.json, expected.json)
            << domains << " domains, " << threads << " threads, window / " << divisor;
        EXPECT_EQ(outcome.result.captured_frames, expected.result.captured_frames);
        EXPECT_TRUE(support::read_file(scratch.file("other.pcapng")) == expected_capture)
            << domains << " domains, " << threads << " threads, window / " << divisor;
      }
    }
  }
}

TEST(Domains, CaptureChangesNothing) {
  Scratch scratch;
  lab::Lab lab = busy_lab();
  // Payload travels only where somebody looks: leave only what does not look by itself.
  std::erase_if(lab.workloads,
                [](const lab::WorkloadConfig& w) { return w.as<workload::TransferOptions>() != nullptr; });
  Outcome with = support::run(lab, {}, scratch.file("capture.pcapng"));
  EXPECT_GT(with.result.captured_frames, 0U);
  EXPECT_EQ(support::run(lab).json, with.json);
  EXPECT_EQ(support::run(busy_lab()).json, support::run(busy_lab(), {}, scratch.file("busy.pcapng")).json);
}

TEST(Domains, SameSeedRepeatsExactly) {
  Scratch scratch;
  lab::Lab lab = busy_lab();
  Outcome one = support::run(lab, {}, scratch.file("a/capture.pcapng"));
  Outcome two = support::run(lab, {}, scratch.file("b/capture.pcapng"));
  EXPECT_EQ(one.json, two.json);
  EXPECT_TRUE(support::read_file(scratch.file("a/capture.pcapng")) ==
              support::read_file(scratch.file("b/capture.pcapng")));
}

TEST(Domains, OtherSeedChangesRun) {
  Scratch scratch;
  lab::Lab lab = busy_lab();
  Outcome one = support::run(lab, {}, scratch.file("a/capture.pcapng"));
  lab.seed = 12;
  Outcome two = support::run(lab, {}, scratch.file("b/capture.pcapng"));
  EXPECT_NE(one.json, two.json);
  EXPECT_FALSE(support::read_file(scratch.file("a/capture.pcapng")) ==
               support::read_file(scratch.file("b/capture.pcapng")));
}

TEST(Domains, FaultyLabDeliversEverything) {
  const lab::Lab lab = busy_lab();  // results point into it
  const Outcome ran = support::run(lab);
  for (const lab::WorkloadOutcome& outcome : ran.result.workloads) {
    const auto* transfer = outcome.as<workload::TransferResult>();
    if (transfer == nullptr) continue;
    EXPECT_FALSE(transfer->stalled) << outcome.config->name;
    EXPECT_EQ(transfer->completed, 30U) << outcome.config->name;
    EXPECT_TRUE(outcome.config->as<workload::TransferOptions>()->ud || transfer->verified == 30)
        << outcome.config->name;
  }
}

}  // namespace
}  // namespace weft
