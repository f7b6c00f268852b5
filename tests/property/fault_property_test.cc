// Random operations over a cable with random faults: data arrives intact or the right error is reported, in order, and
// every packet is accounted for.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "support/labs.h"

namespace weft {
namespace {

using fabric::FaultAction;
using fabric::FaultFrames;
using workload::TransferOp;

constexpr TransferOp kOps[] = {TransferOp::kWrite,    TransferOp::kWriteImm,   TransferOp::kSend,
                               TransferOp::kSendImm,  TransferOp::kSendInv,    TransferOp::kRead,
                               TransferOp::kFetchAdd, TransferOp::kCompareSwap};

// Uniform in [low, high], whatever rapidcheck's current size is.
template <typename T>
T pick(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, static_cast<T>(high + 1)));
}
bool chance(int percent) {
  return pick(1, 100) <= percent;
}

std::uint64_t any_size_B(std::uint32_t mtu_B) {
  if (chance(40)) {
    const std::uint64_t edges[] = {0,           1, 3, mtu_B - 1ULL, mtu_B, mtu_B + 1ULL, 2ULL * mtu_B, 2ULL * mtu_B + 1,
                                   8ULL * mtu_B};
    return *rc::gen::elementOf(std::vector<std::uint64_t>(std::begin(edges), std::end(edges)));
  }
  return pick<std::uint64_t>(0, 40'000);
}

workload::TransferOptions any_transfer(std::uint32_t mtu_B) {
  workload::TransferOptions options;
  options.op = kOps[pick(0, 7)];
  options.ud = options.op == TransferOp::kSend && chance(20);
  options.size_B = any_size_B(mtu_B);
  if (options.ud) options.size_B = std::min<std::uint64_t>(options.size_B, mtu_B);
  options.count = pick<std::uint64_t>(1, 24);
  options.depth = pick<std::uint32_t>(1, 20);
  options.timeout = pick<std::uint8_t>(3, 7);
  options.retry_cnt = chance(80) ? 7 : pick<std::uint8_t>(0, 7);
  options.min_rnr_timer = 1;
  if (chance(20)) options.receive_delay_ps = us(pick(1, 30));
  return options;
}

fabric::FaultRule any_fault(int number) {
  fabric::FaultRule rule;
  rule.name = fmt::format("f{}", number);
  const FaultAction actions[] = {FaultAction::kDrop,   FaultAction::kDrop,  FaultAction::kCorrupt,
                                 FaultAction::kCeMark, FaultAction::kDelay, FaultAction::kDuplicate,
                                 FaultAction::kFlap,   FaultAction::kCut};
  rule.action = actions[pick(0, 7)];
  rule.frames = static_cast<FaultFrames>(pick(0, 2));
  rule.delay_ps = ns(pick(1, 20'000));
  if (rule.action == FaultAction::kFlap || rule.action == FaultAction::kCut) {
    rule.start_ps = us(pick(0, 100));
    rule.end_ps = rule.start_ps + us(pick(1, 200));
    rule.flap_down_ps = us(pick(1, 30));
    rule.flap_up_ps = us(pick(1, 30));
    return rule;
  }
  if (chance(50)) {
    rule.psn = pick<std::uint32_t>(0, 60);
    if (chance(70)) rule.transmission = pick<std::uint32_t>(1, 3);
    if (chance(30)) rule.qp = pick<std::uint32_t>(0, 1);
  } else {
    rule.probability_ppb = pick<std::uint64_t>(1, 100'000'000);
    if (chance(30)) {
      rule.start_ps = us(pick(0, 100));
      rule.end_ps = rule.start_ps + us(pick(1, 100));
    }
  }
  return rule;
}

// With selective repeat on both hosts or on one of them.
lab::Lab any_selective_lab(const lab::Lab& any) {
  lab::Lab lab = any;
  const int where = pick(0, 3);
  for (int host : {0, 1}) {
    nic::NicModel& model = lab.hosts[static_cast<std::size_t>(host)].nics[0].model;
    model.selective_repeat = where != 1 - host;
    model.tx_psn_window = chance(50) ? 1024 : pick<std::uint32_t>(1, 64);
  }
  for (lab::WorkloadConfig& w : lab.workloads) {
    auto& transfer = *const_cast<workload::TransferOptions*>(w.as<workload::TransferOptions>());
    if (transfer.op > TransferOp::kWriteImm && chance(50))
      transfer.op = chance(50) ? TransferOp::kWrite : TransferOp::kWriteImm;
    if (transfer.op <= TransferOp::kWriteImm) transfer.ud = false;
  }
  return lab;
}

lab::Lab any_lab() {
  nic::NicModel model = support::test_nic();
  model.ack_timeout_mode = chance(20) ? nic::AckTimeoutMode::kConnectX : nic::AckTimeoutMode::kFormula;
  model.end_to_end_credits = chance(30);
  model.ack_interval_packets = pick<std::uint32_t>(1, 32);
  model.max_rd_atomic = pick<std::uint32_t>(1, 16);
  bool jumbo = chance(50);
  lab::Lab lab = support::two_host_lab(model, jumbo ? 4200 : 1500);
  lab.seed = pick<std::uint64_t>(1, 1'000'000);
  int workloads = pick(1, 3);
  for (int i = 0; i < workloads; ++i) {
    lab.workloads.push_back(support::transfer(fmt::format("t{}", i), any_transfer(jumbo ? 4096 : 1024), chance(30)));
    if (chance(50)) lab.workloads.back().start_ps = us(pick(0, 20));
  }
  int faults = pick(0, 4);
  for (int i = 0; i < faults; ++i) {
    lab::FaultConfig fault;
    fault.from = {pick(0U, 1U), 0, 0};
    fault.both_directions = chance(30);
    fault.rule = any_fault(i);
    lab.faults.push_back(fault);
  }
  return lab;
}

std::string describe(const lab::Lab& lab) {
  std::string text = fmt::format(
      "seed {}, netdev MTU {}, {} timeouts, credits {}, ACK interval {}, max_rd_atomic {}\n", lab.seed,
      lab.hosts[0].nics[0].ports[0].netdev_mtu_B,
      lab.hosts[0].nics[0].model.ack_timeout_mode == nic::AckTimeoutMode::kConnectX ? "ConnectX" : "formula",
      lab.hosts[0].nics[0].model.end_to_end_credits, lab.hosts[0].nics[0].model.ack_interval_packets,
      lab.hosts[0].nics[0].model.max_rd_atomic);
  for (const lab::WorkloadConfig& w : lab.workloads) {
    const workload::TransferOptions& t = *w.as<workload::TransferOptions>();
    text += fmt::format(
        "  {}: op {}{}, {} B x {}, depth {}, timeout {}, retry {}, receive delay {} ps, from host {}, start {}\n",
        w.name, static_cast<int>(t.op), t.ud ? " UD" : "", t.size_B, t.count, t.depth, t.timeout, t.retry_cnt,
        t.receive_delay_ps, w.client.host, w.start_ps.value_or(-1));
  }
  for (const lab::FaultConfig& f : lab.faults) {
    text += fmt::format(
        "  {}: action {}, frames {}, from host {}{}, qp {}, psn {}, n {}, ppb {}, {}..{} ps, delay {} ps, flap {}/{}\n",
        f.rule.name, static_cast<int>(f.rule.action), static_cast<int>(f.rule.frames), f.from.host,
        f.both_directions ? " both" : "", f.rule.qp ? static_cast<int>(*f.rule.qp) : -1,
        f.rule.psn ? static_cast<int>(*f.rule.psn) : -1, f.rule.transmission.value_or(0),
        f.rule.probability_ppb.value_or(0), f.rule.start_ps, f.rule.end_ps, f.rule.delay_ps, f.rule.flap_down_ps,
        f.rule.flap_up_ps);
  }
  return text;
}

bool reorders(const lab::Lab& lab) {
  return std::any_of(lab.faults.begin(), lab.faults.end(), [](const lab::FaultConfig& f) {
    return f.rule.action == FaultAction::kDelay || f.rule.action == FaultAction::kDuplicate;
  });
}

void check_transfer(const lab::WorkloadOutcome& outcome, const lab::Lab& lab) {
  const workload::TransferOptions& options = *outcome.config->as<workload::TransferOptions>();
  const workload::TransferResult& t = *outcome.as<workload::TransferResult>();
  RC_ASSERT(!t.stalled);
  RC_ASSERT(t.completed + t.failed == t.posted);
  RC_ASSERT(t.out_of_order == 0U);
  if (options.ud) {
    RC_ASSERT(t.completed == options.count);  // nobody waits for an answer
    // Without them the receives hold what was sent, in order and at most once.
    if (!reorders(lab)) RC_ASSERT(t.verified == t.received);
    if (lab.faults.empty() && options.receive_delay_ps == 0) RC_ASSERT(t.received == options.count);
    return;
  }
  RC_ASSERT(t.verified == t.completed);  // never wrong data under a good completion
  if (t.failed == 0) {
    RC_ASSERT(t.completed == options.count);
    bool uses_receives = options.op >= TransferOp::kWriteImm && options.op <= TransferOp::kSendInv;
    RC_ASSERT(t.received == (uses_receives ? options.count : 0));
  } else {
    // The only error that a bad cable can cause; what was behind the failed request is flushed.
    RC_ASSERT(t.wc_status == static_cast<int>(nic::WcStatus::kRetryExceeded));
    RC_ASSERT(t.vendor_error == 0x81);
    RC_ASSERT(!lab.faults.empty());
  }
}

// go-back-N ([simllm]): out_of_sequence counts the NAKs that a responder asks for, packet_seq_err those that
// reach a requester and are new to it. A NAK can be lost, arrive after its QP failed, or be taken for an implied NAK
// behind an unanswered READ; only a duplicate fault can make more of it. So, with `copies` of that direction's ledger:
//   packet_seq_err(requester) <= out_of_sequence(responder) + copies(responder -> requester)
// and equality only where nothing is done to the responses and no READ or atomic waits.
void check_counters(const lab::RunResult& result, const lab::Lab& lab) {
  for (std::size_t requester : {0U, 1U}) {
    std::size_t responder = 1 - requester;
    const nic::Counters& q = result.ports[requester].counters;
    const nic::Counters& p = result.ports[responder].counters;
    const fabric::Ledger& back = result.links[responder].ledger;
    RC_ASSERT(q.packet_seq_err <= p.out_of_sequence + back.copies);
    RC_ASSERT(p.naks_sent <= p.out_of_sequence + p.out_of_buffer);
    RC_ASSERT(q.np_cnp_sent <= q.np_ecn_marked_roce_packets);
    RC_ASSERT(q.rx_icrc_encapsulated == result.links[responder].ledger.of(fabric::Fate::kIcrcError));
    RC_ASSERT(result.links[requester].from == result.ports[requester].name);
  }
  for (std::size_t server : {0U, 1U}) {
    std::uint64_t atomics = 0;
    bool all_completed = true;
    for (const lab::WorkloadOutcome& outcome : result.workloads) {
      if (outcome.config->server.host != server ||
          outcome.config->as<workload::TransferOptions>()->op < TransferOp::kFetchAdd)
        continue;
      atomics += outcome.config->as<workload::TransferOptions>()->count;
      all_completed = all_completed && outcome.as<workload::TransferResult>()->failed == 0;
    }
    // Executed exactly once each; where a requester gave up, at most once.
    std::uint64_t executed = result.ports[server].counters.rx_atomic_requests;
    RC_ASSERT(executed <= atomics);
    if (all_completed) RC_ASSERT(executed == atomics);
  }
  RC_ASSERT(lab.faults.size() == result.faults.size());
}

// Packets that were discarded as out of sequence, or whose NAK was the only thing wrong, in a world where only requests
// of SEND and WRITE are lost.
bool exact_world(const lab::Lab& lab) {
  for (const lab::HostConfig& host : lab.hosts) {
    if (host.nics[0].model.selective_repeat) return false;
  }
  for (const lab::FaultConfig& f : lab.faults) {
    bool loses = f.rule.action == FaultAction::kDrop || f.rule.action == FaultAction::kCorrupt;
    if (!loses || f.rule.frames != FaultFrames::kRequest) return false;
  }
  return std::all_of(lab.workloads.begin(), lab.workloads.end(), [](const lab::WorkloadConfig& w) {
    return w.as<workload::TransferOptions>()->op < TransferOp::kRead && !w.as<workload::TransferOptions>()->ud;
  });
}

void check_lab(const lab::Lab& lab, const std::string& capture) {
  RC_LOG() << describe(lab);
  support::Outcome outcome = support::run(lab);
  RC_ASSERT(outcome.json.compare(0, 6, "error:") != 0);
  const lab::RunResult& result = outcome.result;
  RC_ASSERT(result.ledger_balances());
  bool failed = false;
  for (const lab::WorkloadOutcome& workload : result.workloads) {
    RC_LOG() << workload.config->name << ": posted " << workload.as<workload::TransferResult>()->posted
             << ", completed " << workload.as<workload::TransferResult>()->completed << ", failed "
             << workload.as<workload::TransferResult>()->failed << ", verified "
             << workload.as<workload::TransferResult>()->verified << ", received "
             << workload.as<workload::TransferResult>()->received << ", out of order "
             << workload.as<workload::TransferResult>()->out_of_order << ", status "
             << workload.as<workload::TransferResult>()->wc_status << ", stalled "
             << workload.as<workload::TransferResult>()->stalled << "\n";
    check_transfer(workload, lab);
    failed = failed || workload.as<workload::TransferResult>()->failed > 0;
  }
  for (const lab::LinkOutcome& link : result.links) RC_ASSERT(link.in_flight == 0U);
  check_counters(result, lab);
  if (exact_world(lab) && !failed) {
    for (std::size_t q : {0U, 1U}) {
      RC_ASSERT(result.ports[q].counters.packet_seq_err == result.ports[1 - q].counters.out_of_sequence);
    }
  }
  lab::SessionOptions shorter;
  shorter.window_divisor = 3;
  RC_ASSERT(support::run(lab, shorter).json == outcome.json);
  lab::SessionOptions split;
  split.domains = 2;
  split.threads = pick(1U, 2U);
  RC_ASSERT(support::run(lab, split).json == outcome.json);
  RC_ASSERT(support::run(lab, {}, capture).json == outcome.json);
}

TEST(FaultProperty, DataArrivesIntactOrErrorIsReported) {
  // The same cases in every run; RC_PARAMS="seed=… max_success=…" asks for others.
  setenv("RC_PARAMS", "seed=20261116 max_success=200 noshrink=1", 0);
  std::string capture =
      std::filesystem::temp_directory_path() / fmt::format("weft-fault-property-{}.pcapng", ::getpid());
  bool held = rc::check("random operations over a random cable", [&] { check_lab(any_lab(), capture); });
  std::filesystem::remove(capture);
  EXPECT_TRUE(held);
}

TEST(FaultProperty, SelectiveRepeatDeliversOnceInOrder) {
  setenv("RC_PARAMS", "seed=20261117 max_success=100 noshrink=1", 0);
  std::string capture =
      std::filesystem::temp_directory_path() / fmt::format("weft-selective-property-{}.pcapng", ::getpid());
  bool held = rc::check("random operations over a random cable, with selective repeat",
                        [&] { check_lab(any_selective_lab(any_lab()), capture); });
  std::filesystem::remove(capture);
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace weft
