// Timeouts: how long the requester waited, against 4.096 us x 2^T, and whether it gave up. ConnectX firmware raises
// small timeouts, waits twice as long, and first retransmits several times with doubling intervals (measured on
// ConnectX-6: roce_adp_retrans), so those are intervals that a setting explains.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/rc/balance.h"
#include "analyze/rc/findings.h"

namespace weft::analyze::detail {
namespace {

constexpr double kUnit_ns = 4096;
constexpr std::uint32_t kSmallPath_B = 1024;       // path MTU of links with 1500 B
constexpr std::uint32_t kMostRetries = 7;          // retry_cnt has three bits
constexpr std::int64_t kLatestStamp_ns = 100'000;  // stamps of software are hardly later
constexpr int kConnectxFloor = 16;                 // ConnectX waits 2 x 4.096 us x 2^16 for every timeout up to 16

bool doubles(std::int64_t before, std::int64_t after) {
  const double ratio = static_cast<double>(after) / static_cast<double>(before);
  return ratio > 1.7 && ratio < 2.3;
}

// ConnectX with adaptive retransmission waits two of its own shortest timeouts first, 4.19 ms or a half or a quarter of
// it, the first one up to a tick late, whatever the queue pair's timeout is (measured: docs/calibration.md).
constexpr std::int64_t kAdaptiveLeast_ns = 2'000'000, kAdaptiveMost_ns = 9'000'000;

bool is_adaptive_first(std::int64_t ns) {
  return ns >= kAdaptiveLeast_ns && ns <= kAdaptiveMost_ns;
}

struct TimerWaits {
  std::int64_t total_ns = 0, shortest_ns = 0, longest_ns = 0;
  std::size_t count = 0;
  bool only_first = true;  // no packet was waited for twice
  bool adaptive = false;   // intervals that double
  bool irregular = false;
  int exponent = 0;  // n where every interval is 4.096 us x 2^n; 0: none fits them all
};

// The first wait for a packet may be shorter: the timer ticks on its own (measured on ConnectX-6: 0.5 to 1.16 of it).
int exponent_of(const std::vector<Waited>& waits, std::int64_t longest_ns) {
  const double rounded = std::round(std::log2(static_cast<double>(longest_ns) / kUnit_ns));
  if (rounded < 1 || rounded > 32) return 0;
  const double nominal_ns = kUnit_ns * std::exp2(rounded);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const bool is_first = waits.size() > 1 && (i == 0 || waits[i].psn != waits[i - 1].psn);
    const double share = static_cast<double>(waits[i].ns) / nominal_ns;
    if (share < (is_first ? 0.5 : 0.88) || share > (is_first ? 1.16 : 1.12)) return 0;
  }
  return static_cast<int>(rounded);
}

TimerWaits waits_of(const RcFlow& flow) {
  TimerWaits result;
  const std::vector<Waited>& waits = flow.trouble->waits;
  result.count = waits.size();
  int doublings = 0;
  bool halves = false;  // the second wait is half of the first: no setting of the standard does that
  for (std::size_t i = 0; i < waits.size(); ++i) {
    result.total_ns += waits[i].ns;
    result.longest_ns = std::max(result.longest_ns, waits[i].ns);
    result.shortest_ns = i == 0 ? waits[i].ns : std::min(result.shortest_ns, waits[i].ns);
    if (i == 0 || waits[i].psn != waits[i - 1].psn) continue;
    const bool is_second = i == 1 || waits[i - 2].psn != waits[i].psn;
    result.only_first = false;
    if (doubles(waits[i - 1].ns, waits[i].ns)) ++doublings;
    if (is_second && is_adaptive_first(waits[i - 1].ns) && doubles(waits[i].ns, waits[i - 1].ns)) halves = true;
    // For one packet the requester never waits less than before.
    if (static_cast<double>(waits[i].ns) < 0.45 * static_cast<double>(waits[i - 1].ns)) result.irregular = true;
  }
  result.adaptive = doublings >= 2 || halves;
  // The standard lets a requester wait up to four times its timeout.
  if (!result.adaptive && result.longest_ns > 5 * result.shortest_ns) result.irregular = true;
  if (!result.adaptive) result.exponent = exponent_of(waits, result.longest_ns);
  return result;
}

// Measured times, and the setting where one explains all of them.
std::string setting_text(const TimerWaits& waits) {
  if (waits.adaptive)
    return fmt::format(
        "; the intervals, {} to {}, are those of ConnectX firmware: the second is half of the first, then they double "
        "(adaptive retransmission: hw_counters/roce_adp_retrans)",
        duration_text(waits.shortest_ns), duration_text(waits.longest_ns));
  const int n = waits.exponent;
  if (waits.only_first && is_adaptive_first(waits.shortest_ns) && is_adaptive_first(waits.longest_ns))
    return "; ConnectX firmware retransmits for the first time after 2 to 8.4 ms, whatever timeout is set (adaptive "
           "retransmission: hw_counters/roce_adp_retrans)" +
           (n == 0 ? std::string() : fmt::format("; of another NIC it is 4.096 us x 2^{} (timeout {})", n, n));
  if (n == 0)
    return waits.count < 2 ? ""
                           : fmt::format("; the waits, {} to {}, are not one timeout of 4.096 us x 2^T",
                                         duration_text(waits.shortest_ns), duration_text(waits.longest_ns));
  std::string text = fmt::format("; that is 4.096 us x 2^{} (timeout {}", n, n);
  if (n == kConnectxFloor + 1) text += fmt::format(", or any up to {} of ConnectX firmware", kConnectxFloor);
  if (n > kConnectxFloor + 1) text += fmt::format(", or {} of ConnectX firmware, which waits twice as long", n - 1);
  return text + ")";
}

std::vector<Remedy> timeout_remedies(const SideView& view) {
  const std::string& requester = view.requester_address;
  return {{"host", fmt::format("on {}: timeout and retry_cnt of the queue pair (ibv_modify_qp; NCCL_IB_TIMEOUT, "
                               "NCCL_IB_RETRY_CNT; perftest -u)",
                               requester)},
          {"NIC", fmt::format("on {}: rdma statistic show link DEVICE/1: local_ack_timeout_err, roce_adp_retrans, "
                              "req_transport_retries_exceeded",
                              requester)},
          {"NIC", fmt::format("on {}: mlxreg -d DEVICE --reg_name ROCE_ACCL --get: adaptive retransmission, timeout "
                              "floor",
                              requester)}};
}

void find_missing_acks(const SideView& view, SideFindings& out) {
  const RcFlow& far = view.responder();
  if (far.answers == 0 || far.answers_unread || count_of(view.requester(), Trouble::kTimeout) > 0 || far.fatal ||
      far.rnr_open)
    return;
  const std::int64_t usual_ns = far.ack_latency ? far.ack_latency->percentile(9'900) : 0;
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
                       {{"capture", fmt::format("capture both directions at {}", view.responder_address)},
                        {"NIC", fmt::format("on {}: rdma statistic show link DEVICE/1; rdma resource show qp",
                                            view.responder_address)}}});
}

}  // namespace

