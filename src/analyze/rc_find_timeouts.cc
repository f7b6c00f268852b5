// Timeouts: how long the requester waited, against 4.096 us x 2^T, and whether it gave up. ConnectX firmware raises
// small timeouts, waits twice as long, and first retransmits several times with doubling intervals (measured on
// ConnectX-6: roce_adp_retrans), so those are intervals that a setting explains.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/rc_findings.h"

namespace weft::analyze::detail {
namespace {

constexpr double kUnit_ns = 4096;
constexpr std::uint32_t kMostRetries = 7;  // retry_cnt has three bits

struct TimerInterval {
  int exponent = 0;  // T
  int factor = 0;    // 1, or 2 as ConnectX firmware waits; 0: none fits
};

TimerInterval interval_of(std::int64_t ns) {
  for (const int factor : {1, 2}) {
    const double exponent = std::log2(static_cast<double>(ns) / kUnit_ns / factor);
    const double rounded = std::round(exponent);
    if (rounded >= 1 && rounded <= 31 && std::abs(std::exp2(exponent - rounded) - 1) < 0.12)
      return {static_cast<int>(rounded), factor};
  }
  return {};
}

bool doubles(std::int64_t before, std::int64_t after) {
  const double ratio = static_cast<double>(after) / static_cast<double>(before);
  return ratio > 1.7 && ratio < 2.3;
}

struct TimerWaits {
  std::int64_t total_ns = 0, longest_ns = 0;
  bool adaptive = false;  // intervals that double
  bool irregular = false;
};

TimerWaits waits_of(const RcFlow& flow) {
  TimerWaits result;
  const std::vector<Waited>& waits = flow.trouble->waits;
  int doublings = 0;
  std::int64_t shortest_ns = 0;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    result.total_ns += waits[i].ns;
    result.longest_ns = std::max(result.longest_ns, waits[i].ns);
    shortest_ns = i == 0 ? waits[i].ns : std::min(shortest_ns, waits[i].ns);
    if (i == 0 || waits[i].psn != waits[i - 1].psn) continue;
    if (doubles(waits[i - 1].ns, waits[i].ns)) ++doublings;
    // For one packet the requester never waits less than before.
    if (static_cast<double>(waits[i].ns) < 0.45 * static_cast<double>(waits[i - 1].ns)) result.irregular = true;
  }
  result.adaptive = doublings >= 2;
  // The standard lets a requester wait up to four times its timeout.
  if (!result.adaptive && result.longest_ns > 5 * shortest_ns) result.irregular = true;
  return result;
}

std::string setting_text(const TimerWaits& waits) {
  if (waits.adaptive)
    return "; intervals double, as ConnectX firmware does (adaptive retransmission: hw_counters/roce_adp_retrans)";
  const TimerInterval interval = interval_of(waits.longest_ns);
  if (interval.factor == 1)
    return fmt::format("; that is 4.096 us x 2^{} (timeout {})", interval.exponent, interval.exponent);
  if (interval.factor == 2)
    return fmt::format("; that is 2 x 4.096 us x 2^{}, as ConnectX firmware waits for timeouts up to {}",
                       interval.exponent, interval.exponent);
  return "";
}

std::vector<Remedy> timeout_remedies() {
  return {{"host",
           "timeout and retry_cnt of the queue pair (ibv_modify_qp; NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT; "
           "perftest -u)"},
          {"NIC",
           "rdma statistic show link DEVICE/1: local_ack_timeout_err, roce_adp_retrans, "
           "req_transport_retries_exceeded"},
          {"NIC", "mlxreg -d DEVICE --reg_name ROCE_ACCL --get: adaptive retransmission, timeout floor"}};
}

void find_missing_acks(const SideView& view, SideFindings& out) {
  const RcFlow& far = view.responder();
  if (far.answers == 0 || far.answers_unread || count_of(view.requester(), Trouble::kTimeout) > 0 || far.fatal ||
      far.rnr_open)
    return;
  const std::int64_t usual_ns = far.ack_latency ? far.ack_latency->percentile_ns(99) : 0;
  const std::int64_t due_ns = std::max<std::int64_t>(1'000'000, 20 * usual_ns);
  std::uint64_t missing = 0;
  std::vector<Evidence> evidence;
  for (const Awaited& awaited : far.awaited.all()) {
    if (!awaited.ack_req || awaited.sent_ns < 0) continue;
    if (view.context.capture.last_ns - awaited.sent_ns < due_ns) continue;
    if (++missing == 1)
      evidence.push_back({far.last_frame, far.last_ns, view.context.point_of(far),
                          fmt::format("PSN {} asked for an ACK {} before the end", awaited.psn,
                                      duration_text(view.context.capture.last_ns - awaited.sent_ns))});
  }
  if (missing == 0) return;
  out.add(view.place, {"ack.missing",
                       fmt::format("{} asked for an ACK and got none", counted(missing, "packet")),
                       "the responder does not answer, or its answers take another path than this capture",
                       missing,
                       std::move(evidence),
                       {{"capture", "capture both directions at the responder"},
                        {"NIC", "on the responder: rdma statistic show link DEVICE/1; rdma resource show qp"}}});
}

}  // namespace

