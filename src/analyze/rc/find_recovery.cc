// How losses are recovered: from where, how fast, and whether it ever gets further.
#include <fmt/format.h>

#include "analyze/rc/findings.h"

namespace weft::analyze::detail {
namespace {

// A requester that begins so often with the same packet, after so many packets, does not get on.
constexpr std::uint32_t kLivelockRestarts = 4, kLivelockPackets = 64;
constexpr std::uint32_t kSlowReturns = 3;

}  // namespace

void find_recovery(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  if (near.trouble && near.trouble->most_restarts >= kLivelockRestarts &&
      near.trouble->most_restart_packets >= kLivelockPackets) {
    const FlowTrouble& trouble = *near.trouble;
    out.add(view.place,
            {"livelock.no-progress",
             fmt::format("{} times in a row retransmitted from the same packet on, {} packets in {}: nothing completes",
                         trouble.most_restarts, trouble.most_restart_packets, duration_text(trouble.most_restart_ns)),
             "each attempt loses a packet before the message is complete, and the requester begins anew (go-back-0)",
             trouble.most_restarts,
             {{trouble.restart_frame, near.last_ns, view.context.point_of(near), "the last of them begins"}},
             {{"NIC", "firmware with go-back-N or selective repeat (mlxreg -d DEVICE --reg_name ROCE_ACCL --get)"},
              {"switch", "remove the loss: PFC for the class of RoCE on every hop"}}});
  }
  if (const std::uint32_t count = count_of(near, Trouble::kGoBackZero); count > 0)
    out.add(view.place,
            {"recovery.go-back-0",
             fmt::format("{} the requester went back to the first packet of the message, not to the lost one",
                         counted(count, "time")),
             "firmware that restarts whole messages: one loss in each message is enough for no progress at all",
             count,
             evidence_of(view.context, near, Trouble::kGoBackZero, "from PSN {psn} on again; NAK asked for {value}"),
             {firmware_remedy("the requester, " + view.requester_address)}});
  const std::uint32_t selective = count_of(near, Trouble::kSelective);
  if (selective > 0 && 2 * selective >= count_of(near, Trouble::kAfterNak))
    out.add(view.place, {"recovery.selective",
                         fmt::format("only what was missing was retransmitted, {} of {} times", selective,
                                     count_of(near, Trouble::kAfterNak)),
                         "",
                         selective,
                         evidence_of(view.context, near, Trouble::kSelective, "PSN {psn}: {packets}"),
                         {}});
  if (const std::uint32_t count = count_of(far, Trouble::kSlowNak); count > 0)
    out.add(view.place,
            {"nak-latency.generation",
             fmt::format("{} came more than 100 us after the gap; half of all within {}, the slowest {}",
                         counted(count, "NAK"), duration_text(far.trouble->generation.percentile(5'000)),
                         duration_text(far.trouble->generation.most())),
             "the responder handles packets out of sequence slowly (ConnectX-4 Lx: hundreds of microseconds; E810 with "
             "READ: tens of milliseconds)",
             count,
             evidence_of(view.context, far, Trouble::kSlowNak, "NAK of PSN {psn}, {time} after the gap"),
             {firmware_remedy("the responder, " + view.responder_address)}});
  // Behind the loss, one slow packet may be one whose first copy was lost; most of them are not.
  const std::uint32_t returns = count_of(near, Trouble::kSlowReturn);
  if (near.trouble && returns >= kSlowReturns && returns > near.trouble->reaction.count())
    out.add(view.place,
            {"nak-latency.reaction",
             fmt::format("{} came more than 500 us after the NAK, {} sooner", counted(returns, "retransmission"),
                         near.trouble->reaction.count()),
             "the requester reacts slowly to NAKs, or its rate is cut so far that the packet waits for its turn",
             returns,
             evidence_of(view.context, near, Trouble::kSlowReturn, "PSN {psn} again, {time} after the NAK"),
             {{"NIC", "rdma statistic show link DEVICE/1: rp_cnp_handled, roce_slow_restart (the rate after a NAK)"},
              firmware_remedy("the requester, " + view.requester_address)}});
  if (const std::uint32_t count = count_of(near, Trouble::kSlowReaction); count > 0)
    out.add(view.place,
            {"nak-latency.reaction",
             fmt::format("{} began more than 500 us after the NAK; half of all within {}, the slowest {}",
                         counted(count, "retransmission"), duration_text(near.trouble->reaction.percentile(5'000)),
                         duration_text(near.trouble->reaction.most())),
             "the requester reacts slowly to NAKs, or its rate is cut so far that the packet waits for its turn",
             count,
             evidence_of(view.context, near, Trouble::kSlowReaction, "PSN {psn} again, {time} after the NAK"),
             {{"NIC", "rdma statistic show link DEVICE/1: rp_cnp_handled, roce_slow_restart (the rate after a NAK)"},
              firmware_remedy("the requester, " + view.requester_address)}});
}

}  // namespace weft::analyze::detail
