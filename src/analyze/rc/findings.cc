#include "analyze/rc/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weft::analyze {
namespace detail {

namespace {

constexpr std::size_t kMostOfKind = 8;

std::string with_numbers(std::string_view text, const Incident& incident) {
  std::string out(text);
  const auto put = [&out](std::string_view key, const std::string& value) {
    if (const std::size_t at = out.find(key); at != std::string::npos) out.replace(at, key.size(), value);
  };
  put("{psn}", std::to_string(incident.psn));
  if (text.find("{hex}") != text.npos) put("{hex}", fmt::format("0x{:02x}", incident.value));
  put("{value}", std::to_string(incident.value));
  put("{packets}", counted(static_cast<std::uint64_t>(incident.value), "packet"));
  put("{messages}", counted(static_cast<std::uint64_t>(incident.value), "message"));
  put("{are}", incident.value == 1 ? "is" : "are");
  put("{time}", duration_text(incident.value));
  return out;
}

}  // namespace

bool SideView::has_exact_order() const {
  const auto& points = context.capture.points;
  const auto late = context.transport.late_packets();
  const auto is_inexact = [&](PointId at) {
    if (context.transport.has_inexact_order(at)) return true;
    for (PointId other = 0; other < late.size(); ++other)
      if (late[other].impossible > 0 && context.transport.has_inexact_order(other) && other < points.size() &&
          points[other].file == points[at].file)
        return true;
    return false;
  };
  return std::ranges::none_of(side.flows, [&](const RcFlow* flow) { return is_inexact(context.point_of(*flow)); });
}

std::uint32_t count_of(const RcFlow& flow, Trouble trouble) {
  return flow.trouble ? flow.trouble->count[static_cast<std::size_t>(trouble)] : 0;
}

std::string duration_text(std::int64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.3g} us", static_cast<double>(ns) / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.4g} ms", static_cast<double>(ns) / 1e6);
  return fmt::format("{:.4g} s", static_cast<double>(ns) / 1e9);
}

std::vector<Evidence> evidence_of(const RcContext& context, const RcFlow& flow, Trouble trouble,
                                  std::string_view text) {
  std::vector<Evidence> evidence;
  if (!flow.trouble) return evidence;
  for (const Incident& incident : flow.trouble->first)
    if (incident.trouble == trouble)
      evidence.push_back({incident.frame, incident.time_ns, context.point_of(flow), with_numbers(text, incident)});
  return evidence;
}

Remedy firmware_remedy(std::string_view who) {
  return {"NIC", fmt::format("on {}: mlxfwmanager --query, then update the firmware (mlxfwmanager -u)", who)};
}

namespace {

Finding finding_at(const std::string& place, SideFinding finding) {
  return {finding.id,
          place,
          std::move(finding.what),
          std::move(finding.cause),
          finding.count,
          std::move(finding.evidence),
          std::move(finding.remedies)};
}

}  // namespace

void SideFindings::add(const std::string& place, SideFinding finding) {
  all_.push_back(finding_at(place, std::move(finding)));
}

void SideFindings::add_either(const std::string& place, SideFinding alone, SideFinding beside_losses) {
  beside_losses_.emplace_back(all_.size(), finding_at(place, std::move(beside_losses)));
  add(place, std::move(alone));
}

bool SideFindings::explains_retransmissions(std::size_t known) const {
  return std::any_of(all_.begin() + static_cast<std::ptrdiff_t>(known), all_.end(), [](const Finding& finding) {
    constexpr std::string_view kChecks[] = {"psn.", "timeout.", "rnr.", "nak.", "read-response.", "livelock."};
    return std::ranges::any_of(kChecks, [&finding](std::string_view check) { return finding.id.starts_with(check); });
  });
}

void SideFindings::flush(Findings& findings) {
  const bool has_losses = std::ranges::any_of(
      all_, [](const Finding& finding) { return finding.id == "psn.lost" || finding.id == "psn.outage"; });
  if (has_losses)
    for (auto& [index, finding] : beside_losses_) all_[index] = std::move(finding);
  std::stable_sort(all_.begin(), all_.end(),
                   [](const Finding& one, const Finding& other) { return one.count > other.count; });
  std::map<std::string_view, std::vector<std::size_t>> by_kind;
  for (std::size_t i = 0; i < all_.size(); ++i) by_kind[all_[i].id].push_back(i);
  for (auto& [id, places] : by_kind) {
    for (std::size_t i = 0; i < places.size() && i < kMostOfKind; ++i) {
      Finding& finding = all_[places[i]];
      if (i + 1 == kMostOfKind && places.size() > kMostOfKind) {
        std::uint64_t total = 0;
        for (std::size_t j = i; j < places.size(); ++j) total += all_[places[j]].count;
        finding.what += fmt::format("; {} the same, {} together",
                                    counted(places.size() - i - 1, "more conversation has", "more conversations have"),
                                    counted(total - finding.count, "time"));
      }
      findings.add(std::move(finding));
    }
  }
}

}  // namespace detail

