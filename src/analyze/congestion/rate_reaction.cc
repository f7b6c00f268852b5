#include "analyze/congestion/rate_reaction.h"

#include <algorithm>
#include <cmath>

namespace weft::analyze {
namespace {

// A rate that grows by more than this had been limited by what there was to send.
constexpr double kMoreToSend = 1.1;
// Alpha of ConnectX: g is 5/1024 in each microsecond (DCE_TCP_G 1019, DCE_TCP_RTT 1).
constexpr double kG = 5.0 / 1024;

}  // namespace

// The window is full when a packet comes after its end; what it was is known then.
void RateReaction::close_window(Window& window, const Frame& frame, const PauseLanes& lanes) {
  const std::int64_t length_ns = frame.time_ns - window.start_ns;
  float rate_bps = 0;
  // The packet that ends it starts the next one.
  const std::int64_t gap_ns = std::max<std::int64_t>(window.gap_ns, length_ns - window.last_ns);
  if (window.frames >= kFewestFrames && gap_ns * 2 <= length_ns &&
      !lanes.is_held(frame.point, frame.direction, frame.time_ns, length_ns))
    rate_bps = static_cast<float>(static_cast<double>(window.now_B) * 8e9 / static_cast<double>(length_ns));
  if (window.reaction != 0) {
    Reaction& reaction = reactions_[window.reaction - 1];
    reaction.is_behind_queue = window.has_ce;
    if (rate_bps > 0) see_told(reaction, rate_bps, window.start_ns, frame.time_ns);
    if (rate_bps > 0) see_window(reaction, rate_bps, window.start_ns, frame.time_ns);
    reaction.dose_before_window = reaction.dose;
  }
  window.before_bps = rate_bps;
  window.is_first = window.start_ns < 0;
  window.start_ns = frame.time_ns;
  window.now_B = 0;
  window.frames = 0;
  window.last_ns = window.gap_ns = 0;
}

// Counts packets sent while DCQCN would be far below the speed of the port.
void RateReaction::see_told(Reaction& reaction, double rate_bps, std::int64_t start_ns, std::int64_t end_ns) {
  const bool is_soon = start_ns - reaction.last_cnp_ns < kEpisode_ns;
  if (reaction.episodes == 1 && is_soon && end_ns > reaction.first_cnp.time_ns + kReact_ns &&
      (reaction.first_least_bps <= 0 || rate_bps < reaction.first_least_bps)) {
    reaction.first_least_bps = rate_bps;
  }
  if (!is_soon || reaction.dose_before_window < kFewestDose) return;
  if (reaction.told_since_ns == 0) reaction.told_since_ns = start_ns;
  if (reaction.is_behind_queue && start_ns - reaction.told_since_ns < kQueueDrains_ns) return;
  if (reaction.told_windows++ == 0) reaction.told_from_ns = start_ns;
  const auto length_ns = static_cast<double>(end_ns - start_ns);
  reaction.told_to_ns = end_ns;
  reaction.told_ns += end_ns - start_ns;
  reaction.told_B += rate_bps * length_ns / 8e9;
  reaction.told_allowed_ns += length_ns * std::exp(-reaction.dose_before_window);
}

void RateReaction::add_dose(Reaction& reaction, std::int64_t now_ns) {
  const std::int64_t since_ns = now_ns - reaction.last_cnp_ns;
  if (reaction.last_cnp_ns == 0 || since_ns >= kEpisode_ns) {
    ++reaction.episodes;
    reaction.dose = reaction.dose_before_window = 0;
    reaction.told_since_ns = 0;
  }
  if (reaction.counted_ns != 0 && now_ns - reaction.counted_ns < kReduce_ns) return;
  const double micros = static_cast<double>(now_ns - reaction.counted_ns) / 1000;
  reaction.alpha = reaction.alpha * std::pow(1 - kG, micros) + kG;
  reaction.dose += reaction.alpha / 2;
  reaction.counted_ns = now_ns;
}

void RateReaction::see_window(Reaction& reaction, double rate_bps, std::int64_t start_ns, std::int64_t end_ns) {
  if (start_ns > reaction.measure_from_ns + 2 * kWindow_ns) reaction.measure_from_ns = 0;  // too late to be its effect
  if (reaction.measure_from_ns != 0 && start_ns >= reaction.measure_from_ns && end_ns - start_ns < 5 * kWindow_ns) {
    const double cut = rate_bps / reaction.measure_before_bps;
    if (cut < kMoreToSend) {
      ++reaction.cuts;
      reaction.cut_sum += cut;
    }
    reaction.measure_from_ns = 0;
  }
  if (start_ns - reaction.last_cnp_ns < kFresh_ns) {
    ++reaction.windows;
    reaction.windows_B += rate_bps * static_cast<double>(end_ns - start_ns) / 8e9;
    reaction.windows_ns += end_ns - start_ns;
  }
  if (start_ns < reaction.last_cnp_ns + kReact_ns) return;
  reaction.quiet_ns += end_ns - start_ns;
  if (reaction.quiet_windows++ == 0) {
    reaction.quiet_from_ns = start_ns;
    reaction.quiet_first_bps = reaction.quiet_least_bps = reaction.quiet_most_bps = rate_bps;
  }
  reaction.quiet_last_bps = rate_bps;
  reaction.quiet_least_bps = std::min(reaction.quiet_least_bps, rate_bps);
  reaction.quiet_most_bps = std::max(reaction.quiet_most_bps, rate_bps);
  const std::int64_t quiet_ns = end_ns - reaction.quiet_from_ns;
  if (reaction.stall_is_judged || quiet_ns < kQuiet_ns) return;
  reaction.stall_is_judged = true;
  if (!is_steady(reaction) || reaction.quiet_ns * 10 < quiet_ns * 8) return;
  const double rise_bps = rate_bps - reaction.quiet_first_bps;
  if (reaction.stall_ns != 0 && rise_bps >= reaction.stall_last_bps - reaction.stall_first_bps) return;
  reaction.stall_first_bps = reaction.quiet_first_bps;
  reaction.stall_last_bps = rate_bps;
  reaction.stall_ns = quiet_ns;
}

// A paced sender rises: nothing is far below the beginning, nor far above the end.
bool RateReaction::is_steady(const Reaction& reaction) {
  return reaction.quiet_least_bps > 0.8 * reaction.quiet_first_bps &&
         reaction.quiet_most_bps < 1.2 * reaction.quiet_last_bps;
}

void RateReaction::end_quiet(Reaction& reaction) {
  reaction.quiet_windows = 0;
  reaction.stall_is_judged = false;
  reaction.quiet_ns = 0;
}

void RateReaction::see_nak(StreamId id, const Streams& streams) {
  const StreamId data = streams[id].reverse;
  if (data != kNone && data < windows_.size() && windows_[data].reaction != 0)
    reactions_[windows_[data].reaction - 1].has_loss = true;
}

// Rate of the window before, unless that is long ago; at the beginning of a stream, of what there is.
double RateReaction::rate_before(const Window& window, std::int64_t now_ns) {
  const std::int64_t open_ns = now_ns - window.start_ns;
  if (open_ns >= 5 * kWindow_ns) return 0;
  if (window.before_bps > 0) return window.before_bps;
  if (!window.is_first || window.frames < kFewestFrames / 2 || window.last_ns == 0) return 0;
  // From the first packet to the newest, whose own time is not over.
  const double sent_B = static_cast<double>(window.now_B) * (window.frames - 1) / window.frames;
  return sent_B * 8e9 / static_cast<double>(window.last_ns);
}

void RateReaction::see_cnp(const Frame& frame, StreamId id, const Streams& streams) {
  // It goes to the sender's queue pair; the data goes the other way.
  StreamId data = streams[id].reverse;
  if (data == kNone) {
    data = streams.only_between(frame.point, frame.dst, frame.src);
    if (data != kNone && streams[data].reverse != kNone) data = kNone;  // answered to another queue pair
  }
  if (data == kNone || data >= windows_.size()) {
    ++unpaired_cnps_;
    return;
  }
  Window& window = windows_[data];
  if (window.reaction == 0) {
    if (reactions_.size() == kMostReactions) return;
    Reaction reaction;
    reaction.stream = data;
    reaction.before_bps = rate_before(window, frame.time_ns);
    reactions_.push_back(reaction);
    window.reaction = static_cast<std::uint32_t>(reactions_.size());
  }
  Reaction& reaction = reactions_[window.reaction - 1];
  end_quiet(reaction);
  if (reaction.cnps++ == 0) reaction.first_cnp = {frame.number, frame.time_ns, frame.point, "the first CNP"};
  const bool is_alone = reaction.last_cnp_ns == 0 || frame.time_ns - reaction.last_cnp_ns >= 2 * kWindow_ns;
  if (reaction.told_windows > 0) ++reaction.told_cnps;
  add_dose(reaction, frame.time_ns);
  reaction.last_cnp_ns = frame.time_ns;
  const double before_bps = rate_before(window, frame.time_ns);
  if (before_bps > 0 && is_alone) {
    reaction.measure_from_ns = frame.time_ns + kReact_ns;
    reaction.measure_before_bps = before_bps;
  } else {
    reaction.measure_from_ns = 0;
  }
}

}  // namespace weft::analyze
