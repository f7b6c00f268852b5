#include "analyze/counters_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/paths/nearest.h"
#include "wire/aeth_syndrome.h"

namespace weft::analyze {
namespace {

std::uint64_t value_of(const PortCounters& port, std::string_view name) {
  const auto found = port.counters.find(name);
  return found == port.counters.end() ? 0 : found->second;
}

}  // namespace

std::string_view CountersCheck::name_of(std::size_t counted) {
  static constexpr std::array<std::string_view, kCounted> kCounterNames = {
      "np_cnp_sent",          "rp_cnp_handled", "np_ecn_marked_roce_packets",
      "out_of_sequence",      "packet_seq_err", "rnr_nak_retry_err",
      "rx_icrc_encapsulated", "tx_prio0_pause", "tx_prio1_pause",
      "tx_prio2_pause",       "tx_prio3_pause", "tx_prio4_pause",
      "tx_prio5_pause",       "tx_prio6_pause", "tx_prio7_pause",
      "rx_prio0_pause",       "rx_prio1_pause", "rx_prio2_pause",
      "rx_prio3_pause",       "rx_prio4_pause", "rx_prio5_pause",
      "rx_prio6_pause",       "rx_prio7_pause"};
  return kCounterNames[counted];
}

void CountersCheck::see_pause(const Frame& frame) {
  constexpr std::size_t kMostSenders = 65'536;
  const std::pair key{frame.point, frame.src_mac};
  if (pauses_.size() == kMostSenders && !pauses_.contains(key)) return;
  auto& classes = pauses_[key];
  for (std::size_t i = 0; i < 8; ++i)
    if ((frame.class_enable >> i & 1) != 0) ++classes[i];  // XON too
}

void CountersCheck::see(const Frame& frame, const Addresses& addresses) {
  if (frame.kind == FrameKind::kPfc) see_pause(frame);
  if (frame.kind != FrameKind::kRoce) return;
  while (port_by_address_.size() < addresses.size()) {
    const std::string text = addresses.text(static_cast<AddressId>(port_by_address_.size()));
    const auto found =
        std::find_if(ports_.begin(), ports_.end(), [&](const PortCounters& port) { return port.address == text; });
    addresses_.resize(ports_.size(), kNone);
    if (found != ports_.end())
      addresses_[static_cast<std::size_t>(found - ports_.begin())] = static_cast<AddressId>(port_by_address_.size());
    port_by_address_.push_back(found == ports_.end() ? -1 : static_cast<std::int32_t>(found - ports_.begin()));
  }
  seen_.resize(ports_.size());
  const bool is_seq_nak = frame.has_aeth && wire::nak_code(frame.syndrome) == wire::NakCode::kPsnSequenceError;
  if (const std::int32_t port = port_by_address_[frame.src]; port >= 0) {
    Seen& seen = seen_[static_cast<std::size_t>(port)][frame.point];
    seen.sent_out += frame.direction == Direction::kOut ? 1 : 0;
    seen.sent_in += frame.direction == Direction::kIn ? 1 : 0;
    seen.mac = frame.src_mac;
    seen.counts[kCnpSent] += frame.is_cnp() ? 1 : 0;
    seen.counts[kNakSent] += is_seq_nak ? 1 : 0;
  }
  if (const std::int32_t port = port_by_address_[frame.dst]; port >= 0) {
    Seen& seen = seen_[static_cast<std::size_t>(port)][frame.point];
    if (frame.icrc == IcrcState::kBad) {
      ++seen.counts[kBadIcrc];
      return;
    }
    seen.counts[kCnpReceived] += frame.is_cnp() ? 1 : 0;
    seen.counts[kCeReceived] += frame.ce() && !frame.is_cnp() ? 1 : 0;
    seen.counts[kNakReceived] += is_seq_nak ? 1 : 0;
    seen.counts[kRnrNakReceived] +=
        frame.has_aeth && wire::aeth_kind(frame.syndrome) == wire::AethKind::kRnrNak ? 1 : 0;
  }
}

CountersCheck::Place CountersCheck::place_of_point(const Seen& seen) {
  if (seen.sent_out > 0 && seen.sent_in == 0) return Place::kPort;
  return seen.sent_out + seen.sent_in > 0 ? Place::kElsewhere : Place::kUnknown;
}

bool CountersCheck::add_pauses(PointId point, const Seen& seen, std::array<std::uint64_t, kCounted>& counts) const {
  std::size_t others = 0;
  bool is_own_cable = place_of_point(seen) == Place::kPort;
  for (auto each = pauses_.lower_bound({point, 0}); each != pauses_.end() && each->first.first == point; ++each) {
    const bool is_own = each->first.second == seen.mac;
    is_own_cable |= is_own;
    others += is_own ? 0 : 1;
    for (std::size_t i = 0; i < 8; ++i) counts[(is_own ? kPauseSent : kPauseReceived) + i] += each->second[i];
  }
  // A cable has two ends; a mirror of several ports has more, and the frames do not say which cable they were on.
  return others <= 1 && (is_own_cable || place_of_point(seen) == Place::kUnknown);
}

void CountersCheck::compare(const PortCounters& port, PointId point, const Seen& seen, const CaptureSummary& capture,
                            Findings& findings, std::uint64_t& compared) const {
  std::array<std::uint64_t, kCounted> counts = seen.counts;
  const bool has_pauses = add_pauses(point, seen, counts);
  const std::string place = capture.points[point].name.empty() ? "this point" : capture.points[point].name;
  const bool is_elsewhere = place_of_point(seen) == Place::kElsewhere;
  std::uint64_t pauses_left_out = 0;
  std::vector<std::string> apart;
  for (std::size_t i = 0; i < kCounted; ++i) {
    const auto counter = port.counters.find(name_of(i));
    if (counter == port.counters.end()) continue;
    if (i >= kPauseSent && !has_pauses) {
      ++pauses_left_out;
      continue;
    }
    ++compared;
    // A CNP that finds congestion control off is counted apart; a slow restart counts as a CNP that was handled.
    std::uint64_t value = counter->second;
    if (i == kCnpReceived) value += value_of(port, "rp_cnp_ignored") - value_of(port, "roce_slow_restart");
    if (value == counts[i]) continue;
    const std::string what =
        fmt::format("{} is {}, the capture at {} has {}", counter->first, counter->second, place, counts[i]);
    if (is_elsewhere) {
      apart.push_back(what);
      continue;
    }
    findings.add({"counters.differ",
                  port.address,
                  what,
                  "the capture lost frames or covers another time, or the counter does not count what its name says "
                  "(cnpSent of E810 and implied_nak_seq_err of ConnectX-4 Lx are known to stick)",
                  1,
                  {},
                  {{"host", "read the counters right before and after the capture: --counters ADDRESS=AFTER,BEFORE"}}});
  }
  if (apart.empty() && pauses_left_out == 0) return;
  compared -= std::min<std::uint64_t>(compared, apart.size());
  std::string what = fmt::format("{} is not the port of {}", place, port.address);
  for (const std::string& each : apart) what += "; " + each;
  if (pauses_left_out > 0)
    what += "; " + counted(pauses_left_out, "pause counter") +
            " not compared: pause frames stay on their cable, and this is another one";
  findings.add({"counters.elsewhere",
                port.address,
                what,
                "frames that are marked, lost or corrupted between the two are in one of them alone",
                apart.size() + pauses_left_out,
                {},
                {{"capture", fmt::format("capture at the port of {} itself", port.address)}}});
}

void CountersCheck::finish(const CaptureSummary& capture, const Streams& streams, Findings& findings,
                           std::vector<std::string>& absent) const {
  std::uint64_t compared = 0;
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    const PortCounters& port = ports_[p];
    if (p >= seen_.size() || seen_[p].empty()) {
      absent.push_back(port.address);
      continue;
    }
    const auto nearest = seen_[p].find(nearest_point(streams, addresses_[p]));
    const auto& [point, best] = nearest != seen_[p].end() ? *nearest : *seen_[p].begin();
    compare(port, point, best, capture, findings, compared);
  }
  findings.judge(
      "counters", compared, "counters",
      is_used() ? "none of the counters counts what this capture shows" : "no counters were given (--counters)");
}

}  // namespace weft::analyze
