// Packets that came late or twice, were retransmitted for nothing, or that the capture does not hold.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/rc/balance.h"
#include "analyze/rc/findings.h"

namespace weft::analyze::detail {
namespace {

void find_late(const SideView& view, std::uint64_t lost, SideFindings& out) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  const auto add = [&](std::uint64_t late, std::vector<Evidence> evidence, std::string_view one,
                       std::string_view several) {
    if (late == 0) return;
    out.add(
        view.place,
        {"psn.reordered",
         fmt::format("{} late, behind packets that were sent later{}", counted(late, one, several), again_text(near)),
         "the packets of one queue pair take several paths (spraying, adaptive routing, a LAG that hashes per "
         "packet), or one device delays them",
         late,
         std::move(evidence),
         {{"switch", "ECMP and LAG hash by flow (source port and destination QP), adaptive routing off for this class"},
          {"NIC",
           "mlxreg -d DEVICE --reg_name ROCE_ACCL --set adaptive_routing_forced_en=1 where out-of-order "
           "receive is wanted on both ends"}}});
  };
  const std::uint64_t behind_nak = late_behind_nak(view, lost);
  std::vector<Evidence> evidence = evidence_of(view.context, far, Trouble::kReordered, "PSN {psn}: late");
  if (evidence.empty())
    evidence = evidence_of(view.context, far, Trouble::kGap, "PSN {psn}: {packets} before it {are} late");
  add(count_of(far, Trouble::kReordered) + behind_nak + late_behind_copy(view), std::move(evidence), "packet came",
      "packets came");
  const std::uint32_t gaps = responses_are_late(view) ? count_of(near, Trouble::kReadLost) : 0;
  add(responses_are_lost(view) ? 0 : count_of(near, Trouble::kLateResponse) + gaps,
      evidence_of(view.context, near, Trouble::kLateResponse, "PSN {psn}: late"), "READ response came",
      "READ responses came");
}

void find_twice(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  if (asks_for_late_answers(near) || asks_for_late_answers(far)) return;
  if (const std::uint64_t twice = came_twice(view) - late_behind_copy(view); twice > 0) {
    std::vector<Evidence> evidence = evidence_of(view.context, far, Trouble::kDuplicated, "PSN {psn} again");
    if (evidence.empty())
      evidence = evidence_of(view.context, far, Trouble::kSpurious, "PSN {psn} and what follows again: {packets}");
    out.add(view.place,
            {"psn.duplicate",
             fmt::format("{} twice without a NAK or a timeout", counted(twice, "packet came", "packets came")),
             "a device on the way duplicates packets: a loop, a mirror session that feeds back, a bond that sends on "
             "two links",
             twice,
             std::move(evidence),
             {{"switch", "show monitor session; show spanning-tree; show mac address-table: a MAC that moves"},
              {"NIC", "rdma statistic show link DEVICE/1: duplicate_request"}}});
  }
  const std::uint32_t spurious = count_of(near, Trouble::kSpurious) + sent_twice(view);
  if (spurious == 0) return;
  out.add(view.place, {"psn.spurious",
                       fmt::format("{} packets were retransmitted without a NAK, a timeout or a loss",
                                   spurious == 1 ? "once" : fmt::format("{} times", spurious)),
                       "the requester's timer is shorter than the path, or its firmware repeats what was acknowledged",
                       spurious,
                       evidence_of(view.context, near, Trouble::kSpurious, "PSN {psn} and what follows: {packets}"),
                       {{"host", "a larger timeout of the queue pair (ibv_modify_qp attr.timeout; NCCL_IB_TIMEOUT)"},
                        firmware_remedy("the requester, " + view.requester_address)}});
}

void find_not_captured(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  // Packets that are not decoded have PSNs, too.
  if (!near.trouble || !view.in_order() || view.context.streams[near.stream].has_unread_opcodes) return;
  const std::uint64_t packets = near.trouble->missed_packets;
  const std::uint64_t late = count_of(near, Trouble::kLateResponse);
  std::uint64_t responses = near.trouble->missed_responses - std::min(near.trouble->missed_responses, late);
  if (responses_are_late(view) || responses_are_lost(view) || responses <= late) responses = 0;
  if (packets + responses == 0) return;
  std::string what;
  if (packets > 0)
    what =
        fmt::format("{} acknowledged that the capture does not hold", counted(packets, "packet was", "packets were"));
  if (responses > 0)
    what += fmt::format("{}{} missing in the capture and not requested again", what.empty() ? "" : "; ",
                        counted(responses, "READ response is", "READ responses are"));
  out.add(view.place, {"capture.lost",
                       std::move(what),
                       "the capture missed them (a mirror port or a host that is too slow), or they took another path",
                       packets + responses,
                       evidence_of(view.context, near, Trouble::kNotCaptured,
                                   packets == 0 ? "PSN {psn}: {packets} before it {are} missing" : "ACK of PSN {psn}"),
                       {capture_remedy()}});
}

}  // namespace

std::string again_text(const RcFlow& flow) {
  if (flow.retransmitted == 0) return "; nothing was retransmitted";
  std::string text;
  const auto put = [&text](std::uint32_t count, std::string_view what) {
    if (count > 0) text += fmt::format("{}{} after {}", text.empty() ? " (" : ", ", count, what);
  };
  put(count_of(flow, Trouble::kAfterNak), "a NAK");
  put(count_of(flow, Trouble::kTimeout), "a timeout");
  put(count_of(flow, Trouble::kImpliedNak), "responses that were missing");
  return fmt::format("; {} retransmitted{}{}", counted(flow.retransmitted, "packet was", "packets were"), text,
                     text.empty() ? "" : ")");
}

Remedy capture_remedy() {
  return {"capture",
          "a shorter snap length (tcpdump -s 128), a larger buffer (-B 65536), every path between the two ends"};
}

void find_disorder(const SideView& view, std::uint64_t lost, SideFindings& out) {
  find_not_captured(view, out);
  find_late(view, lost, out);
  if (view.in_order()) find_twice(view, out);  // otherwise what comes twice was asked for
}

}  // namespace weft::analyze::detail
