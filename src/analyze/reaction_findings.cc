// What senders do with CNPs, in words.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyze/rate_reaction.h"

namespace weft::analyze {
namespace {

// Of the speed of the port, and of the rate before the CNPs.
constexpr double kLineRate = 0.9, kRecovered = 0.8;

double reaction_gbps(double rate_bps) {
  return rate_bps / 1e9;
}

std::vector<Remedy> rp_remedies() {
  return {{"NIC", "echo 1 > /sys/class/net/IFACE/ecn/roce_rp/enable/3; mlxconfig -d DEV set ROCE_CC_PRIO_MASK_P1=255"},
          {"NIC", "rdma statistic show link DEV | grep -E 'rp_cnp_handled|rp_cnp_ignored'"}};
}

}  // namespace

// Streams of a port that were told often enough to be far below its speed, and fill it all the same.
void RateReaction::find_deaf(Findings& findings, const Reading& reading, const PauseLanes& lanes) const {
  struct Port {
    double sent_B = 0;
    std::int64_t from_ns = INT64_MAX, to_ns = 0, most_ns = 0;
    std::uint64_t cnps = 0;
    std::vector<const Reaction*> streams{};
  };
  std::map<PointId, Port> ports;
  for (const Reaction& reaction : reactions_) {
    if (reaction.cnps < kFewestCnps || reaction.windows < 10 || reaction.dose < kFewestDose) continue;
    Port& port = ports[reading.streams[reaction.stream].point];
    port.sent_B += reaction.windows_B;
    port.from_ns = std::min(port.from_ns, reaction.first_cnp.time_ns);
    port.to_ns = std::max(port.to_ns, reaction.last_cnp_ns);
    port.most_ns = std::max(port.most_ns, reaction.windows_ns);
    port.cnps += reaction.cnps;
    port.streams.push_back(&reaction);
  }
  for (const auto& [point, port] : ports) {
    if (reading.capture.points[point].speed_bps == 0) continue;
    const auto line_bps = static_cast<double>(lanes.speed_bps(point));
    const double rate_bps = port.sent_B * 8e9 / static_cast<double>(std::max(port.to_ns - port.from_ns, port.most_ns));
    if (rate_bps < kLineRate * line_bps) continue;
    const Reaction& first = *port.streams.front();
    findings.add({"rate-reaction.none",
                  port.streams.size() == 1 ? place_of(reading, first.stream) : point_name(reading, point),
                  fmt::format("{} CNPs to {} stream{}, and the rate stays at {:.1f} of {:.0f} Gb/s", port.cnps,
                              port.streams.size(), port.streams.size() == 1 ? "" : "s", reaction_gbps(rate_bps),
                              reaction_gbps(line_bps)),
                  "the reaction point is off for this priority, or another congestion control is in use that does not "
                  "listen to CNPs",
                  port.cnps,
                  {first.first_cnp},
                  rp_remedies()});
  }
}

void RateReaction::find_slow(Findings& findings, const Reading& reading, const Reaction& reaction) const {
  if (reaction.stall_ns == 0 || reaction.before_bps <= 0 || reaction.has_loss) return;
  if (reaction.stall_last_bps >= kRecovered * reaction.before_bps) return;
  const double slope = (reaction.stall_last_bps - reaction.stall_first_bps) / static_cast<double>(reaction.stall_ns);
  const double return_s = slope <= 0 ? 1e9 : (reaction.before_bps - reaction.stall_last_bps) / slope / 1e9;
  if (return_s < kSlowReturn_s) return;
  findings.add({"rate-reaction.slow-recovery",
                place_of(reading, reaction.stream),
                fmt::format("{:.1f} ms without a CNP bring the rate from {:.2f} to {:.2f} Gb/s; it was {:.1f}{}",
                            static_cast<double>(reaction.stall_ns) / 1e6, reaction_gbps(reaction.stall_first_bps),
                            reaction_gbps(reaction.stall_last_bps), reaction_gbps(reaction.before_bps),
                            return_s > 1e6 ? "" : fmt::format(", {:.1f} s away at this pace", return_s)),
                "the rate increase is too small or its timer too long for this speed (RPG_AI_RATE, RPG_HAI_RATE, "
                "RPG_TIME_RESET)",
                reaction.cnps,
                {reaction.first_cnp},
                {{"NIC", "echo 300 > /sys/class/net/IFACE/ecn/roce_rp/rpg_time_reset; rpg_ai_rate 5; rpg_hai_rate 50"},
                 {"NIC", "mlxconfig -d DEV q | grep RPG_"}}});
}

// One note: the parameters of DCQCN that the reactions fit.
void RateReaction::describe(Findings& findings, const Reading& reading) const {
  std::uint64_t cnps = 0, cuts = 0, fresh = 0, halves = 0, rises = 0;
  double cut_sum = 0, fresh_sum = 0, half_sum_ns = 0, rise_sum = 0;
  const Reaction* most = nullptr;
  for (const Reaction& reaction : reactions_) {
    cnps += reaction.cnps;
    cuts += reaction.cuts - reaction.fresh_cuts;
    cut_sum += reaction.cut_sum - reaction.fresh_cut_sum;
    fresh += reaction.fresh_cuts;
    fresh_sum += reaction.fresh_cut_sum;
    if (reaction.half_recovered_ns > 0) {
      ++halves;
      half_sum_ns += static_cast<double>(reaction.half_recovered_ns);
    }
    if (reaction.best_ns > kQuiet_ns / 5 && reaction.best_is_steady) {
      ++rises;
      rise_sum += (reaction.best_last_bps - reaction.best_first_bps) / static_cast<double>(reaction.best_ns);
    }
    if (most == nullptr || reaction.cnps > most->cnps) most = &reaction;
  }
  if (most == nullptr || fresh + cuts == 0) return;
  std::string text = fmt::format("{} CNPs to {} streams", cnps, reactions_.size());
  if (fresh > 0) {
    const double left = fresh_sum / static_cast<double>(fresh);
    text += fmt::format("; a CNP after 0.5 ms without leaves {:.2f} of the rate (alpha {:.2f}, {} measured)", left,
                        std::clamp(2 * (1 - left), 0.0, 1.0), fresh);
  }
  if (cuts > 0) {
    const double left = cut_sum / static_cast<double>(cuts);
    text += fmt::format("; one among others {:.3f} (alpha {:.3f}, {} measured)", left,
                        std::clamp(2 * (1 - left), 0.0, 1.0), cuts);
  }
  if (halves > 0)
    text += fmt::format("; half of a cut is back after {:.0f} us (RPG_TIME_RESET)",
                        half_sum_ns / static_cast<double>(halves) / 1000);
  if (rises > 0)
    text += fmt::format("; without CNPs the rate rises by {:.2f} Gb/s in 1 ms",
                        rise_sum / static_cast<double>(rises) / 1e3);
  findings.add({"rate-reaction.fit", place_of(reading, most->stream), text, "", cnps, {most->first_cnp}});
}

void RateReaction::finish(Findings& findings, const Reading& reading, const PauseLanes& lanes) {
  // Of the points that saw a stream, the one nearest to its sender: where it came first.
  std::set<std::tuple<AddressId, AddressId, std::uint32_t>> seen;
  std::stable_sort(reactions_.begin(), reactions_.end(), [&](const Reaction& one, const Reaction& other) {
    return reading.streams[one.stream].first_ns < reading.streams[other.stream].first_ns;
  });
  std::erase_if(reactions_, [&](const Reaction& reaction) {
    const Stream& stream = reading.streams[reaction.stream];
    return !seen.insert({stream.src, stream.dst, stream.dst_qp}).second;
  });
  std::uint64_t looked_at = 0;
  for (Reaction& reaction : reactions_) {
    end_quiet(reaction, reading.streams[reaction.stream].last_ns);
    if (reaction.windows >= 10) looked_at += reaction.cnps;
    find_slow(findings, reading, reaction);
  }
  find_deaf(findings, reading, lanes);
  describe(findings, reading);
  findings.judge("rate-reaction", looked_at, "CNPs",
                 reactions_.empty() ? "no CNP to a sender whose data is in this capture"
                                    : "too few packets around the CNPs to tell a rate");
}

}  // namespace weft::analyze
