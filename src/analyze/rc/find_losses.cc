// Packets lost, late or twice on the way, and between which capture points.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyze/classes/traffic_words.h"
#include "analyze/rc/balance.h"
#include "analyze/rc/findings.h"

namespace weft::analyze::detail {
namespace {

struct PathLoss {
  std::uint64_t packets = 0;
  std::string where;
  std::vector<Evidence> evidence = {};
  bool unseen = false;             // known by NAKs alone
  const RcFlow* before = nullptr;  // the points on both sides, where there are two
  const RcFlow* after = nullptr;
};

void append_evidence(std::vector<Evidence>& all, std::vector<Evidence> more, std::size_t most) {
  if (more.size() > most) more.resize(most);
  all.insert(all.end(), more.begin(), more.end());
}

// The first gap, the NAK for it and the first packet that was retransmitted.
std::vector<Evidence> story_of(const SideView& view, const RcFlow& after) {
  std::vector<Evidence> evidence =
      evidence_of(view.context, after, Trouble::kGap, "PSN {psn}: {packets} before it {are} missing");
  append_evidence(evidence,
                  evidence_of(view.context, view.responder(), Trouble::kSequenceNak, "NAK, PSN {psn} expected"), 1);
  append_evidence(evidence,
                  evidence_of(view.context, view.requester(), Trouble::kAfterNak,
                              "PSN {psn} and what follows retransmitted: {packets}"),
                  1);
  append_evidence(evidence,
                  evidence_of(view.context, view.requester(), Trouble::kTimeout,
                              "PSN {psn} retransmitted after {time} without an answer"),
                  1);
  return evidence;
}

std::vector<PathLoss> lost_requests(const SideView& view) {
  std::vector<PathLoss> losses;
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  const RcContext& context = view.context;
  if (near.trouble && !near.out_of_order) {
    const FlowTrouble& trouble = *near.trouble;
    std::uint64_t open = 0;
    for (const Hole& hole : trouble.holes) open += static_cast<std::uint64_t>(psn_ahead(hole.end, hole.first));
    const bool never_again = near.transport == wire::kUcTransport;
    const std::uint64_t late = count_of(near, Trouble::kReordered) + (&near == &far ? late_behind_copy(view) : 0);
    const std::uint64_t not_lost = late + (never_again ? 0 : open);
    // A packet that is asked for and still missing may never have been sent.
    const std::uint64_t lost = trouble.gap_packets + (open == 0 ? trouble.lost_again : 0);
    if (lost > not_lost)
      losses.push_back({lost - not_lost, fmt::format("between the requester and {}", context.point_name(near)),
                        story_of(view, near)});
  }
  for (std::size_t i = 0; i + 1 < view.side.flows.size(); ++i) {
    const RcFlow& before = *view.side.flows[i];
    const RcFlow& after = *view.side.flows[i + 1];
    const std::uint64_t lost = std::min(lost_between(before, after), most_lost(view, after));
    if (lost > 0 && !is_only_missed(view))
      losses.push_back({lost, fmt::format("between {} and {}", context.point_name(before), context.point_name(after)),
                        story_of(view, after), false, &before, &after});
  }
  if (!view.in_order()) return losses;
  const std::uint64_t late = came_behind_nak(far) + count_of(far, Trouble::kReordered) + late_behind_copy(view);
  if (far.trouble && far.trouble->lost_behind > late)
    losses.push_back({far.trouble->lost_behind - late,
                      fmt::format("between {} and the responder", context.point_name(far)), story_of(view, far), true});
  return losses;
}

// A later ACK makes up for a lost one. Only what is retransmitted for want of it tells that it was lost on the way.
bool is_answer_missed(const SideView& view, const RcFlow& after) {
  const RcFlow& near = view.requester();
  if (count_of(near, Trouble::kTimeout) > 0) return true;
  return near.retransmitted > 0 && !view.context.transport.is_incomplete(view.context.point_of(after));
}

std::vector<PathLoss> lost_answers(const SideView& view) {
  std::vector<PathLoss> losses;
  if (timer_is_too_short(view)) return losses;  // each packet is answered many times
  for (std::size_t i = view.side.flows.size() - 1; i > 0; --i) {
    const RcFlow& before = *view.side.flows[i];
    const RcFlow& after = *view.side.flows[i - 1];
    if (before.answers <= after.answers || before.response_packets > 0) continue;
    // The rest may wait in a queue, or be on its way.
    if (before.last_answer_psn != after.last_answer_psn || answers_on_way(before, after)) continue;
    std::uint64_t lost = before.answers - after.answers;
    // Where the capture began within the connection, answers to what was sent before are not known at every point.
    if (before.first_psn != after.first_psn || view.requester().retransmitted == 0)
      lost -= std::min(
          lost, static_cast<std::uint64_t>(std::max(psn_ahead(after.first_answer_psn, before.first_answer_psn), 0)));
    if (lost == 0) continue;
    PathLoss loss{
        lost,    fmt::format("between {} and {}", view.context.point_name(before), view.context.point_name(after)),
        {},      false,
        &before, &after};
    loss.evidence = evidence_of(view.context, view.requester(), Trouble::kTimeout,
                                "PSN {psn} retransmitted after {time} without an answer");
    if (loss.evidence.empty())
      loss.evidence.push_back({before.last_answer_frame, before.last_answer_ns, view.context.point_of(before),
                               "the last answer at this point"});
    losses.push_back(std::move(loss));
  }
  return losses;
}

// Where nothing queues, nothing runs over: on a cable each packet takes the same time. Stamps of hardware are some
// nanoseconds off.
enum class LossPlace : std::uint8_t { kUnknown, kCable, kQueue };

struct PlaceOfLoss {
  LossPlace kind = LossPlace::kUnknown;
  std::optional<Transit> transit{};
};

PlaceOfLoss place_of_loss(const RcContext& context, const RcFlow* before, const RcFlow* after, AddressId src) {
  constexpr std::int64_t kStamps_ns = 50;
  constexpr std::int64_t kQueue_B = 50'000;  // less never was a full buffer
  if (before == nullptr || after == nullptr || context.transits == nullptr) return {};
  const PointId at = context.point_of(*before), next = context.point_of(*after);
  const std::optional<Transit> transit = context.transits->between(at, next, src);
  if (!transit) return {};
  if (transit->spread_ns() <= kStamps_ns) return {LossPlace::kCable, transit};
  const std::uint64_t speed_bps =
      std::max(context.capture.points[at].speed_bps, context.capture.points[next].speed_bps);
  const double queue_ns = speed_bps == 0 ? 1e6 : kQueue_B * 8e9 / static_cast<double>(speed_bps);
  if (static_cast<double>(transit->spread_ns()) < queue_ns) return {LossPlace::kUnknown, transit};
  return {LossPlace::kQueue, transit};
}

std::string loss_cause(const SideView& view, const PlaceOfLoss& place = {}) {
  if (view.context.capture.icrc_bad > 0) return "frames with a wrong ICRC are discarded (integrity.icrc)";
  if (place.kind == LossPlace::kCable)
    return "a link has bit errors: nothing queues between these points, so that no buffer can run over there";
  if (place.kind == LossPlace::kQueue)
    return "a buffer ran over between these points: the class is not lossless there, or its headroom is too small";
  if (view.responder().ce_marked > 0)
    return "a buffer ran over: the queues on the way are long (packets are CE-marked) and the class is not lossless "
           "there";
  return "a buffer ran over in a class that is not lossless, or a link has bit errors";
}

// How the place was told: by what came through.
std::string transit_text(const PlaceOfLoss& place) {
  if (place.kind == LossPlace::kCable)
    return fmt::format(
        "; what came through took {} each time{}", duration_text(place.transit->least_ns),
        place.transit->spread_ns() == 0 ? "" : fmt::format(", within {}", duration_text(place.transit->spread_ns())));
  if (place.kind == LossPlace::kQueue)
    return fmt::format("; what came through waited up to {}", duration_text(place.transit->spread_ns()));
  return "";
}

// The two ends of where it was lost, as a command line needs them.
std::string ends_text(const SideView& view, const RcFlow* before, const RcFlow* after) {
  if (before == nullptr || after == nullptr) return "on both ends";
  return fmt::format("at {} and {}", view.context.point_name(*before), view.context.point_name(*after));
}

std::vector<Remedy> loss_remedies(const SideView& view, const PlaceOfLoss& place = {}, const RcFlow* before = nullptr,
                                  const RcFlow* after = nullptr) {
  const std::string ends = ends_text(view, before, after);
  const TrafficWords words = words_of(view.context.streams[view.requester().stream]);
  const Remedy errors{"NIC", fmt::format("ethtool -S IFACE | grep -E 'crc_errors_phy|symbol_err|discards_phy|"
                                         "out_of_buffer' {}; mlxlink -d DEVICE -m -c: bit error rate, FEC",
                                         ends)};
  if (place.kind == LossPlace::kCable)
    return {
        {"switch", fmt::format("show interfaces counters errors; show interfaces counters fec-stats {}: replace the "
                               "cable or transceiver of the port whose errors count up",
                               ends)},
        errors};
  return {{"switch", fmt::format("show queue counters; show pfc counters; show interfaces counters errors {}: which "
                                 "port drops, in which queue",
                                 ends)},
          errors,
          {"NIC", fmt::format("mlnx_qos -i IFACE --trust dscp --pfc {}; cma_roce_tos -d DEVICE -t {}: RoCE in the "
                              "lossless class on every hop",
                              words.pfc_mask(), words.lossless_tos())}};
}

void find_reads_lost(const SideView& view, bool is_told, SideFindings& out) {
  const RcFlow& near = view.requester();
  const std::uint32_t gaps = count_of(near, Trouble::kReadLost);
  const std::uint32_t late = count_of(near, Trouble::kLateResponse);
  const std::uint32_t asked =
      count_of(near, Trouble::kAskedAgain) - std::min(count_of(near, Trouble::kAskedAgain), late);
  if ((gaps == 0 && asked == 0) || responses_are_late(view)) return;
  std::string where = gaps > 0 ? "between the responder and " + view.context.point_name(near)
                               : "between " + view.context.point_name(near) + " and the requester";
  const auto [lost, lost_before, lost_after] = responses_lost(view);
  if (lost > 0)
    where = fmt::format("between {} and {}: {}", view.context.point_name(*lost_before),
                        view.context.point_name(*lost_after), counted(lost, "packet"));
  if (gaps == 0 && lost == 0 && is_told) return;  // as answers that were lost
  std::vector<Evidence> evidence =
      evidence_of(view.context, near, Trouble::kReadLost, "response PSN {psn}: {packets} before it {are} missing");
  append_evidence(evidence, evidence_of(view.context, near, Trouble::kAskedAgain, "PSN {psn} is asked for again"), 3);
  const std::string what = gaps > 0 ? counted(gaps, "gap") + " in READ responses"
                                    : "answers to READs or atomics asked for again " + counted(asked, "time");
  const PlaceOfLoss place = place_of_loss(view.context, lost_before, lost_after, view.context.streams[near.stream].dst);
  out.add(view.place,
          {"read-response.lost", fmt::format("{}, lost {}{}{}", what, where, transit_text(place), again_text(near)),
           loss_cause(view, place), std::max<std::uint64_t>({lost, gaps, asked}), std::move(evidence),
           loss_remedies(view, place, lost_before, lost_after)});
}

void find_answers_not_needed(const SideView& view, const PathLoss& loss, SideFindings& out) {
  const std::string what =
      fmt::format("{} of {} answers (ACKs, NAKs) missing {}, and nothing was retransmitted for want of them",
                  loss.packets, view.responder().answers, loss.where);
  SideFinding alone{
      "capture.lost", what,          "the capture missed them, or they were lost where a later ACK makes up for them",
      loss.packets,   loss.evidence, {capture_remedy()}};
  if (view.context.transport.is_incomplete(view.context.point_of(*loss.after)))
    return out.add(view.place, std::move(alone));
  const PlaceOfLoss place =
      place_of_loss(view.context, loss.before, loss.after, view.context.streams[view.requester().stream].dst);
  out.add_either(view.place, std::move(alone),
                 {"psn.lost", what, loss_cause(view, place), loss.packets, loss.evidence,
                  loss_remedies(view, place, loss.before, loss.after)});
}

void find_never_sent(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  if (!near.trouble || near.transport == wire::kUcTransport) return;
  std::uint64_t packets = 0;
  for (const Hole& hole : near.trouble->holes) {
    constexpr std::int64_t kLong_ns = 1'000'000, kAfterNak_ns = 100'000;
    const bool asked = near.naks > 0 && near.nak_psn == hole.first && near.last_ns - near.nak_ns > kAfterNak_ns;
    if (asked || near.last_ns - hole.since_ns > kLong_ns)
      packets += static_cast<std::uint64_t>(psn_ahead(hole.end, hole.first));
  }
  if (packets == 0) return;
  out.add(view.place, {"psn.gap",
                       fmt::format("{} skipped and never sent, though packets behind were",
                                   counted(packets, "PSN was", "PSNs were")),
                       "the requester skips PSNs, or the packets were lost before the capture and never retransmitted",
                       packets,
                       evidence_of(view.context, near, Trouble::kGap, "PSN {psn}: {packets} before it {are} missing"),
                       {firmware_remedy("the requester, " + view.requester_address)}});
}

}  // namespace

void find_losses(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  if (near.transport == 0x60) return;
  const Stream& near_stream = view.context.streams[near.stream];
  const bool is_asked_again = count_of(near, Trouble::kTimeout) > 0 || count_of(far, Trouble::kSequenceNak) > 0;
  if (!view.has_exact_order() && !is_asked_again) return;  // nothing says that anything was lost
  const bool is_too_large = find_size_limit(view, out);
  bool has_outage = false;
  std::uint64_t all_lost = 0;
  for (PathLoss& loss : lost_requests(view)) {
    all_lost += loss.packets;
    if (is_too_large) break;
    std::string lost = fmt::format("{}{} of {} requests lost{}", loss.unseen ? "at least " : "", loss.packets,
                                   near.packets, loss.unseen ? " or overtaken" : "");
    const std::vector<Outage> outages = loss.before == nullptr
                                            ? std::vector<Outage>()
                                            : outages_between(view.context, *loss.before, *loss.after, loss.packets);
    if (!outages.empty()) {
      has_outage = true;
      out.add(view.place, outage_finding(view, *loss.before, *loss.after, outages, lost + again_text(near)));
      continue;
    }
    const PlaceOfLoss place = place_of_loss(view.context, loss.before, loss.after, near_stream.src);
    out.add(view.place, {"psn.lost", fmt::format("{} {}{}{}", lost, loss.where, transit_text(place), again_text(near)),
                         loss_cause(view, place), loss.packets, std::move(loss.evidence),
                         loss_remedies(view, place, loss.before, loss.after)});
  }
  std::vector<PathLoss> answers = has_outage ? std::vector<PathLoss>() : lost_answers(view);
  for (PathLoss& loss : answers) {
    if (!is_answer_missed(view, *loss.after)) {
      find_answers_not_needed(view, loss, out);
      continue;
    }
    const PlaceOfLoss place = place_of_loss(view.context, loss.before, loss.after, near_stream.dst);
    out.add(view.place, {"psn.lost",
                         fmt::format("{} of {} answers (ACKs, NAKs) lost {}{}{}", loss.packets, far.answers, loss.where,
                                     transit_text(place), again_text(near)),
                         loss_cause(view, place), loss.packets, std::move(loss.evidence),
                         loss_remedies(view, place, loss.before, loss.after)});
  }
  if (!view.has_exact_order()) return;
  find_reads_lost(view, has_outage || !answers.empty(), out);
  find_never_sent(view, out);
  find_disorder(view, all_lost, out);
}

}  // namespace weft::analyze::detail
