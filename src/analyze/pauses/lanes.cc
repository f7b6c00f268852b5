#include "analyze/pauses/lanes.h"

#include <algorithm>
#include <array>

namespace weft::analyze {
namespace {

constexpr std::uint64_t kAssumedSpeed_bps = 100'000'000'000;
constexpr std::uint32_t kSpeedWindow_frames = 16;
// The queue that a pause has built can make a switch stop its peers a little after it is over.
constexpr std::int64_t kFilled_ps = 100'000'000;

constexpr std::size_t index(Direction direction) {
  return static_cast<std::size_t>(direction);
}

bool is_run_over(const PauseRun& run, std::int64_t now_ps) {
  return run.xoffs == 0 || run.paused_ps < (now_ps - run.start_ps) / 100 * 99;
}

}  // namespace

std::size_t pause_class_of(std::uint8_t dscp, int pcp) {
  if (pcp >= 0) return static_cast<std::size_t>(pcp);
  if (dscp == 3 || dscp == 4) return dscp;
  return dscp >> 3;
}

Direction PauseLanes::held_direction(const PauseLane& lane) {
  if (lane.side == LaneSide::kByAddress) return Direction::kUnknown;
  return lane.side == LaneSide::kStopsPort ? Direction::kOut : Direction::kIn;
}

void PauseLanes::grow(PointId point) {
  while (at_.size() <= point) {
    AtPoint at;
    at.measures_speed = points_[at_.size()].speed_bps == 0;
    at_.push_back(at);
  }
}

std::uint32_t PauseLanes::node_of(PointId point) {
  while (node_of_point_.size() <= point) {
    const CapturePoint& at = points_[node_of_point_.size()];
    const std::size_t colon = at.name.rfind(':');
    // A point that is not named NODE:PORT is a node of its own.
    const std::string key =
        colon == std::string::npos ? "\n" + std::to_string(node_of_point_.size()) : at.name.substr(0, colon);
    node_of_point_.push_back(nodes_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size())).first->second);
  }
  return node_of_point_[point];
}