namespace {

// Amount of evidence that each check had.
struct Looked {
  std::uint64_t messages = 0, writes = 0, requests = 0, naks = 0, acks = 0, msns = 0, credits = 0, responses = 0;
  std::uint64_t rnrs = 0, timeouts = 0, recoveries = 0, nak_latencies = 0, flows = 0, unexplained = 0;
};

void count_side(const RcSide& side, Looked& looked) {
  using detail::count_of;
  if (side.empty()) return;
  const RcFlow& near = side.at_requester();
  const RcFlow& far = side.at_responder();
  if (near.transport == 0x60) return;  // datagrams have no order
  constexpr std::uint16_t kWrites = bit_of(Verb::kWrite) | bit_of(Verb::kWriteImm);
  looked.messages += near.messages_sent;
  if ((near.verbs & kWrites) != 0) looked.writes += near.messages_sent;
  looked.requests += near.packets;
  looked.naks += far.naks;
  looked.acks += far.acks;
  looked.msns += far.msn_known ? far.acks : 0;
  looked.credits += far.credit_acks;
  looked.responses += far.reads_unknown ? 0 : far.response_packets;
  looked.rnrs += count_of(far, Trouble::kRnrNak);
  looked.timeouts += count_of(near, Trouble::kTimeout);
  looked.recoveries +=
      count_of(near, Trouble::kAfterNak) + count_of(near, Trouble::kTimeout) + count_of(near, Trouble::kImpliedNak);
  if (near.trouble) looked.nak_latencies += near.trouble->reaction.count();
  if (far.trouble) looked.nak_latencies += far.trouble->generation.count();
  looked.flows += near.transport == wire::kUcTransport ? 0 : 1;
}

void judge_transport(const Looked& looked, const RcTransport& transport, Findings& findings) {
  // The column "retransmitted" is explained by a finding; otherwise it is neither healthy nor not.
  constexpr std::string_view kNoReason = "packets were retransmitted, and nothing here says why";
  constexpr std::string_view kNoConnection = "no packet of a connection (RC, XRC, UC)";
  findings.judge("opcode-sequence", looked.messages, "messages", kNoConnection);
  findings.judge("message-length", looked.writes, "messages", "no RDMA WRITE from its first packet on");
  findings.judge("psn", looked.unexplained > 0 ? 0 : looked.requests, "requests",
                 looked.unexplained > 0 ? kNoReason : kNoConnection);
  findings.judge("nak", looked.naks, "NAKs",
                 transport.unpaired_naks() > 0 ? "NAKs, and not the requests that they answer" : "no NAK");
  findings.judge("ack", looked.acks, "ACKs", "no ACK with its requests");
  findings.judge("msn", looked.msns, "ACKs", "no ACK with its requests");
  findings.judge("credits", looked.credits, "ACKs", "no responder that uses credits");
  findings.judge("read-response", looked.responses, "responses", "no READ response with its request");
  findings.judge("rnr", looked.rnrs, "RNR NAKs",
                 transport.unpaired_rnrs() > 0 ? "RNR NAKs, and not the requests that they answer" : "no RNR NAK");
  findings.judge("timeout", looked.timeouts, "timeouts", "no retransmission after a timeout");
  findings.judge("recovery", looked.recoveries, "retransmissions",
                 looked.unexplained > 0 ? kNoReason : "no packet was retransmitted");
  findings.judge("nak-latency", looked.nak_latencies, "NAKs", "no NAK with its gap or its retransmission");
  findings.judge("livelock", looked.flows, "connections", "no reliable connection");
}

}  // namespace

namespace {

void find_inexact_order(const RcContext& context, Findings& findings) {
  const auto late = context.transport.late_packets();
  for (PointId point = 0; point < late.size(); ++point) {
    if (!context.transport.has_inexact_order(point)) continue;
    const CapturePoint& at = context.capture.points[point];
    const RcTransport::LatePackets& each = late[point];
    std::vector<Evidence> evidence;
    if (each.first.frame != 0) evidence.push_back(each.first);
    const std::string proof = each.impossible > 0
                                  ? fmt::format(
                                        "{} of them closer to their neighbours than the wire allows or behind their "
                                        "own ACK",
                                        each.impossible)
                                  : "and no NAK asked for them, nor was anything retransmitted";
    findings.add(
        {"capture.order",
         at.name.empty() ? at.file : at.name,
         fmt::format("{} behind later ones of the same queue pair, {}: what depends on the order is not judged here",
                     counted(each.late, "packet stands", "packets stand"), proof),
         each.impossible > 0
             ? "the frames were sorted by stamps that are not exact (several receive queues, software stamps, "
               "reordercap or mergecap)"
             : "the frames were sorted by stamps that are not exact (several receive queues, software stamps, "
               "reordercap or mergecap); or the packets overtook each other on the way and both ends take them in any "
               "order",
         late[point].late,
         std::move(evidence),
         {{"capture", "hardware stamps (tcpdump -j adapter_unsynced), and the file as it was written"}}});
  }
}

}  // namespace

void find_transport_troubles(const RcContext& context, std::span<const RcConversation> conversations,
                             Findings& findings) {
  Looked looked;
  detail::SideFindings out;
  for (const RcConversation& conversation : conversations) {
    count_side(conversation.forward, looked);
    count_side(conversation.backward, looked);
    Conversation turned = conversation.summary;
    std::swap(turned.a, turned.b);
    std::swap(turned.a_qp, turned.b_qp);
    const std::string places[] = {place_of(conversation.summary), place_of(turned)};
    for (const bool forward : {true, false}) {
      const RcSide& side = forward ? conversation.forward : conversation.backward;
      if (side.empty()) continue;
      const RcFlow& near = side.at_requester();
      if (side.flows.size() == 1 && !near.trouble && near.awaited.empty() && near.retransmitted == 0) continue;
      const Conversation& from = forward ? conversation.summary : turned;
      const detail::SideView view{context, side, places[forward ? 0 : 1], from.a, from.b};
      const std::size_t known = out.size();
      detail::find_losses(view, out);
      detail::find_timeouts(view, out);
      detail::find_refusals(view, out);
      detail::find_broken_rules(view, out);
      detail::find_recovery(view, out);
      if (!out.explains_retransmissions(known)) looked.unexplained += near.retransmitted;
    }
  }
  out.flush(findings);
  find_inexact_order(context, findings);
  judge_transport(looked, context.transport, findings);
}

}  // namespace weft::analyze
