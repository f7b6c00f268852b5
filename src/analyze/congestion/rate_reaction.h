// Check 15, the reaction point: what a sender does when a CNP comes (DCQCN, SIGCOMM'15, section 3). Rates are counted
// in windows of 20 us or more; one in which the port was paused, or silent for half of it, is left out. Only
// streams that got a CNP have more than three words of state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/pauses/lanes.h"
#include "analyze/streams/stream_marks.h"

namespace weft::analyze {

// Reaction of one stream of data whose sender got CNPs.
struct Reaction {
  StreamId stream = 0;
  std::uint64_t cnps = 0;
  Evidence first_cnp{};
  std::int64_t last_cnp_ns = 0;
  double before_bps = 0;  // rate before the first CNP; 0: not known
  bool has_loss = false;  // NAKs come too: the rate is that of its recovery
  // An episode: CNPs less than kEpisode_ns apart, so that no timer raises the rate between them. Dose: the sum of
  // alpha / 2, which is what DCQCN would have cut by as a logarithm; alpha starts at 0, so it is never more than that.
  std::uint64_t episodes = 0;
  double alpha = 0, dose = 0, dose_before_window = 0;
  std::int64_t counted_ns = 0;  // last CNP that counted
  // Windows of episodes in which the dose was kFewestDose or more.
  std::uint64_t told_windows = 0;
  double told_B = 0, told_allowed_ns = 0;  // allowed: their time by the share of the port's speed that DCQCN leaves
  std::int64_t told_ns = 0, told_from_ns = 0, told_to_ns = 0, told_since_ns = 0;
  std::uint64_t told_cnps = 0;   // since told_from_ns
  bool is_behind_queue = false;  // its data is marked already here: a queue sends on what came before
  double first_least_bps = 0;    // of the first episode
  // Cuts: the rate after a CNP that came alone over the rate before it.
  std::uint64_t cuts = 0;
  double cut_sum = 0;
  // Waiting for the window after a CNP; 0: not.
  std::int64_t measure_from_ns = 0;
  double measure_before_bps = 0;
  // Windows while CNPs come.
  std::uint64_t windows = 0;
  double windows_B = 0;
  std::int64_t windows_ns = 0;
  // Quiet: windows since the last CNP, in two halves for the slope.
  std::int64_t quiet_from_ns = 0;
  double quiet_first_bps = 0, quiet_last_bps = 0, quiet_least_bps = 0, quiet_most_bps = 0;
  std::uint64_t quiet_windows = 0;
  std::int64_t quiet_ns = 0;  // in these windows
  // The first kQuiet_ns of a quiet time, where the rate rose least.
  double stall_first_bps = 0, stall_last_bps = 0;
  std::int64_t stall_ns = 0;
  bool stall_is_judged = false;  // of this quiet time
};

// Whether a stream shows what its sender does with CNPs.
enum class ReactionEvidence : std::uint8_t {
  kShown,       // it slowed down, or had to and could be seen not to
  kFewPackets,  // no rate around the CNPs
  kNoSpeed,     // the file does not say the speed of the port: a sender far below it has nothing to cut
  kSmallCut,    // DCQCN would have cut too little to be seen
  kSlow,        // it is slow by itself, and CNPs are rare: nothing has to fall
};

class RateReaction {
 public:
  void see(const Frame& frame, StreamId id, const Streams& streams, const PauseLanes& lanes) {
    if (frame.payload_B > 0) {
      if (id >= windows_.size()) windows_.resize(id + 1);
      Window& window = windows_[id];
      const std::int64_t open_ns = frame.time_ns - window.start_ns;
      if (open_ns >= kWindow_ns && (window.frames >= kFewestFrames || open_ns >= kLongestWindow_ns)) {
        close_window(window, frame, lanes);
      } else {
        const auto now_ns = static_cast<std::uint32_t>(std::max<std::int64_t>(open_ns, window.last_ns));
        window.gap_ns = std::max(window.gap_ns, now_ns - window.last_ns);
        window.last_ns = now_ns;
      }
      window.now_B += frame.wire_B + 24;
      window.has_ce |= frame.ce();
      ++window.frames;
    } else if (frame.is_cnp()) {
      see_cnp(frame, id, streams);
    } else if (frame.has_aeth && frame.syndrome >> 5 == 3) {
      see_nak(id, streams);
    }
  }
  void finish(Findings& findings, const Reading& reading, const PauseLanes& lanes);
  const std::vector<Reaction>& reactions() const { return reactions_; }

  // A window lasts until it has kFewestFrames, but not for ever.
  static constexpr std::int64_t kWindow_ns = 20'000, kLongestWindow_ns = 500'000;
  static constexpr std::uint16_t kFewestFrames = 8;  // of a window, to be a rate
  static constexpr std::int64_t kReact_ns = 10'000;  // a NIC may take so long to act on a CNP
  static constexpr std::int64_t kFresh_ns = 500'000;
  static constexpr std::uint64_t kFewestCnps = 10;
  static constexpr std::int64_t kEpisode_ns = 100'000;  // a third of RPG_TIME_RESET
  static constexpr std::int64_t kReduce_ns = 4'000;     // a NIC cuts once in this time (RPG rate_reduce_monitor_period)
  // DCQCN leaves half of the rate (the factor is e to the minus dose).
  static constexpr double kFewestDose = 0.7;
  static constexpr std::int64_t kDense_ns = 25'000;  // between CNPs: half of what any NIC waits before it raises a rate
  static constexpr std::int64_t kQueueDrains_ns = 1'000'000;
  static constexpr std::int64_t kQuiet_ns = 5'000'000;
  static constexpr double kSlowReturn_s = 20;
  static constexpr std::size_t kMostReactions = 16'384;

 private:
  struct Window {
    std::int64_t start_ns = INT64_MIN / 2;
    std::uint32_t now_B = 0;
    float before_bps = 0;                   // of the window before; 0: too few packets, a gap, or a pause
    std::uint32_t reaction = 0;             // + 1; 0: none
    std::uint32_t last_ns = 0, gap_ns = 0;  // from its start to the newest packet; longest time without one
    std::uint16_t frames = 0;
    bool is_first = false;  // of the stream
    bool has_ce = false;    // the stream
  };
  void close_window(Window& window, const Frame& frame, const PauseLanes& lanes);
  void see_window(Reaction& reaction, double rate_bps, std::int64_t start_ns, std::int64_t end_ns);
  void see_told(Reaction& reaction, double rate_bps, std::int64_t start_ns, std::int64_t end_ns);
  static void add_dose(Reaction& reaction, std::int64_t now_ns);
  void see_cnp(const Frame& frame, StreamId id, const Streams& streams);
  void keep_nearest(const Reading& reading, const PauseLanes& lanes);
  void see_nak(StreamId id, const Streams& streams);
  static bool is_steady(const Reaction& reaction);
  // Share of the port's speed below which a sender is not told apart from one that obeys.
  static double least_share(const Reaction& reaction);
  static double rate_before(const Window& window, std::int64_t now_ns);
  static void end_quiet(Reaction& reaction);
  void find_deaf(Findings& findings, const Reading& reading, const PauseLanes& lanes) const;
  static ReactionEvidence evidence_of(const Reaction& reaction, const Reading& reading);
  void judge(Findings& findings, const Reading& reading) const;
  void find_slow(Findings& findings, const Reading& reading, const Reaction& reaction) const;

  std::vector<Window> windows_;
  std::vector<Reaction> reactions_;
  std::uint64_t unpaired_cnps_ = 0;
};

}  // namespace weft::analyze