std::uint64_t PauseLanes::speed_bps(PointId point) const {
  if (points_[point].speed_bps != 0) return points_[point].speed_bps;
  constexpr std::array<std::uint64_t, 9> kGbps = {1, 10, 25, 40, 50, 100, 200, 400, 800};
  const std::uint64_t fastest_bps = point < at_.size() ? at_[point].fastest_bps : 0;
  if (fastest_bps == 0) return kAssumedSpeed_bps;
  for (const std::uint64_t gbps : kGbps)
    if (fastest_bps <= gbps * 1'020'000'000) return gbps * 1'000'000'000;
  return kAssumedSpeed_bps;
}

void PauseLanes::set_speed(PauseLane& lane) {
  const auto speed_bps = static_cast<std::int64_t>(this->speed_bps(lane.point));
  lane.speed_is_known = points_[lane.point].speed_bps != 0;
  lane.quantum_fs = 512 * 1'000'000'000'000'000 / speed_bps;
  lane.allowance_ps = response_allowance_ps(static_cast<std::uint64_t>(speed_bps), lane.side != LaneSide::kStopsPort);
}

// The fastest that 16 frames of one direction followed each other.
void PauseLanes::measure(const Frame& frame) {
  AtPoint& at = at_[frame.point];
  const std::size_t d = index(frame.direction);
  if (at.window_frames[d]++ == 0) {
    at.window_ns[d] = frame.time_ns;
    at.bytes[d] = 0;
  }
  if (at.window_frames[d] > kSpeedWindow_frames) {
    const std::int64_t time_ns = frame.time_ns - at.window_ns[d];
    if (time_ns > 0)
      at.fastest_bps = std::max(at.fastest_bps, at.bytes[d] * 8'000'000'000 / static_cast<std::uint64_t>(time_ns));
    at.window_frames[d] = 0;
    return;
  }
  at.bytes[d] += frame.wire_B + 24;  // preamble, FCS, gap
}

PauseLane* PauseLanes::lane_of(const Frame& frame) {
  grow(frame.point);
  const LaneSide side = frame.direction == Direction::kUnknown ? LaneSide::kByAddress
                        : frame.direction == Direction::kIn    ? LaneSide::kStopsPort
                                                               : LaneSide::kStopsPeer;
  if (side == LaneSide::kByAddress) {
    for (PauseLane& lane : lanes_)
      if (lane.point == frame.point && lane.side == side && lane.mac == frame.src_mac) return &lane;
  } else {
    // Named after what it holds: frames that go out are held by pauses that come in.
    const Direction held = side == LaneSide::kStopsPort ? Direction::kOut : Direction::kIn;
    std::uint32_t& number = at_[frame.point].lane[index(held)];
    if (number != 0) return &lanes_[number - 1];
    if (lanes_.size() < kMostLanes) number = static_cast<std::uint32_t>(lanes_.size() + 1);
  }
  if (lanes_.size() == kMostLanes) return nullptr;
  PauseLane lane;
  lane.point = frame.point;
  lane.side = side;
  lane.mac = frame.src_mac;
  lane.node = node_of(frame.point);
  lanes_.push_back(std::move(lane));
  return &lanes_.back();
}

void PauseLanes::see_pause(const Frame& frame) {
  if (frames_++ == 0) base_ns_ = frame.time_ns;
  PauseLane* lane = lane_of(frame);
  if (lane == nullptr) return;
  set_speed(*lane);
  const std::int64_t now_ps = (frame.time_ns - base_ns_) * 1000;
  if (frame.kind == FrameKind::kPause) return stop(*lane, kWholeLink, frame.quanta[0], now_ps, frame);
  for (std::size_t c = 0; c < 8; ++c)
    if ((frame.class_enable >> c & 1) != 0) stop(*lane, c, frame.quanta[c], now_ps, frame);
}

void PauseLanes::stop(PauseLane& lane, std::size_t c, std::uint16_t quanta, std::int64_t now_ps, const Frame& frame) {
  PausedClass& state = lane.classes[c];
  ++state.frames;
  expire(lane, c, now_ps, frame);
  if (quanta == 0) {
    ++state.xons;
    if (state.stopped) end(lane, c, now_ps);
    return;
  }
  if (state.stopped) {
    ++state.refreshes;
    state.refresh_ps += now_ps - state.last_xoff_ps;
  } else {
    state.stopped = true;
    state.since_ps = now_ps;
    ++state.pauses;
    lane.stopped |= static_cast<std::uint16_t>(1 << c);
    ++at_[lane.point].stopped[index(held_direction(lane))];
    const bool is_origin = find_cause(lane, c, now_ps, state);
    ++(is_origin ? state.origin : state.passed_on);
    if (is_run_over(state.run, now_ps)) {
      state.run = {};
      state.run.start_ps = now_ps;
      state.run.start = {frame.number, frame.time_ns};
      state.run.is_origin = is_origin;
    }
  }
  ++state.xoffs;
  ++state.run.xoffs;
  if (state.first.frame == 0) state.first = {frame.number, frame.time_ns};
  state.last_xoff_ps = now_ps;
  state.until_ps = now_ps + quanta * lane.quantum_fs / 1000;
}

// Which pauses had stopped the node that now stops its peer? True when there is none.
bool PauseLanes::find_cause(const PauseLane& lane, std::size_t c, std::int64_t now_ps, PausedClass& state) {
  bool is_origin = true;
  if (lane.side == LaneSide::kStopsPeer) {
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      const PauseLane& other = lanes_[i];
      if (other.node != lane.node || other.side != LaneSide::kStopsPort || other.point == lane.point) continue;
      const PausedClass& held = other.classes[c];
      if (!(held.stopped && held.until_ps > now_ps) && now_ps - held.last_end_ps > kFilled_ps) continue;
      is_origin = false;
      auto known =
          std::find_if(state.causes.begin(), state.causes.end(), [i](const auto& cause) { return cause.first == i; });
      if (known == state.causes.end()) known = state.causes.insert(known, {i, 0});
      ++known->second;
    }
  }
  return is_origin;
}

void PauseLanes::expire(PauseLane& lane, std::size_t c, std::int64_t now_ps, const Frame& frame) {
  PausedClass& state = lane.classes[c];
  if (!state.stopped || state.until_ps > now_ps) return;
  if (state.expired++ == 0) state.first_expired = {frame.number, frame.time_ns};
  end(lane, c, state.until_ps);
}

void PauseLanes::end(PauseLane& lane, std::size_t c, std::int64_t end_ps) {
  PausedClass& state = lane.classes[c];
  const std::int64_t length_ps = end_ps - state.since_ps;
  state.stopped = false;
  lane.stopped &= static_cast<std::uint16_t>(~(1 << c));
  AtPoint& at = at_[lane.point];
  const std::size_t d = index(held_direction(lane));
  --at.stopped[d];
  at.last_held_ns[d] = std::max(at.last_held_ns[d], base_ns_ + end_ps / 1000);
  state.last_end_ps = end_ps;
  state.total_ps += length_ps;
  state.longest_ps = std::max(state.longest_ps, length_ps);
  state.response.end(length_ps, lane.allowance_ps);
  state.run.paused_ps += length_ps;
  state.run.end_ps = end_ps;
  if (state.run.length_ps() > state.longest_run.length_ps()) state.longest_run = state.run;
}

bool PauseLanes::is_held(PointId point, Direction direction, std::int64_t time_ns, std::int64_t since_ns) const {
  if (point >= at_.size()) return false;
  const AtPoint& at = at_[point];
  return at.stopped[index(direction)] != 0 ||
         (at.last_held_ns[index(direction)] != 0 && time_ns - at.last_held_ns[index(direction)] < since_ns);
}

void PauseLanes::check_sent(const Frame& frame) {
  if (frame.direction == Direction::kUnknown) {
    // The peer's own address says that the frame goes to the port that asked for a pause.
    for (PauseLane& lane : lanes_)
      if (lane.point == frame.point && lane.side == LaneSide::kByAddress && lane.mac == frame.dst_mac)
        check_sent(lane, frame);
    return;
  }
  check_sent(lanes_[at_[frame.point].lane[index(frame.direction)] - 1], frame);
}

void PauseLanes::check_sent(PauseLane& lane, const Frame& frame) {
  if (frame.ip_version == 0 && frame.pcp() < 0) return;  // no class to be told by
  const std::int64_t now_ps = (frame.time_ns - base_ns_) * 1000;
  for (std::size_t c = 0; c < kLaneClasses; ++c) expire(lane, c, now_ps, frame);
  for (const std::size_t c : {pause_class_of(frame.dscp(), frame.pcp()), kWholeLink}) {
    PausedClass& state = lane.classes[c];
    if (state.stopped && now_ps < state.until_ps)
      state.response.see_sent(now_ps - state.since_ps, lane.allowance_ps, frame);
  }
}

void PauseLanes::finish(std::int64_t last_ns) {
  for (PauseLane& lane : lanes_)
    for (std::size_t c = 0; c < kLaneClasses; ++c)
      if (lane.classes[c].stopped) end(lane, c, std::min(lane.classes[c].until_ps, (last_ns - base_ns_) * 1000));
}

}  // namespace weft::analyze
