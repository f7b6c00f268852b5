#include "workload/perftest_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "fabric/link.h"
#include "nic/wait.h"

namespace weft::workload {
namespace {

using nic::Wait;

// Ethernet with preamble, FCS and gap, IPv4, UDP, BTH and ICRC (facts AI 7).
constexpr double kPacketOverhead_B = 82;
constexpr std::uint32_t kLargestMtu_B = 4096;
constexpr double kHealthy = 0.95;                              // "within 5 % of theoretical": the fourth article
constexpr double kWorthNaming = 0.01, kWorthShowing = 0.0001;  // of the line

// Beyond that: RETH of a WRITE, AETH in the first and last response to a READ, DETH of a datagram.
double message_overhead_B(const PerftestOptions& options, double packets) {
  if (options.ud) return 8;
  if (options.verb == PerftestVerb::kWrite) return 16;
  return options.verb == PerftestVerb::kRead ? 4 * std::min(packets, 2.0) : 0;
}

double framing_share(const PerftestOptions& options, std::uint64_t size_B, std::uint32_t mtu_B) {
  const auto size = static_cast<double>(size_B);
  const auto packets = static_cast<double>(std::max<std::uint64_t>(1, (size_B + mtu_B - 1) / mtu_B));
  return size / (size + packets * kPacketOverhead_B + message_overhead_B(options, packets));
}

struct Cause {
  Wait wait;
  const char* name;
  const char* note;
};
// The order in which to look: flow control and congestion, then PCIe, then the NIC and the CPU.
constexpr Cause kCauses[] = {
    {Wait::kPause, "paused", "the peer sent pause frames: look for the queue that fills"},
    {Wait::kPace, "congestion control", "the rate is below the line: CNPs, or losses with slow restart"},
    {Wait::kRecovery, "loss recovery", "NAKs, RNR waits and timeouts"},
    {Wait::kPcie, "PCIe", "payload was not in the NIC: generation, lanes, read requests, NUMA node, GPU path"},
    {Wait::kRateLimit, "max_tx_rate", "of the virtual function: ip link set DEVICE vf N max_tx_rate"},
    {Wait::kMessageRate, "NIC message rate", "small messages on few queue pairs"},
    {Wait::kPost, "CPU", "nothing was posted: post lists (-l), more queue pairs or processes, a free core"},
    {Wait::kRoundTrip, "round trip", "the send queue or a window was full: a larger -t, or -o for READ"},
};

}  // namespace

PortAccount account_between(const nic::Counters& before, const nic::Counters& after) {
  PortAccount account;
  const nic::Counters::Traffic then = before.tx(), now = after.tx();
  account.line_B = now.bytes - then.bytes + (now.packets - then.packets) * fabric::kLineOverhead_B;
  account.resent_packets = after.retransmitted_packets - before.retransmitted_packets;
  for (std::size_t i = 0; i < nic::kWaits; ++i) account.idle_ps[i] = after.idle_ps[i] - before.idle_ps[i];
  return account;
}

PerftestBudget perftest_budget(const PerftestOptions& options, const PortAccount& account, std::uint64_t size_B,
                               std::uint32_t mtu_B) {
  PerftestBudget budget;
  budget.line_Gbps = static_cast<double>(account.line_rate_bps) / 1e9;
  budget.framing_Gbps = budget.line_Gbps * framing_share(options, size_B, mtu_B);
  budget.best_framing_Gbps = budget.line_Gbps * framing_share(options, size_B, std::max(mtu_B, kLargestMtu_B));
  if (account.elapsed_ps == 0) return budget;

  const double elapsed_s = static_cast<double>(account.elapsed_ps) / 1e12;
  const auto rate_Gbps = [&](double bytes) { return bytes * 8 / elapsed_s / 1e9; };
  const double resent_B = static_cast<double>(account.resent_packets) *
                          (static_cast<double>(std::min<std::uint64_t>(size_B, mtu_B)) + kPacketOverhead_B);
  const double payload_Gbps = rate_Gbps(static_cast<double>(account.payload_B));
  budget.average_Gbps = payload_Gbps;
  budget.healthy = payload_Gbps >= kHealthy * budget.best_framing_Gbps;
  const double resent_Gbps = rate_Gbps(resent_B);
  const double headers_Gbps = rate_Gbps(static_cast<double>(account.line_B)) - payload_Gbps - resent_Gbps;
  // What a larger path MTU would save of it.
  const double small_mtu_Gbps = mtu_B >= kLargestMtu_B
                                    ? 0
                                    : payload_Gbps * (1 / framing_share(options, size_B, mtu_B) -
                                                      1 / framing_share(options, size_B, kLargestMtu_B));
  budget.lines.push_back({"payload", payload_Gbps, ""});
  if (small_mtu_Gbps > 0)
    budget.lines.push_back(
        {"path MTU", small_mtu_Gbps, fmt::format("headers that a path MTU of 4096 saves; it is {}", mtu_B)});
  budget.lines.push_back(
      {"headers", headers_Gbps - small_mtu_Gbps, "82 B a packet, more in the first of a message; ACKs and CNPs"});
  double rest_Gbps = budget.line_Gbps - payload_Gbps - headers_Gbps;
  const auto take = [&](const char* name, double Gbps, const char* note) {
    if (Gbps < kWorthShowing * budget.line_Gbps) return;
    budget.lines.push_back({name, Gbps, note});
    rest_Gbps -= Gbps;
  };
  for (const Cause& cause : kCauses) {
    if (cause.wait == Wait::kRecovery) take("sent again", resent_Gbps, "go-back-N: what was on its way behind a loss");
    const Time_ps idle_ps = account.idle_ps[static_cast<std::size_t>(cause.wait)];
    take(cause.name, budget.line_Gbps * static_cast<double>(idle_ps) / static_cast<double>(account.elapsed_ps),
         cause.note);
  }
  budget.lines.push_back({"start and end", rest_Gbps, "before the first bit and after the last one"});
  return budget;
}

std::string verdict_text(const PerftestBudget& budget) {
  if (budget.healthy)
    return fmt::format("healthy: {:.2f} of the {:.2f} Gb/s that headers leave of {:.0f}", budget.average_Gbps,
                       budget.best_framing_Gbps, budget.line_Gbps);
  std::string out = fmt::format("{:.2f} Gb/s, {:.0f} % below the {:.2f} that headers leave of {:.0f}",
                                budget.average_Gbps, 100 * (1 - budget.average_Gbps / budget.best_framing_Gbps),
                                budget.best_framing_Gbps, budget.line_Gbps);
  std::string causes;
  for (const BudgetLine& line : budget.lines) {
    if (line.name == "payload" || line.name == "headers" || line.Gbps < kWorthNaming * budget.line_Gbps) continue;
    causes += fmt::format("{}{} {:.0f} %", causes.empty() ? ": " : ", ", line.name, 100 * line.Gbps / budget.line_Gbps);
  }
  return out + causes + (causes.empty() ? "" : " of the line");
}

std::string budget_text(const PerftestBudget& budget, std::uint64_t size_B) {
  if (budget.lines.empty()) return "";
  std::string out = fmt::format("where {:.0f} Gb/s went, messages of {} B\n", budget.line_Gbps, size_B);
  for (const BudgetLine& line : budget.lines) {
    out += fmt::format("{:>9.2f} Gb/s {:>6.2f} %  {:<19}{}", line.Gbps, 100 * line.Gbps / budget.line_Gbps, line.name,
                       line.note);
    while (out.back() == ' ') out.pop_back();
    out += "\n";
  }
  return out;
}

}  // namespace weft::workload
