#include "tools/perftest/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "spec/wait.h"
#include "tools/perftest/framing.h"

namespace weft::workload {
namespace {

using nic::Wait;

constexpr std::uint32_t kLargestMtu_B = 4096;
// A link that came up below the rate of its ports: the fourth article's list.
constexpr const char* kSlowLinkCauses = ": a bad cable, a wrong length, or a port that is forced to it";
constexpr double kHealthy = 0.95;                              // "within 5 % of theoretical": the fourth article
constexpr double kWorthNaming = 0.01, kWorthShowing = 0.0001;  // of the line

// Beyond that: RETH of a WRITE, AETH in the first and last response to a READ, DETH of a datagram.
double message_overhead_B(const PerftestOptions& options, double packets) {
  if (options.ud) return kDethOverhead_B;
  if (options.verb == PerftestVerb::kWrite) return kRethOverhead_B;
  return options.verb == PerftestVerb::kRead ? kAethOverhead_B * std::min(packets, 2.0) : 0;
}

double framing_share(const PerftestOptions& options, std::uint64_t size_B, std::uint32_t mtu_B) {
  const auto packets = static_cast<double>(packets_of(size_B, mtu_B));
  return static_cast<double>(size_B) / framed_B(size_B, mtu_B, message_overhead_B(options, packets));
}

bool is_full(const PerftestBudget& budget) {
  return budget.average_Gbps >= kHealthy * budget.best_framing_Gbps;
}

// By PcieLimit.
constexpr PcieCause kPcieCauses[] = {
    {"PCIe", "generation and lanes of the card's link"},
    {"PCIe read requests", "in flight, times MaxReadReq, over the round trip to memory"},
    {"PCIe writes", "in flight, over the time that memory takes one"},
    {"PCIe ordering", "writes in order: relaxed ordering is off"},
    {"PCIe switch", "above the card: its uplink, which others share, and its latency"},
    {"IOMMU", "walks of its page tables: huge pages, or iommu=pt"},
    {"memory", "takes less than PCIe brings: a fault of the lab"},
    {"NUMA", "memory, or the GPU, is on another node than the NIC: numactl"},
    {"GPUDirect, root complex", "it carries less from peer to peer: a GPU below the NIC's PCIe switch"},
    {"GPUDirect", "the GPU's link, limits and latency for peers"},
    {"GPUDirect, ACS", "sends what is for the GPU up to the root and down again"},
    {"GPUDirect is off", "copies between GPU and host memory"},
    {"max_tx_rate", "of the virtual function: ip link set DEVICE vf N max_tx_rate"},
};
static_assert(std::size(kPcieCauses) == nic::kPcieLimits);

// Of all that the receiver held back, by what its writes waited for.
std::array<double, nic::kPcieLimits> scaled(const std::array<double, nic::kPcieLimits>& shares, double Gbps) {
  double sum = 0;
  for (double share : shares) sum += share;
  std::array<double, nic::kPcieLimits> out{};
  for (std::size_t i = 0; i < shares.size() && sum > 0; ++i) out[i] = shares[i] / sum * Gbps;
  if (sum <= 0) out[static_cast<std::size_t>(nic::PcieLimit::kLink)] = Gbps;
  return out;
}

}  // namespace

const PcieCause& pcie_cause(nic::PcieLimit limit) {
  return kPcieCauses[static_cast<std::size_t>(limit)];
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
  const auto time_Gbps = [&](Time_ps time_ps) {
    return budget.line_Gbps * static_cast<double>(time_ps) / static_cast<double>(account.elapsed_ps);
  };
  const auto idle_Gbps = [&](Wait wait) { return time_Gbps(account.idle_ps[static_cast<std::size_t>(wait)]); };
  const double resent_B = static_cast<double>(account.resent_packets) *
                          (static_cast<double>(std::min<std::uint64_t>(size_B, mtu_B)) + kPacketOverhead_B);
  const double payload_Gbps = rate_Gbps(static_cast<double>(account.payload_B));
  budget.average_Gbps = payload_Gbps;
  budget.slow_link = account.slow_link;
  budget.healthy = is_full(budget) && budget.slow_link.empty();
  double resent_Gbps = rate_Gbps(resent_B);
  const double sent_Gbps = rate_Gbps(static_cast<double>(account.line_B));
  // Headers of what was measured; ACKs and CNPs are counted with them, other workloads of the port are not.
  const double uncounted_Gbps = rate_Gbps(static_cast<double>(account.uncounted_B));
  const double carried_Gbps = payload_Gbps + uncounted_Gbps;
  const double own_Gbps = carried_Gbps / framing_share(options, size_B, mtu_B) - carried_Gbps;
  double headers_Gbps = sent_Gbps - carried_Gbps - resent_Gbps;
  double other_Gbps = headers_Gbps - own_Gbps;
  if (other_Gbps < kWorthNaming * budget.line_Gbps) other_Gbps = 0;
  headers_Gbps -= other_Gbps;
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
  const auto take = [&](const std::string& name, double Gbps, const std::string& note) {
    if (Gbps < kWorthShowing * budget.line_Gbps) return;
    budget.lines.push_back({name, Gbps, note});
    rest_Gbps -= Gbps;
  };

  // A pause comes from the receiver as far as that had stopped its own peer, and so does what congestion control takes
  // while packets wait for it; a loss, as far as its buffer was full.
  double paused_Gbps = idle_Gbps(Wait::kPause), pace_Gbps = idle_Gbps(Wait::kPace);
  double recovery_Gbps = idle_Gbps(Wait::kRecovery), cable_Gbps = 0;
  double receiver_Gbps = 0;
  const auto hand_over = [](double& from, double& to, double most) {
    const double part = std::clamp(most, 0.0, from);
    from -= part;
    to += part;
  };
  double stopped_Gbps = time_Gbps(account.receiver_paused_ps);
  for (double* held : {&paused_Gbps, &pace_Gbps}) {
    const double before = *held;
    hand_over(*held, receiver_Gbps, stopped_Gbps);
    stopped_Gbps -= before - *held;
  }
  const auto lost = static_cast<double>(account.receiver_discards + account.lost.cable + account.lost.elsewhere);
  if (lost > 0) {
    for (double* taken : {&pace_Gbps, &resent_Gbps, &recovery_Gbps}) {
      const double all = *taken;
      hand_over(*taken, receiver_Gbps, all * static_cast<double>(account.receiver_discards) / lost);
      hand_over(*taken, cable_Gbps, all * static_cast<double>(account.lost.cable) / lost);
    }
  }
  take("uncounted", uncounted_Gbps, "sent, and not completed when the test ended: a longer -D");
  take("other traffic", other_Gbps, "of this port: other workloads");
  take("paused", paused_Gbps, "pause frames, and not for the receiver's sake: a queue in the fabric is full");
  take("congestion control", pace_Gbps, "the rate is below the line: CNPs, or losses with slow restart");
  take("sent again", resent_Gbps, "go-back-N: what was on its way behind a loss");
  take("loss recovery", recovery_Gbps, "NAKs, RNR waits and timeouts");
  take("cable", cable_Gbps,
       fmt::format("{} frames lost on links: bit errors, FEC, a link that is down", account.lost.cable));
  const auto receiver = scaled(account.receiver_waits, receiver_Gbps);
  const std::string how =
      account.receiver_discards == 0
          ? "its buffer is full and it pauses the sender; "
          : fmt::format("its buffer is full and drops (rx_discards_phy {}); ", account.receiver_discards);
  for (std::size_t limit = 0; limit < nic::kPcieLimits; ++limit) {
    take(kPcieCauses[limit].name, idle_Gbps(nic::wait_for(static_cast<nic::PcieLimit>(limit))),
         kPcieCauses[limit].note);
    take(std::string(kPcieCauses[limit].name) + " (receiver)", receiver[limit], how + kPcieCauses[limit].note);
  }
  take("NIC message rate", idle_Gbps(Wait::kMessageRate), "small messages on few queue pairs");
  take("NIC context cache", idle_Gbps(Wait::kContext), "more queue pairs at work than the NIC holds contexts of");
  double cpu_Gbps = idle_Gbps(Wait::kPost), contention_Gbps = 0;
  if (account.cpu_ps > account.contention_ps) {
    const double longer =
        static_cast<double>(account.contention_ps) / static_cast<double>(account.cpu_ps - account.contention_ps);
    hand_over(cpu_Gbps, contention_Gbps, (payload_Gbps + headers_Gbps) * longer);
  }
  take("CPU contention", contention_Gbps, "the program's CPU, or its sibling, works for others: isolcpus, pinning");
  if (options.rate_limit > 0) {
    take("rate limit", cpu_Gbps, "of the test itself: --rate_limit");
  } else {
    take("CPU", cpu_Gbps, "nothing was posted: post lists (-l), more queue pairs or processes");
  }
  take("round trip", idle_Gbps(Wait::kRoundTrip), "the send queue or a window was full: a larger -t, or -o for READ");
  budget.lines.push_back({"start and end", rest_Gbps, "before the first bit and after the last one"});
  return budget;
}

std::vector<const BudgetLine*> causes(const PerftestBudget& budget) {
  std::vector<const BudgetLine*> out;
  for (const BudgetLine& line : budget.lines) {
    if (line.name != "payload" && line.name != "headers" && line.Gbps >= kWorthNaming * budget.line_Gbps)
      out.push_back(&line);
  }
  return out;
}

std::string verdict_text(const PerftestBudget& budget) {
  if (budget.healthy)
    return fmt::format("healthy: {:.2f} of the {:.2f} Gb/s that headers leave of {:.0f}", budget.average_Gbps,
                       budget.best_framing_Gbps, budget.line_Gbps);
  if (is_full(budget))
    return fmt::format("{:.2f} of the {:.2f} Gb/s that headers leave of {:.0f}, but {}{}", budget.average_Gbps,
                       budget.best_framing_Gbps, budget.line_Gbps, budget.slow_link, kSlowLinkCauses);
  std::string out = fmt::format("{:.2f} Gb/s, {:.0f} % below the {:.2f} that headers leave of {:.0f}",
                                budget.average_Gbps, 100 * (1 - budget.average_Gbps / budget.best_framing_Gbps),
                                budget.best_framing_Gbps, budget.line_Gbps);
  std::string named;
  for (const BudgetLine* line : causes(budget))
    named += fmt::format("{}{} {:.0f} %", named.empty() ? ": " : ", ", line->name, 100 * line->Gbps / budget.line_Gbps);
  out += named + (named.empty() ? "" : " of the line");
  return budget.slow_link.empty() ? out : fmt::format("{}; {}{}", out, budget.slow_link, kSlowLinkCauses);
}

std::string budget_text(const PerftestBudget& budget, std::uint64_t size_B) {
  if (budget.lines.empty()) return "";
  std::string out = fmt::format("where {:.0f} Gb/s went, messages of {} B\n", budget.line_Gbps, size_B);
  std::size_t width = 19;
  for (const BudgetLine& line : budget.lines) width = std::max(width, line.name.size() + 2);
  for (const BudgetLine& line : budget.lines) {
    out += fmt::format("{:>9.2f} Gb/s {:>6.2f} %  {:<{}}{}", line.Gbps, 100 * line.Gbps / budget.line_Gbps, line.name,
                       width, line.note);
    while (out.back() == ' ') out.pop_back();
    out += "\n";
  }
  return out;
}

}  // namespace weft::workload
