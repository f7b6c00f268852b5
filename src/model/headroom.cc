#include "model/headroom.h"

#include <algorithm>

#include "base/check.h"
#include "spec/line_bytes.h"

namespace weft::fabric {
namespace {

constexpr std::int64_t kGbps = 1'000'000'000;
constexpr std::int64_t kQuantum_B = 64;  // 512 bit times
constexpr std::int64_t kMinFrame_B = 64;
constexpr std::int64_t kPreambleAndGap_B = 20;
constexpr std::int64_t kKiB = 1024;

// SONiC's constants for every Spectrum (asic_table.j2, buffer_headroom_mellanox.lua).
constexpr double kMacPhy_B = 0.8 * kKiB;
constexpr double kPeerResponse_B = 3.8 * kKiB;
constexpr double kSpeedOfLight_m_per_s = 1.98e8;

struct PauseResponse {
  std::int64_t rate_bps;
  std::int64_t quanta;
};
constexpr PauseResponse kPauseResponses[] = {{800 * kGbps, 905}, {400 * kGbps, 905}, {200 * kGbps, 453},
                                             {100 * kGbps, 394}, {50 * kGbps, 147},  {40 * kGbps, 118},
                                             {25 * kGbps, 80},   {10 * kGbps, 67},   {kGbps, 2}};

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t round_up_KiB(double value_B) {
  const auto whole_B = static_cast<std::int64_t>(value_B);
  return round_up(whole_B + (static_cast<double>(whole_B) < value_B ? 1 : 0), kKiB);
}

// Buffer bytes for each byte of the worst small packets: one cell each, or just over one.
double cell_occupancy(std::uint32_t cell_B) {
  const double cell = cell_B;
  return cell_B > 2 * kMinFrame_B ? cell / kMinFrame_B : 2 * cell / (1 + cell);
}

bool has_eight_lanes(const SwitchModel& model, std::int64_t rate_bps) {
  return std::any_of(model.ports.begin(), model.ports.end(), [&](const FrontPorts& ports) {
    return ports.lanes == 8 && !ports.rates_bps.empty() && ports.rates_bps.front() == rate_bps;
  });
}

// The frame size with the most buffer per line byte. For a number of cells it is the smallest frame that needs them,
// and from there the ratio only falls with their number (cells above 20 bytes) or only rises: so the first two or the
// last.
std::int64_t worst_frame_B(const HeadroomPath& path) {
  std::int64_t worst_B = path.min_lossless_B;
  for (const std::int64_t frame_B :
       {round_up(path.min_lossless_B, path.cell_B) + 1, (path.max_lossless_B - 1) / path.cell_B * path.cell_B + 1}) {
    if (frame_B < path.min_lossless_B || frame_B > path.max_lossless_B) continue;
    if (round_up(frame_B, path.cell_B) * (worst_B + kPreambleAndGap_B) >
        round_up(worst_B, path.cell_B) * (frame_B + kPreambleAndGap_B)) {
      worst_B = frame_B;
    }
  }
  return worst_B;
}

// The window after a trigger of `frame_B` bytes.
Time_ps window_ps(const HeadroomPath& path, std::int64_t frame_B) {
  const Time_ps byte_ps = ps_per_byte(path.rate_bps);
  const std::int64_t pauses = path.lossless_groups + std::int64_t{1};  // XOFF last; this group's XON among them
  const std::int64_t xoff_line_B = path.max_out_B + kPreambleAndGap_B + pauses * kMinLine_B;
  const std::int64_t still_to_come_B =
      path.cut_through_B == 0 ? 0 : std::max<std::int64_t>(frame_B + kPreambleAndGap_B - path.cut_through_B, 0);
  return path.flight_in_ps + path.pipeline_ps + path.flight_out_ps + path.response_ps +
         (xoff_line_B - still_to_come_B) * byte_ps;
}

std::int64_t trigger_B(const HeadroomPath& path, std::int64_t frame_B) {
  return path.trigger_in_headroom ? round_up(frame_B, path.cell_B) : 0;
}

}  // namespace

std::optional<std::int64_t> pause_response_quanta(std::int64_t rate_bps) {
  for (const PauseResponse& row : kPauseResponses) {
    if (row.rate_bps == rate_bps) return row.quanta;
  }
  return std::nullopt;
}

std::optional<Time_ps> pause_response_max_ps(std::int64_t rate_bps) {
  const auto quanta = pause_response_quanta(rate_bps);
  if (!quanta) return std::nullopt;
  return *quanta * kQuantum_B * ps_per_byte(rate_bps);
}

SonicHeadroom spectrum_headroom(const SwitchModel& model, std::int64_t rate_bps, std::int64_t length_mm,
                                std::int64_t mtu_B, std::int64_t lossless_mtu_B) {
  const double rate = static_cast<double>(rate_bps);
  const double cable_B = 2 * (static_cast<double>(length_mm) / 1000) * rate / kSpeedOfLight_m_per_s / 8;
  const auto quanta = model.headroom_pause_quanta ? pause_response_quanta(rate_bps) : std::nullopt;
  const double peer_B = quanta ? static_cast<double>(*quanta * kQuantum_B) : kPeerResponse_B;
  const double tile_B = static_cast<double>(model.headroom_tile_ps) * 1e-12 * rate / 8;
  const double late_B = static_cast<double>(mtu_B) + cable_B + kMacPhy_B + peer_B + tile_B;
  const double xoff_B = static_cast<double>(lossless_mtu_B) + late_B * cell_occupancy(model.cell_B);
  const bool eight_lanes = has_eight_lanes(model, rate_bps);
  const double pipeline_B = static_cast<double>(model.headroom_pipeline_B * (eight_lanes ? 2 : 1));
  const double overhead_B = eight_lanes ? static_cast<double>(mtu_B) : 0;
  return {round_up_KiB(pipeline_B + xoff_B + overhead_B), round_up_KiB(pipeline_B), round_up_KiB(xoff_B)};
}

std::int64_t auto_headroom_B(const SwitchModel& model, std::int64_t rate_bps, std::int64_t length_mm) {
  if (model.headroom_method == HeadroomMethod::kFixed) return model.headroom_fixed_B;
  return spectrum_headroom(model, rate_bps, length_mm).xoff_B;
}

Time_ps headroom_window_ps(const HeadroomPath& path) {
  return window_ps(path, path.min_lossless_B);
}

std::int64_t headroom_need_B(const HeadroomPath& path, std::int64_t frame_B) {
  WEFT_CHECK(path.cell_B > 0 && frame_B > 0, "headroom of frames or cells without size");
  const Time_ps frame_ps = (frame_B + kPreambleAndGap_B) * ps_per_byte(path.rate_bps);
  const Time_ps open_ps = window_ps(path, frame_B);
  const std::int64_t frames = open_ps < 0 ? 0 : open_ps / frame_ps + 1;  // below 0: silent before the trigger's end
  return frames * round_up(frame_B, path.cell_B) + trigger_B(path, frame_B);
}

std::int64_t headroom_need_B(const HeadroomPath& path) {
  WEFT_CHECK(path.cell_B > 0 && path.min_lossless_B > 0 && path.max_lossless_B >= path.min_lossless_B,
             "headroom of frames or cells without size");
  const std::int64_t worst_B = worst_frame_B(path);
  const Time_ps worst_ps = (worst_B + kPreambleAndGap_B) * ps_per_byte(path.rate_bps);
  const std::int64_t cells = headroom_window_ps(path) * (round_up(worst_B, path.cell_B) / path.cell_B) / worst_ps;
  return cells * path.cell_B + round_up(path.max_lossless_B, path.cell_B) + trigger_B(path, path.max_lossless_B);
}

std::int64_t headroom_shortfall_B(const HeadroomPath& path, std::int64_t configured_B) {
  return std::max<std::int64_t>(headroom_need_B(path) - configured_B, 0);
}

}  // namespace weft::fabric