void find_timeouts(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  if (near.transport != 0 && near.transport != wire::kXrcTransport) return;
  if (view.has_exact_order()) find_missing_acks(view, out);
  const std::uint32_t timeouts = count_of(near, Trouble::kTimeout);
  if (timeouts == 0) return;
  const TimerWaits waits = waits_of(near);
  // A packet that its stamp puts behind later ones looks as if a timer had sent it.
  if (!view.has_exact_order() && waits.longest_ns < kLatestStamp_ns) return;
  const std::int64_t quiet_ns = view.context.capture.last_ns - near.last_ns;
  const std::int64_t last_ns = near.trouble->waits.back().ns;
  const bool gave_up = near.timeouts_in_a_row >= kMostRetries || (near.timeouts_in_a_row > 0 && quiet_ns > 4 * last_ns);
  std::vector<Evidence> evidence =
      evidence_of(view.context, near, Trouble::kTimeout, "PSN {psn} retransmitted after {time} without an answer");
  if (gave_up) {
    const RcFlow& far = view.responder();
    const bool silent = far.answers == 0;
    const std::uint32_t payload_B = view.context.streams[near.stream].payload_B_most;
    std::string cause = silent ? "the responder is gone: its queue pair is in error or was destroyed, the host or the "
                                 "path is down"
                               : "the path broke or the responder stopped answering";
    if (size_limit_of(view))
      cause = "packets of this size do not come through (psn.mtu)";
    else if (payload_B > kSmallPath_B)
      cause += fmt::format("; or an MTU on the way is too small for {} B of payload (ping -M do -s {} {})", payload_B,
                           payload_B + kBthAndIcrc_B, view.responder_address);
    evidence.push_back({near.last_frame, near.last_ns, view.context.point_of(near), "the last attempt"});
    out.add(view.place,
            {"timeout.retries-exhausted",
             fmt::format("PSN {} was sent {} times without an answer, {} long{}", near.trouble->waits.back().psn,
                         near.timeouts_in_a_row + 1, duration_text(waits.total_ns), setting_text(waits)),
             std::move(cause),
             near.timeouts_in_a_row,
             std::move(evidence),
             {{"host",
               fmt::format("on {}: rdma resource show qp (state), dmesg, the program's own log; on {} the work request "
                           "ends with IBV_WC_RETRY_EXC_ERR (12)",
                           view.responder_address, view.requester_address)},
              timeout_remedies(view)[1],
              timeout_remedies(view)[0]}});
  } else {
    out.add(
        view.place,
        {"timeout.waited",
         fmt::format("{} only after a timeout: the longest wait was {}, together {}{}",
                     counted(timeouts, "retransmission"), duration_text(waits.longest_ns),
                     duration_text(waits.total_ns), setting_text(waits)),
         timer_is_too_short(view)
             ? "the packets had arrived, and their ACKs were on the way: the timeout is shorter than the path, or "
               "the responder answers late"
             : "the last packets of a message, an ACK or a NAK were lost, so that nothing but the timer could notice",
         timeouts, std::move(evidence), timeout_remedies(view)});
  }
  if (waits.irregular)
    out.add(view.place, {"timeout.interval",
                         fmt::format("waits for an answer differ more than one timeout allows: up to {}",
                                     duration_text(waits.longest_ns)),
                         "the requester's timers do not follow the timeout of the queue pair", timeouts,
                         evidence_of(view.context, near, Trouble::kTimeout, "PSN {psn} retransmitted after {time}"),
                         timeout_remedies(view)});
}

}  // namespace weft::analyze::detail
