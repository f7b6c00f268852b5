#include "model/headroom.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace weft::fabric {
namespace {

constexpr std::int64_t kGbps = 1'000'000'000;

// sonic-net/sonic-buildimage 086b03bd, pg_profile_lookup.ini: Gb/s, m, size, xon, xoff.
struct Row {
  std::int64_t rate_Gbps, length_m, size_B, xon_B, xoff_B;
};
// device/mellanox/x86_64-mlnx_msn2700-r0/ACS-MSN2700
constexpr Row kSn2700[] = {
    {10, 5, 49152, 19456, 29696},   {25, 5, 49152, 19456, 29696},   {40, 5, 49152, 19456, 29696},
    {50, 5, 49152, 19456, 29696},   {100, 5, 50176, 19456, 30720},  {10, 40, 49152, 19456, 29696},
    {25, 40, 51200, 19456, 31744},  {40, 40, 52224, 19456, 32768},  {50, 40, 53248, 19456, 33792},
    {100, 40, 58368, 19456, 38912}, {10, 300, 56320, 19456, 36864}, {25, 300, 67584, 19456, 48128},
    {40, 300, 78848, 19456, 59392}, {50, 300, 86016, 19456, 66560}, {100, 300, 123904, 19456, 104448},
};
// device/mellanox/x86_64-mlnx_msn3700-r0/ACS-MSN3700
constexpr Row kSn3700[] = {
    {10, 5, 52224, 19456, 32768},   {25, 5, 52224, 19456, 32768},      {40, 5, 53248, 19456, 33792},
    {50, 5, 53248, 19456, 33792},   {100, 5, 53248, 19456, 33792},     {200, 5, 55296, 19456, 35840},
    {10, 40, 53248, 19456, 33792},  {25, 40, 55296, 19456, 35840},     {40, 40, 57344, 19456, 37888},
    {50, 40, 58368, 19456, 38912},  {100, 40, 63488, 19456, 44032},    {200, 40, 74752, 19456, 55296},
    {10, 300, 60416, 19456, 40960}, {25, 300, 73728, 19456, 54272},    {40, 300, 86016, 19456, 66560},
    {50, 300, 95232, 19456, 75776}, {100, 300, 137216, 19456, 117760}, {200, 300, 223232, 19456, 203776},
};
// device/mellanox/x86_64-nvidia_sn5600-r0/ACS-SN5600
constexpr Row kSn5600[] = {
    {10, 5, 64512, 19456, 45056},      {25, 5, 67584, 19456, 48128},      {40, 5, 75776, 19456, 57344},
    {50, 5, 82944, 19456, 63488},      {100, 5, 133120, 19456, 113664},   {200, 5, 150528, 19456, 131072},
    {400, 5, 250880, 19456, 231424},   {800, 5, 304128, 38912, 257024},   {10, 40, 65536, 19456, 46080},
    {25, 40, 71680, 19456, 52224},     {40, 40, 81920, 19456, 62464},     {50, 40, 89088, 19456, 69632},
    {100, 40, 146432, 19456, 126976},  {200, 40, 177152, 19456, 157696},  {400, 40, 303104, 19456, 283648},
    {800, 40, 410624, 38912, 362496},  {10, 300, 75776, 19456, 56320},    {25, 300, 96256, 19456, 76800},
    {40, 300, 120832, 19456, 101376},  {50, 300, 138240, 19456, 118784},  {100, 300, 244736, 19456, 225280},
    {200, 300, 374784, 19456, 355328}, {400, 300, 697344, 19456, 677888}, {800, 300, 1198080, 38912, 1150976},
};

SwitchModel spectrum(std::uint32_t cell_B, std::int64_t top_Gbps, std::uint32_t lanes) {
  SwitchModel model;
  model.ports = {{32, {top_Gbps * kGbps}, lanes}};
  model.cell_B = cell_B;
  model.headroom_pipeline_B = 19456;
  return model;
}

SwitchModel spectrum4() {
  SwitchModel model = spectrum(192, 800, 8);
  model.headroom_pipeline_B = 19405;
  model.headroom_pause_quanta = true;
  model.headroom_tile_ps = ns(120);
  return model;
}

void expect_rows(const SwitchModel& model, std::span<const Row> rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(std::to_string(row.rate_Gbps) + "G " + std::to_string(row.length_m) + "m");
    const SonicHeadroom got = spectrum_headroom(model, row.rate_Gbps * kGbps, row.length_m * 1000);
    EXPECT_EQ(got.size_B, row.size_B);
    EXPECT_EQ(got.xon_B, row.xon_B);
    EXPECT_EQ(got.xoff_B, row.xoff_B);
  }
}

TEST(Headroom, ReproducesTableOfSn2700) {
  ASSERT_EQ(std::size(kSn2700), 15u);
  expect_rows(spectrum(96, 100, 4), kSn2700);
}

