// The responder refuses: remote errors, and receiver not ready.
#include <fmt/format.h>

#include "analyze/rc/findings.h"

namespace weft::analyze::detail {
namespace {

struct Refusal {
  Trouble trouble;
  std::string_view id, name, cause, status, command;
};
constexpr Refusal kRefusals[] = {
    {Trouble::kAccessNak, "nak.remote-access", "remote access error",
     "a wrong R_Key or address, an access beyond the end of the memory region, or one without the right "
     "(IBV_ACCESS_REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC)",
     "IBV_WC_REM_ACCESS_ERR (10)",
     "on {responder}: rdma resource show mr; on {requester}: rdma statistic show link DEVICE/1 "
     "(req_remote_access_errors; "
     "the responder's own counters stay 0)"},
    {Trouble::kInvalidNak, "nak.invalid-request", "invalid request",
     "an operation that the queue pair does not allow (qp_access_flags), a message longer than the receive, or more "
     "READs and atomics than max_dest_rd_atomic",
     "IBV_WC_REM_INV_REQ_ERR (9)",
     "on {responder}: qp_access_flags and max_dest_rd_atomic in ibv_modify_qp, size of the posted receives; on "
     "{requester}: rdma statistic show link DEVICE/1 (req_remote_invalid_request)"},
    {Trouble::kOperationalNak, "nak.remote-operational", "remote operational error",
     "the responder failed while it carried out the request (its own memory, its own queue)", "IBV_WC_REM_OP_ERR (11)",
     "on {responder}: dmesg and the program's log"},
};

void find_rnr(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  const std::uint32_t count = count_of(far, Trouble::kRnrNak);
  if (count == 0) return;
  std::vector<Evidence> evidence =
      evidence_of(view.context, far, Trouble::kRnrNak, "RNR NAK of PSN {psn}: wait {time}");
  const std::vector<Remedy> remedies = {
      {"host", fmt::format("on {}: post more receives, earlier; a shared receive queue with a limit event",
                           view.responder_address)},
      {"host", fmt::format("min_rnr_timer on {}, rnr_retry on {} (ibv_modify_qp; 7 = without end)",
                           view.responder_address, view.requester_address)},
      {"NIC", fmt::format("rdma statistic show link DEVICE/1: out_of_buffer on {}, rnr_nak_retry_err on {}",
                          view.responder_address, view.requester_address)}};
  out.add(view.place,
          {"rnr.no-receive",
           fmt::format("{}, timer {}; the requester waited {} for them", counted(count, "RNR NAK"),
                       duration_text(far.rnr_timer_ns), duration_text(near.trouble ? near.trouble->rnr_waited_ns : 0)),
           "messages arrive faster than the responder's program posts receives", count, evidence, remedies});
  if (const std::uint32_t early = count_of(near, Trouble::kRnrEarly); early > 0)
    out.add(view.place,
            {"rnr.early",
             fmt::format("{} retransmitted before the timer of the RNR NAK had passed", counted(early, "time")),
             "the requester does not wait as the responder asked",
             early,
             evidence_of(view.context, near, Trouble::kRnrEarly, "PSN {psn} again after {time}"),
             {firmware_remedy("the requester, " + view.requester_address)}});
  const std::int64_t quiet_ns = view.context.capture.last_ns - near.rnr_ns;
  if (near.rnr_open && quiet_ns > 4 * near.rnr_timer_ns + 100'000)
    out.add(view.place, {"rnr.exhausted",
                         fmt::format("PSN {} was refused {} in a row and not retransmitted in {}", near.rnr_psn,
                                     counted(near.rnr_in_a_row, "time"), duration_text(quiet_ns)),
                         "rnr_retry is used up: the queue pair is in error and the work request ends with "
                         "IBV_WC_RNR_RETRY_EXC_ERR (13)",
                         near.rnr_in_a_row, std::move(evidence), remedies});
}

}  // namespace

void find_refusals(const SideView& view, SideFindings& out) {
  const RcFlow& far = view.responder();
  for (const Refusal& refusal : kRefusals) {
    const std::uint32_t count = count_of(far, refusal.trouble);
    if (count == 0) continue;
    out.add(view.place,
            {refusal.id,
             fmt::format("the responder answers {}: the queue pair ends in an error, the work request with {}",
                         refusal.name, refusal.status),
             std::string(refusal.cause),
             count,
             evidence_of(view.context, far, refusal.trouble, "NAK of PSN {psn}"),
             {{"host", fmt::format(fmt::runtime(refusal.command), fmt::arg("responder", view.responder_address),
                                   fmt::arg("requester", view.requester_address))}}});
  }
  if (const std::uint32_t count = count_of(far, Trouble::kReservedSyndrome); count > 0)
    out.add(view.place,
            {"nak.reserved",
             fmt::format("{} with an AETH syndrome that the standard reserves: the requester cannot know what {}",
                         counted(count, "answer"), count == 1 ? "it says" : "they say"),
             "a defect of the responder's NIC, or a device on the way that changes bytes and computes the ICRC anew",
             count,
             evidence_of(view.context, far, Trouble::kReservedSyndrome, "PSN {psn}: syndrome {hex}"),
             {firmware_remedy("the responder, " + view.responder_address)}});
  find_rnr(view, out);
}

}  // namespace weft::analyze::detail