void find_timeouts(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  if (near.transport != 0 && near.transport != wire::kXrcTransport) return;
  find_missing_acks(view, out);
  const std::uint32_t timeouts = count_of(near, Trouble::kTimeout);
  if (timeouts == 0) return;
  const TimerWaits waits = waits_of(near);
  const std::int64_t quiet_ns = view.context.capture.last_ns - near.last_ns;
  const std::int64_t last_ns = near.trouble->waits.back().ns;
  const bool gave_up = near.timeouts_in_a_row >= kMostRetries || (near.timeouts_in_a_row > 0 && quiet_ns > 4 * last_ns);
  std::vector<Evidence> evidence =
      evidence_of(view.context, near, Trouble::kTimeout, "PSN {psn} sent again after {time} without an answer");
  if (gave_up) {
    const RcFlow& far = view.responder();
    const bool silent = far.answers == 0;
    evidence.push_back({near.last_frame, near.last_ns, view.context.point_of(near), "the last attempt"});
    out.add(view.place,
            {"timeout.retries-exhausted",
             fmt::format("PSN {} was sent {} times without an answer, {} long{}", near.trouble->waits.back().psn,
                         near.timeouts_in_a_row + 1, duration_text(waits.total_ns), setting_text(waits)),
             silent ? "the responder is gone: its queue pair is in error or was destroyed, the host or the path is down"
                    : "the path broke or the responder stopped answering",
             near.timeouts_in_a_row,
             std::move(evidence),
             {{"host",
               "on the responder: rdma resource show qp (state), dmesg, the program's own log; on the "
               "requester the work request ends with IBV_WC_RETRY_EXC_ERR (12)"},
              timeout_remedies()[1],
              timeout_remedies()[0]}});
  } else {
    out.add(view.place,
            {"timeout.waited",
             fmt::format("{} only after a timeout: the longest wait was {}, together {}{}",
                         counted(timeouts, "retransmission"), duration_text(waits.longest_ns),
                         duration_text(waits.total_ns), setting_text(waits)),
             "the last packets of a message, an ACK or a NAK were lost, so that nothing but the timer could notice",
             timeouts, std::move(evidence), timeout_remedies()});
  }
  if (waits.irregular)
    out.add(view.place, {"timeout.interval",
                         fmt::format("waits for an answer differ more than one timeout allows: up to {}",
                                     duration_text(waits.longest_ns)),
                         "the requester's timers do not follow the timeout of the queue pair", timeouts,
                         evidence_of(view.context, near, Trouble::kTimeout, "PSN {psn} sent again after {time}"),
                         timeout_remedies()});
}

}  // namespace weft::analyze::detail
