// Reaction of senders to CNPs, in words.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "analyze/congestion/rate_reaction.h"
#include "analyze/paths/nearest.h"

namespace weft::analyze {
namespace {

// Shares of the speed of the port, and of the rate before the CNPs.
constexpr double kLineRate = 0.9, kMuchOfPort = 0.25, kAnythingOfPort = 0.02, kRecovered = 0.8;
// Factor over what DCQCN would leave: NICs have other parameters.
constexpr double kFarAbove = 2;
constexpr std::uint64_t kFewestTold = 5;
// A change of a rate that windows of some packets cannot show.
constexpr double kNoise = 0.02;
constexpr std::uint64_t kFewestSmallCuts = 3;
double reaction_gbps(double rate_bps) {
  return rate_bps / 1e9;
}

std::vector<Remedy> rp_remedies() {
  return {{"NIC", "echo 1 > /sys/class/net/IFACE/ecn/roce_rp/enable/3; mlxconfig -d DEV set ROCE_CC_PRIO_MASK_P1=255"},
          {"NIC", "rdma statistic show link DEV | grep -E 'rp_cnp_handled|rp_cnp_ignored'"}};
}

}  // namespace

// While CNPs come one after the other nothing raises the rate, whatever the parameters are. Otherwise a low rate may be
// what they leave, and behind a queue what other senders leave.
double RateReaction::least_share(const Reaction& reaction) {
  const std::int64_t told_ns = reaction.told_to_ns - reaction.told_from_ns;
  const bool is_dense =
      reaction.told_cnps >= kFewestCnps && static_cast<std::int64_t>(reaction.told_cnps) * kDense_ns >= told_ns;
  if (is_dense) return kAnythingOfPort;
  return reaction.is_behind_queue ? kLineRate : kMuchOfPort;
}

// Senders that were told often enough to be far below the speed of their port, and are not. Each address by itself: at
// the port of a receiver several senders fill the link together, however low each of them is.
void RateReaction::find_deaf(Findings& findings, const Reading& reading, const PauseLanes& lanes) const {
  struct Sender {
    double sent_B = 0, allowed = 0;  // share of the speed
    std::int64_t from_ns = INT64_MAX, to_ns = 0;
    std::uint64_t cnps = 0;
    double least = 0;  // share of the speed
    std::vector<const Reaction*> streams{};
  };
  std::map<std::pair<PointId, AddressId>, Sender> senders;
  for (const Reaction& reaction : reactions_) {
    if (reaction.cnps < kFewestCnps || reaction.told_windows < kFewestTold) continue;
    const Stream& stream = reading.streams[reaction.stream];
    Sender& sender = senders[{stream.point, stream.src}];
    sender.sent_B += reaction.told_B;
    sender.allowed += reaction.told_allowed_ns / static_cast<double>(reaction.told_ns);
    sender.from_ns = std::min(sender.from_ns, reaction.told_from_ns);
    sender.to_ns = std::max(sender.to_ns, reaction.told_to_ns);
    sender.cnps += reaction.cnps;
    sender.least = std::max(sender.least, least_share(reaction));
    sender.streams.push_back(&reaction);
  }
  for (const auto& [key, sender] : senders) {
    const auto [point, address] = key;
    if (reading.capture.points[point].speed_bps == 0) continue;
    const auto line_bps = static_cast<double>(lanes.speed_bps(point));
    const Reaction& first = *sender.streams.front();
    const bool is_one = sender.streams.size() == 1;
    // Windows of several streams may lie apart.
    const std::int64_t time_ns = is_one ? first.told_ns : sender.to_ns - sender.from_ns;
    const double rate_bps = std::min(line_bps, sender.sent_B * 8e9 / static_cast<double>(time_ns));
    const double least = std::max(kFarAbove * sender.allowed, sender.least);
    if (rate_bps < least * line_bps) continue;
    findings.add(
        {"rate-reaction.none",
         is_one ? place_of(reading, first.stream)
                : fmt::format("{} at {}", reading.addresses.text(address), point_name(reading, point)),
         fmt::format("{} to {}, and the rate stays at {:.1f} of {:.0f} Gb/s", counted(sender.cnps, "CNP"),
                     counted(sender.streams.size(), "stream"), reaction_gbps(rate_bps), reaction_gbps(line_bps)),
         "the reaction point is off for this priority, or another congestion control is in use that does not "
         "listen to CNPs",
         sender.cnps,
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

// Keeps the point nearest to its sender of those that saw a stream. A stream whose CNPs did not come that far is left
// out: its sender may not have got them.
void RateReaction::keep_nearest(const Reading& reading, const PauseLanes& lanes) {
  const auto key = [&](const Reaction& reaction) {
    const Stream& stream = reading.streams[reaction.stream];
    return std::tuple(stream.src, stream.dst, stream.dst_qp);
  };
  std::map<std::tuple<AddressId, AddressId, std::uint32_t>, StreamId> nearest;
  for (const Reaction& reaction : reactions_) nearest.try_emplace(key(reaction), reaction.stream);
  for (StreamId id = 0; id < reading.streams.size(); ++id) {
    const Stream& stream = reading.streams[id];
    const auto at = nearest.find({stream.src, stream.dst, stream.dst_qp});
    if (at != nearest.end() && stream.payload_B > 0 && is_nearer(reading.streams, id, at->second)) at->second = id;
  }
  std::erase_if(reactions_, [&](const Reaction& reaction) { return nearest.at(key(reaction)) != reaction.stream; });
  std::stable_sort(reactions_.begin(), reactions_.end(), [&](const Reaction& one, const Reaction& other) {
    return reading.streams[one.stream].first_ns < reading.streams[other.stream].first_ns;
  });
  for (Reaction& reaction : reactions_) {
    const PointId point = reading.streams[reaction.stream].point;
    if (reading.capture.points[point].speed_bps != 0)
      reaction.before_bps = std::min(reaction.before_bps, static_cast<double>(lanes.speed_bps(point)));
  }
}

ReactionEvidence RateReaction::evidence_of(const Reaction& reaction, const Reading& reading) {
  constexpr std::uint64_t kFewestWindows = 10;
  // Cut that chance does not make of a paced rate: by a fifth, or several by more than can be measured.
  constexpr double kClearCut = 0.8;
  if (reaction.before_bps > 0 && reaction.first_least_bps > 0 &&
      reaction.first_least_bps < kClearCut * reaction.before_bps)
    return ReactionEvidence::kShown;
  if (reaction.cuts >= kFewestSmallCuts && reaction.cut_sum < (1 - kNoise) * static_cast<double>(reaction.cuts))
    return ReactionEvidence::kShown;
  if (reaction.windows < kFewestWindows) return ReactionEvidence::kFewPackets;
  if (reaction.cnps < kFewestCnps || reaction.told_windows < kFewestTold) return ReactionEvidence::kSmallCut;
  const std::uint64_t speed_bps = reading.capture.points[reading.streams[reaction.stream].point].speed_bps;
  if (speed_bps == 0) return ReactionEvidence::kNoSpeed;
  const double before_share = reaction.before_bps / static_cast<double>(speed_bps);
  return before_share < least_share(reaction) ? ReactionEvidence::kSlow : ReactionEvidence::kShown;
}

// Healthy only where something could have been found; else what most CNPs lacked.
void RateReaction::judge(Findings& findings, const Reading& reading) const {
  std::array<std::uint64_t, 5> cnps{};
  for (const Reaction& reaction : reactions_)
    cnps[static_cast<std::size_t>(evidence_of(reaction, reading))] += reaction.cnps;
  constexpr std::array<std::string_view, 5> kMissing = {
      "no CNP to a sender whose data is in this capture", "too few packets around the CNPs to tell a rate",
      "the file does not say the speed of the port, and no rate falls: a sender far below it has nothing to cut",
      "too few CNPs, too far apart: DCQCN would have cut too little to be seen",
      "the senders are far below the speed of their ports, and their rates do not fall: they may have no more to send"};
  const std::size_t most = static_cast<std::size_t>(std::max_element(cnps.begin() + 1, cnps.end()) - cnps.begin());
  findings.judge("rate-reaction", cnps[0], "CNPs", kMissing[cnps[most] == 0 ? 0 : most]);
}

void RateReaction::finish(Findings& findings, const Reading& reading, const PauseLanes& lanes) {
  keep_nearest(reading, lanes);
  for (Reaction& reaction : reactions_) {
    end_quiet(reaction);
    find_slow(findings, reading, reaction);
  }
  find_deaf(findings, reading, lanes);
  judge(findings, reading);
}

}  // namespace weft::analyze