TEST(Headroom, ReproducesTableOfSn3700) {
  ASSERT_EQ(std::size(kSn3700), 18u);
  expect_rows(spectrum(144, 200, 4), kSn3700);
}

TEST(Headroom, ReproducesTableOfSn5600) {
  ASSERT_EQ(std::size(kSn5600), 24u);
  expect_rows(spectrum4(), kSn5600);
}

TEST(Headroom, AutoUsesVendorConfiguration) {
  EXPECT_EQ(auto_headroom_B(spectrum(144, 200, 4), 100 * kGbps, 5000), 33792);
  SwitchModel fixed;
  fixed.headroom_method = HeadroomMethod::kFixed;
  fixed.headroom_fixed_B = 160000;
  EXPECT_EQ(auto_headroom_B(fixed, 100 * kGbps, 5000), 160000);
  EXPECT_EQ(auto_headroom_B(fixed, 25 * kGbps, 300'000), 160000);
}

// 802.3 31B.3.7: 394 quanta of 512 bits at 100G are 25,216 bytes, 80 ps each.
TEST(Headroom, LongestResponseMatchesStandard) {
  EXPECT_EQ(pause_response_quanta(100 * kGbps), 394);
  EXPECT_EQ(pause_response_max_ps(100 * kGbps), 25216 * 80);
  EXPECT_EQ(pause_response_max_ps(400 * kGbps), 905 * 64 * 20);
  EXPECT_EQ(pause_response_quanta(56 * kGbps), std::nullopt);
}

HeadroomPath path_100g() {
  HeadroomPath path;
  path.rate_bps = 100 * kGbps;
  path.flight_in_ps = ns(200);
  path.flight_out_ps = ns(200);
  path.pipeline_ps = ns(300);
  path.response_ps = ns(300);
  path.max_out_B = 4184;
  path.max_lossless_B = 4184;
  path.cell_B = 144;
  return path;
}

// By hand: 1 us of flights, pipeline and response is 12500 bytes at 100G; XOFF waits for 4204 and an XON of 84 and
// takes 84 itself: 16872. Frames of 4204 start at 0, 4204, 8408, 12612 and 16816. 30 cells each.
TEST(Headroom, UniformFramesAreCounted) {
  HeadroomPath path = path_100g();
  EXPECT_EQ(headroom_window_ps(path), 16872 * 80);
  path.trigger_in_headroom = false;
  path.response_ps -= 56 * 80;  // exactly 16816: the fifth starts at the last instant
  EXPECT_EQ(headroom_need_B(path, 4184), 5 * 30 * 144);
  path.response_ps -= 1;
  EXPECT_EQ(headroom_need_B(path, 4184), 4 * 30 * 144);
  path.trigger_in_headroom = true;
  EXPECT_EQ(headroom_need_B(path, 4184), 5 * 30 * 144);
}

// 145-byte frames take 288 bytes of buffer for 165 of line: 16872 * 2 / 165 = 204 cells, and two frames of 30 cells.
TEST(Headroom, WorstFramesSpillIntoSecondCell) {
  EXPECT_EQ(headroom_need_B(path_100g()), (204 + 30 + 30) * 144);
}

// A cell of 256 bytes holds the smallest frame and wastes 192: 16872 / 84 = 200 cells.
TEST(Headroom, WorstFramesAreSmallestWithLargeCells) {
  HeadroomPath path = path_100g();
  path.cell_B = 256;
  EXPECT_EQ(headroom_need_B(path), (200 + 17 + 17) * 256);
}

TEST(Headroom, CutThroughDecidesEarlier) {
  HeadroomPath path = path_100g();
  path.trigger_in_headroom = false;
  path.cut_through_B = 84;
  // The trigger's other 4120 bytes are on the line already: 12752 is three frames and the start of a fourth.
  EXPECT_EQ(headroom_need_B(path, 4184), 4 * 30 * 144);
  path.response_ps -= ns(100);  // 11502: two frames and the start of a third
  EXPECT_EQ(headroom_need_B(path, 4184), 3 * 30 * 144);
}

TEST(Headroom, IsZeroIfPeerStopsWithinTriggerFrame) {
  HeadroomPath path;
  path.rate_bps = 10 * kGbps;
  path.max_out_B = 64;
  path.max_lossless_B = 9000;
  path.cell_B = 96;
  path.cut_through_B = 64;
  path.trigger_in_headroom = false;
  EXPECT_EQ(headroom_need_B(path, 9000), 0);
}

// The SONiC row for 100G and 5 m is 33792 bytes. It assumes 1 KiB frames and a peer that answers in 3.8 KiB of line
// time: a peer that uses all of the standard's 25,216 bytes overruns it, one that answers in 300 ns does not.
TEST(Headroom, SonicRowFallsShortOfStandardResponse) {
  const std::int64_t sonic_B = auto_headroom_B(spectrum(144, 200, 4), 100 * kGbps, 5000);
  HeadroomPath path = path_100g();
  path.flight_in_ps = path.flight_out_ps = ns(125);
  path.max_out_B = 1100;
  path.min_lossless_B = path.max_lossless_B = 1100;
  EXPECT_EQ(headroom_shortfall_B(path, sonic_B), 0);
  path.response_ps = *pause_response_max_ps(100 * kGbps);
  EXPECT_GT(headroom_shortfall_B(path, sonic_B), 0);
  EXPECT_EQ(headroom_shortfall_B(path, sonic_B), headroom_need_B(path) - sonic_B);
}

// One XOFF, event by event: the peer sends `frames` back to back from time 0 and again from the start of the list, the
// first of them triggers when it is handled, a frame of max_out_B has just started here, and behind it wait
// this group's XON and a pause of every other group.
std::int64_t arrived_B(const HeadroomPath& path, const std::vector<std::int64_t>& frames) {
  const Time_ps byte_ps = ps_per_byte(path.rate_bps);
  const auto cells_B = [&](std::int64_t frame_B) {
    return (frame_B / path.cell_B + (frame_B % path.cell_B != 0 ? 1 : 0)) * path.cell_B;
  };
  const auto handled_ps = [&](Time_ps start_ps, std::int64_t frame_B) {
    const std::int64_t line_B = frame_B + 20;
    const std::int64_t seen_B = path.cut_through_B == 0 ? line_B : std::min(line_B, path.cut_through_B);
    return start_ps + seen_B * byte_ps + path.flight_in_ps + path.pipeline_ps;
  };
  const Time_ps decided_ps = handled_ps(0, frames[0]);
  Time_ps free_ps = decided_ps + (path.max_out_B + 20) * byte_ps;
  free_ps += 84 * byte_ps;                                                           // XON
  for (std::uint32_t i = 1; i < path.lossless_groups; ++i) free_ps += 84 * byte_ps;  // the others
  free_ps += 84 * byte_ps;                                                           // XOFF
  const Time_ps silent_ps = free_ps + path.flight_out_ps + path.response_ps;
  std::int64_t total_B = path.trigger_in_headroom ? cells_B(frames[0]) : 0;
  Time_ps start_ps = (frames[0] + 20) * byte_ps;
  for (std::size_t i = 1; start_ps <= silent_ps; ++i) {
    const std::int64_t frame_B = frames[i % frames.size()];
    if (handled_ps(start_ps, frame_B) > decided_ps) total_B += cells_B(frame_B);
    start_ps += (frame_B + 20) * byte_ps;
  }
  return total_B;
}

HeadroomPath arbitrary_path() {
  HeadroomPath path;
  path.rate_bps = *rc::gen::element<std::int64_t>(10, 25, 100, 400, 800) * kGbps;
  path.flight_in_ps = *rc::gen::inRange<Time_ps>(0, us(3));
  path.flight_out_ps = *rc::gen::inRange<Time_ps>(0, us(3));
  path.pipeline_ps = *rc::gen::inRange<Time_ps>(0, us(1));
  path.response_ps = *rc::gen::inRange<Time_ps>(0, us(2));
  path.max_out_B = *rc::gen::inRange<std::int64_t>(64, 9216);
  path.min_lossless_B = *rc::gen::inRange<std::int64_t>(64, 300);
  path.max_lossless_B = *rc::gen::inRange<std::int64_t>(path.min_lossless_B, 9216);
  path.cell_B = *rc::gen::element<std::int64_t>(1, 16, 80, 96, 144, 192, 208, 254, 256, 4096);
  path.cut_through_B = *rc::gen::element<std::int64_t>(0, 64, 84);
  path.lossless_groups = *rc::gen::inRange<std::uint32_t>(1, 9);
  path.trigger_in_headroom = *rc::gen::arbitrary<bool>();
  return path;
}

RC_GTEST_PROP(Headroom, NoMixOfFramesNeedsMore, ()) {
  const HeadroomPath path = arbitrary_path();
  const auto sizes = rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(path.min_lossless_B, path.max_lossless_B + 1),
      rc::gen::element(path.min_lossless_B, path.max_lossless_B,
                       std::min((path.min_lossless_B / path.cell_B + 1) * path.cell_B + 1, path.max_lossless_B)));
  const auto frames = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(sizes));
  RC_ASSERT(arrived_B(path, frames) <= headroom_need_B(path));
}

RC_GTEST_PROP(Headroom, UniformFramesNeedExactResult, ()) {
  HeadroomPath path = arbitrary_path();
  path.min_lossless_B = path.max_lossless_B;
  RC_ASSERT(arrived_B(path, {path.max_lossless_B}) == headroom_need_B(path, path.max_lossless_B));
  RC_ASSERT(headroom_need_B(path, path.max_lossless_B) <= headroom_need_B(path));
}

}  // namespace
}  // namespace weft::fabric
