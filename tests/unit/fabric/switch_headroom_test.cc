// The smallest headroom with which the real switch loses nothing, found by trying, against the closed form of
// model/headroom.h. The worst case: the queue does not drain, the peer sends frames of one size back to back, and XOFF
// has to wait for the largest frame, which starts some time around the trigger: alignments are searched. The closed
// form has 84 bytes for XOFF and as many for one more pause frame ahead of it. Without that frame a need is computed
// here that leaves it out; with it, a pause of another group, the closed form itself is met.
#include <gtest/gtest.h>

#include "model/headroom.h"
#include "support/switch_bench.h"

namespace weft::fabric {
namespace {

using support::bench_packet;
using support::BenchOptions;
using support::kClass3;
using support::SwitchBench;

struct Worst {
  std::int64_t rate_bps = 100'000'000'000;
  std::uint32_t frame_B = 1086;
  std::uint32_t max_out_B = 4158;
  Time_ps flight_ps = ns(125);
  Time_ps pipeline_ps = ns(345);
  Time_ps response_ps = ns(300);
  std::uint32_t cell_B = 144;
  std::uint32_t cut_through_B = 0;
};

HeadroomPath path_of(const Worst& w) {
  HeadroomPath path;
  path.rate_bps = w.rate_bps;
  path.flight_in_ps = path.flight_out_ps = w.flight_ps;
  path.pipeline_ps = w.pipeline_ps;
  path.response_ps = w.response_ps;
  path.max_out_B = w.max_out_B;
  path.min_lossless_B = path.max_lossless_B = w.frame_B;
  path.cell_B = w.cell_B;
  path.cut_through_B = w.cut_through_B;
  return path;
}

std::uint32_t cells_of(const Worst& w) {
  return (w.frame_B + w.cell_B - 1) / w.cell_B;
}

BenchOptions bench_of(const Worst& w, std::int64_t headroom_B) {
  BenchOptions options;
  options.rates_bps.assign(4, w.rate_bps);
  options.flight_ps = w.flight_ps;
  options.pipeline_ps = w.pipeline_ps;
  options.peer_response_ps = w.response_ps;
  options.cut_through_B = w.cut_through_B;
  options.model.cell_B = w.cell_B;
  options.make_lossless(headroom_B, 4 * cells_of(w) * w.cell_B);  // four frames share, the fifth is the trigger
  options.qos.groups[3].xon_B = 0;
  options.qos.groups[3].xon_offset_B = 100'000'000;
  return options;
}

// Lost packets when the frame that XOFF has to wait for starts `lead_ps` before the trigger is handled. `second_pause`:
// another group of the port, whose only frame leaves by port 3 at that very instant, has to say XON first.
std::uint64_t lost(const Worst& w, std::int64_t headroom_B, Time_ps lead_ps, bool second_pause) {
  BenchOptions options = bench_of(w, headroom_B);
  if (second_pause) {
    options.qos.groups[4] = options.qos.groups[3];
    options.qos.queues[4] = options.qos.queues[3];
    options.qos.groups[4].alpha_exponent = -20;  // its first frame is too much
    options.qos.pfc_receive_mask |= 1u << 4;
  }
  SwitchBench bench(options);
  const Time_ps byte_ps = ps_per_byte(w.rate_bps);
  const Time_ps line_ps = (w.frame_B + 20) * byte_ps;
  const Time_ps start_ps = us(50);
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  const auto count = static_cast<std::uint32_t>(headroom_B / w.frame_B) + 4 + 64;
  bench.peer(0).send(start_ps, bench_packet(2, w.frame_B, 3), count);
  Time_ps trigger_ps = bench.handled_ps(start_ps + 4 * line_ps, w.frame_B);
  bench.peer(1).send(trigger_ps - lead_ps - bench.handled_ps(0, w.max_out_B), bench_packet(0, w.max_out_B, 1));
  if (second_pause) {
    bench.peer(3).send_pause(0, {1u << 4, 0, 0xffff});
    bench.peer(0).send(us(40), bench_packet(3, w.frame_B, 4));
    Time_ps takes_ps = 84 * byte_ps + options.flight_ps + options.switch_response_ps;
    bench.peer(3).send_pause(trigger_ps - takes_ps, {0, 1u << 4, 0});
  }
  bench.run(start_ps + us(3) + 100 * line_ps + static_cast<Time_ps>(headroom_B) * byte_ps);
  EXPECT_EQ(bench.peer(0).pauses.size(), second_pause ? 3U : 1U) << "nothing is repeated within the run";
  EXPECT_TRUE(bench.balances());
  return bench.device().counters(0).drops[static_cast<std::size_t>(Fate::kNoHeadroom)];
}

// The worst over all alignments: XOFF just misses the end of the frame in flight, or just its beginning.
std::uint64_t worst_lost(const Worst& w, std::int64_t headroom_B, bool second_pause) {
  const Time_ps busy_ps = (w.max_out_B + 20) * ps_per_byte(w.rate_bps);
  std::uint64_t worst = 0;
  for (Time_ps lead_ps : {Time_ps{0}, Time_ps{1}, busy_ps / 7, busy_ps / 3, busy_ps / 2, busy_ps - 1, busy_ps})
    worst = std::max(worst, lost(w, headroom_B, lead_ps, second_pause));
  return worst;
}

// In whole cells; `most_B` must be enough.
std::int64_t smallest_headroom_B(const Worst& w, std::int64_t most_B, bool second_pause) {
  std::int64_t low = 0, high = most_B / w.cell_B + 1;  // low loses, high does not
  EXPECT_EQ(worst_lost(w, high * w.cell_B, second_pause), 0U);
  while (high - low > 1) {
    std::int64_t middle = (low + high) / 2;
    (worst_lost(w, middle * w.cell_B, second_pause) == 0 ? high : low) = middle;
  }
  return high * w.cell_B;
}

// One lossless group that has not sent XON before: one pause frame, XOFF itself, instead of the two that the closed
// form allows for. Written out independently of headroom.cc.
std::int64_t one_pause_need_B(const Worst& w) {
  const Time_ps byte_ps = ps_per_byte(w.rate_bps);
  Time_ps window_ps = 2 * w.flight_ps + w.pipeline_ps + w.response_ps + (w.max_out_B + 20 + 84) * byte_ps;
  if (w.cut_through_B != 0 && w.frame_B + 20 > w.cut_through_B)
    window_ps -= (w.frame_B + 20 - w.cut_through_B) * byte_ps;
  std::int64_t frames = window_ps / ((w.frame_B + 20) * byte_ps) + 1;
  return (frames + 1) * cells_of(w) * w.cell_B;
}

const std::vector<Worst>& cases() {
  static const std::vector<Worst> list = [] {
    std::vector<Worst> all;
    all.push_back({});
    for (std::uint32_t frame_B : {64U, 146U, 318U, 2110U, 4158U}) {
      Worst w;
      w.frame_B = frame_B;
      all.push_back(w);
    }
    for (std::int64_t gbps : {25, 200, 400}) {
      Worst w;
      w.rate_bps = gbps * 1'000'000'000;
      w.frame_B = 4158;
      all.push_back(w);
    }
    for (Time_ps response_ps : {ns(0), ns(1000), 394 * 64 * Time_ps{80}}) {
      Worst w;
      w.response_ps = response_ps;
      all.push_back(w);
    }
    Worst far;
    far.flight_ps = us(2);  // 400 m
    far.cell_B = 256;
    all.push_back(far);
    for (std::uint32_t frame_B : {64U, 1086U, 4158U}) {
      Worst cut;
      cut.cut_through_B = 200;
      cut.frame_B = frame_B;
      all.push_back(cut);
    }
    Worst small;
    small.max_out_B = 64;
    all.push_back(small);
    return all;
  }();
  return list;
}

std::string named(const Worst& w) {
  return std::to_string(w.rate_bps / 1'000'000'000) + " Gb/s, frames of " + std::to_string(w.frame_B) + ", other " +
         std::to_string(w.max_out_B) + ", response " + std::to_string(w.response_ps / 1000) + " ns, cut-through " +
         std::to_string(w.cut_through_B);
}

TEST(SwitchHeadroom, EqualsWindowForOnePauseFrame) {
  for (const Worst& w : cases()) {
    std::int64_t formula_B = headroom_need_B(path_of(w), w.frame_B);
    std::int64_t found_B = smallest_headroom_B(w, 2 * formula_B, false);
    EXPECT_EQ(found_B, one_pause_need_B(w)) << named(w);
    EXPECT_LE(found_B, formula_B) << named(w);
    EXPECT_LE(formula_B - found_B, cells_of(w) * w.cell_B) << named(w) << ": at most one frame for the other pause";
  }
}

TEST(SwitchHeadroom, EqualsClosedFormBehindAnotherPause) {
  for (const Worst& w : cases()) {
    std::int64_t formula_B = headroom_need_B(path_of(w), w.frame_B);
    EXPECT_EQ(smallest_headroom_B(w, 2 * formula_B, true), formula_B) << named(w);
  }
}

// A cell less than the closed form loses exactly one frame.
TEST(SwitchHeadroom, OneCellLessDropsFrame) {
  for (const Worst& w : cases()) {
    std::int64_t formula_B = headroom_need_B(path_of(w), w.frame_B);
    EXPECT_EQ(worst_lost(w, formula_B - w.cell_B, true), 1U) << named(w);
  }
}

}  // namespace
}  // namespace weft::fabric
