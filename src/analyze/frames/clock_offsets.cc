#include "analyze/frames/clock_offsets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <tuple>

namespace weft::analyze {
namespace {

constexpr std::size_t kFewestPackets = 2;  // in each direction
constexpr int kPsnBits = 16;

std::uint64_t print_of_psn(std::uint32_t psn) {
  return psn * 0x9e3779b1U >> (32 - kPsnBits);
}

// Fields that no hop changes.
std::uint64_t print_of(const Frame& frame) {
  std::uint64_t print = 0x2545f4914f6cdd1dULL;
  const auto add = [&print](std::uint64_t value) {
    print = (print ^ value) * 0xbf58476d1ce4e5b9ULL;
    print ^= print >> 29;
  };
  add(std::uint64_t{frame.src} << 32 | frame.dst);
  add(std::uint64_t{frame.dest_qp} << 32 | frame.psn);
  add(std::uint64_t{static_cast<std::uint8_t>(frame.opcode)} << 32 | std::uint64_t{frame.syndrome} << 24 | frame.msn);
  add(frame.payload_B);
  if (frame.ip_version == 4 && frame.ip.size() >= 20) add(std::uint64_t{frame.ip[4]} << 8 | frame.ip[5]);
  return print << kPsnBits | print_of_psn(frame.psn);
}

// One packet in two files: when, by the clock that is looked for, and what it says about its offset.
struct Bound {
  std::int64_t time_ns = 0;
  std::int64_t ahead_ns = 0;
  bool is_upper = false;
};

struct Line {
  pcap::ClockPiece clock{};
  double margin_ns = 0;  // between the bounds; negative where they contradict each other
};

// A few packets are not what they seem: one that was retransmitted, of which each file has another copy.
std::size_t doubtful(std::size_t bounds) {
  return bounds / 64;
}

// The lowest upper and the highest lower bound of lines with this drift, at from_ns.
std::pair<double, double> limits(std::span<const Bound> bounds, std::int64_t from_ns, double drift) {
  std::vector<double> upper, lower;
  for (const Bound& each : bounds)
    (each.is_upper ? upper : lower)
        .push_back(static_cast<double>(each.ahead_ns - bounds.front().ahead_ns) -
                   drift * static_cast<double>(each.time_ns - from_ns));
  const auto least = upper.begin() + static_cast<std::ptrdiff_t>(doubtful(upper.size()));
  const auto most = lower.begin() + static_cast<std::ptrdiff_t>(doubtful(lower.size()));
  std::nth_element(upper.begin(), least, upper.end());
  std::nth_element(lower.begin(), most, lower.end(), std::greater<>());
  return {*least, *most};
}

Line line_of(std::span<const Bound> bounds, double drift) {
  const std::int64_t from_ns = bounds.front().time_ns;
  const auto [upper, lower] = limits(bounds, from_ns, drift);
  const auto middle_ns = static_cast<std::int64_t>(std::llround((upper + lower) / 2));
  return {{from_ns, bounds.front().ahead_ns + middle_ns, drift}, upper - lower};
}

bool has_both(std::span<const Bound> bounds) {
  const auto upper = static_cast<std::size_t>(std::ranges::count_if(bounds, &Bound::is_upper));
  return upper >= kFewestPackets && bounds.size() - upper >= kFewestPackets;
}

// Clocks that agree on the rate, where the bounds allow it; else the drift that leaves the widest margin, which has one
// maximum.
Line best_line(std::span<const Bound> bounds) {
  constexpr double kMostDrift = 1e-3;  // ten times what a quartz may have
  constexpr int kSteps = 40;
  const Line steady = line_of(bounds, 0);
  if (steady.margin_ns >= 0) return steady;
  double low = -kMostDrift, high = kMostDrift;
  for (int i = 0; i < kSteps; ++i) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (line_of(bounds, left).margin_ns < line_of(bounds, right).margin_ns)
      low = left;
    else
      high = right;
  }
  return line_of(bounds, (low + high) / 2);
}

// In halves, as long as no line fits all of them.
void add_lines(std::span<const Bound> bounds, int depth, std::vector<Line>& lines) {
  const Line line = best_line(bounds);
  const auto first = bounds.first(bounds.size() / 2), second = bounds.subspan(bounds.size() / 2);
  if (line.margin_ns >= 0 || depth == 0 || !has_both(first) || !has_both(second)) {
    lines.push_back(line);
    return;
  }
  add_lines(first, depth - 1, lines);
  add_lines(second, depth - 1, lines);
}

// The times of what two files hold of packets between two addresses, at one place each.
struct Match {
  std::size_t first = 0, second = 0;  // files
  std::uint32_t first_place = 0, second_place = 0;
  AddressId low = 0, high = 0;
  std::int64_t first_ns = 0, second_ns = 0;
  bool is_up = false;

  std::int64_t ahead_ns() const { return second_ns - first_ns; }
  auto path() const { return std::tuple(first, second, first_place, second_place, low, high); }
};

// A number that comes again after all PSNs were used pairs packets that have nothing to do with each other: clocks are
// where most matches are.
void keep_densest(std::vector<Match>& matches) {
  constexpr std::int64_t kWidth_ns = 100'000'000;
  std::vector<std::int64_t> ahead_ns;
  ahead_ns.reserve(matches.size());
  for (const Match& each : matches) ahead_ns.push_back(each.ahead_ns());
  std::ranges::sort(ahead_ns);
  if (ahead_ns.empty() || ahead_ns.back() - ahead_ns.front() <= kWidth_ns) return;
  std::size_t from = 0, best_from = 0, best_to = 0;
  for (std::size_t to = 0; to < ahead_ns.size(); ++to) {
    while (ahead_ns[to] - ahead_ns[from] > kWidth_ns) ++from;
    if (to + 1 - from > best_to - best_from) std::tie(best_from, best_to) = std::pair(from, to + 1);
  }
  std::erase_if(matches, [least_ns = ahead_ns[best_from], most_ns = ahead_ns[best_to - 1]](const Match& each) {
    return each.ahead_ns() < least_ns || each.ahead_ns() > most_ns;
  });
}

// Which direction passes the first file first? The one that takes longer by these clocks; of packets that follow each
// other closely, so that a drift does not matter.
bool goes_up_first(std::span<const Match> matches) {
  std::int64_t up = 0;
  for (std::size_t i = 1; i < matches.size(); ++i) {
    if (matches[i - 1].is_up == matches[i].is_up) continue;
    const std::int64_t more_ns = matches[i].ahead_ns() - matches[i - 1].ahead_ns();
    if (more_ns != 0) up += (more_ns > 0) == matches[i].is_up ? 1 : -1;
  }
  return up > 0;
}

// Bounds of the clock of `file`, one of two, from all matches of the two files.
std::vector<Bound> bounds_of(std::vector<Match> matches, std::size_t file) {
  keep_densest(matches);
  std::ranges::sort(matches, {}, [](const Match& each) { return std::tuple(each.path(), each.first_ns); });
  std::vector<Bound> bounds;
  for (auto from = matches.begin(), to = from; from != matches.end(); from = to) {
    to = std::find_if(from, matches.end(), [&](const Match& each) { return each.path() != from->path(); });
    const std::span<const Match> path(from, to);
    const auto up = static_cast<std::size_t>(std::ranges::count_if(path, &Match::is_up));
    if (up < kFewestPackets || path.size() - up < kFewestPackets) continue;
    const bool is_up_first = goes_up_first(path);
    for (const Match& each : path) {
      const bool is_later = (each.is_up == is_up_first) == (file == each.second);
      bounds.push_back(file == each.second ? Bound{each.second_ns, each.second_ns - each.first_ns, is_later}
                                           : Bound{each.first_ns, each.first_ns - each.second_ns, is_later});
    }
  }
  std::ranges::sort(bounds, {}, &Bound::time_ns);
  return bounds;
}

// Does the clock run as its reference does, as far as these packets tell?
bool agrees(std::span<const Bound> bounds) {
  const auto [upper, lower] = limits(bounds, bounds.front().time_ns, 0);
  const auto first_ns = static_cast<double>(bounds.front().ahead_ns);
  return lower + first_ns <= 0 && upper + first_ns >= 0;
}

// Packets of one direction alone: an offset cannot be told from the way. What is far more than any way is an offset,
// and the way remains in it.
void use_one_way(const std::vector<Match>& matches, std::size_t file, ClockOffset& offset) {
  constexpr std::int64_t kLongWay_ns = 1'000'000;  // 200 km of fibre
  constexpr double kMuchBetter = 4;
  constexpr std::size_t kFewestMatches = 8;
  std::vector<Bound> bounds;
  for (const Match& each : matches) {
    const bool is_second = file == each.second;
    const std::int64_t time_ns = is_second ? each.second_ns : each.first_ns;
    const std::int64_t ahead_ns = time_ns - (is_second ? each.first_ns : each.second_ns);
    for (const bool is_upper : {true, false}) bounds.push_back({time_ns, ahead_ns, is_upper});
  }
  if (matches.size() < kFewestMatches) return;
  std::ranges::sort(bounds, {}, &Bound::time_ns);
  const Line steady = line_of(bounds, 0), drifting = best_line(bounds);
  const Line& line = std::abs(drifting.margin_ns) * kMuchBetter < std::abs(steady.margin_ns) ? drifting : steady;
  if (std::abs(line.clock.ahead_ns) <= kLongWay_ns) return;
  offset.is_one_way = true;
  offset.packets = matches.size();
  offset.ahead_ns = line.clock.ahead_ns;
  offset.uncertainty_ns = kLongWay_ns;
  offset.clock.pieces = {line.clock};
}

ClockOffset offset_of(const std::vector<Match>& matches, std::size_t file, std::size_t reference) {
  constexpr int kMostHalvings = 6;
  ClockOffset offset;
  offset.file = file;
  offset.clock.reference = reference;
  const std::vector<Bound> bounds = bounds_of(matches, file);
  offset.packets = bounds.size();
  if (bounds.empty()) {
    use_one_way(matches, file, offset);
    return offset;
  }
  std::vector<Line> lines;
  add_lines(bounds, kMostHalvings, lines);
  double margin_ns = 0;
  for (const Line& line : lines) margin_ns = std::max(margin_ns, std::abs(line.margin_ns));
  offset.uncertainty_ns = std::max<std::int64_t>(1, static_cast<std::int64_t>(margin_ns / 2));
  offset.ahead_ns = lines.front().clock.ahead_ns;
  if (lines.size() == 1 && agrees(bounds)) return offset;
  for (const Line& line : lines) offset.clock.pieces.push_back(line.clock);
  return offset;
}

}  // namespace

bool ClockOffsets::may_use(std::size_t file, wire::Bytes frame) const {
  constexpr std::size_t kTag_B = 4, kIpv4_B = 20, kPsnAt = 17;  // behind the UDP header's first byte
  std::size_t at = 12;
  if (frame.size() < at + 2 + kTag_B + kIpv4_B + kPsnAt + 3) return true;
  if (wire::be16(frame, at) == 0x8100) at += kTag_B;
  if (wire::be16(frame, at) != 0x0800 || frame[at + 2] != 0x45) return true;
  const std::uint8_t protocol = frame[at + 2 + 9];
  const std::size_t udp = at + 2 + kIpv4_B;
  if (protocol == 6) return false;  // TCP
  if (protocol != 17 || wire::be16(frame, udp + 2) != 4791 || file >= files_.size()) return true;
  return (print_of_psn(wire::be24(frame, udp + kPsnAt)) & files_[file].mask) == 0;
}

void ClockOffsets::see(std::size_t file, std::uint32_t interface, const Frame& frame) {
  if (frame.kind != FrameKind::kRoce || frame.is_cnp() || frame.src == kNone || frame.dst == kNone ||
      frame.src == frame.dst)
    return;
  if (file >= files_.size()) files_.resize(file + 1);
  File& at = files_[file];
  const std::uint64_t print = print_of(frame);
  if ((print & at.mask) != 0) return;
  at.sightings.push_back({print, frame.time_ns, interface << 8 | frame.ttl, std::min(frame.src, frame.dst),
                          std::max(frame.src, frame.dst), frame.src < frame.dst});
  while (at.sightings.size() > kMostPackets) {
    at.mask = at.mask << 1 | 1;
    std::erase_if(at.sightings, [&at](const Sighting& each) { return (each.print & at.mask) != 0; });
  }
}

std::vector<ClockOffset> ClockOffsets::offsets() const {
  // Sightings of one packet, and of those the ones at one place, in order of time.
  struct Seen {
    const Sighting* sighting;
    std::size_t file;
  };
  std::vector<Seen> all;
  for (std::size_t file = 0; file < files_.size(); ++file)
    for (const Sighting& each : files_[file].sightings) all.push_back({&each, file});
  const auto at = [](const Seen& each) { return std::tuple(each.sighting->print, each.file, each.sighting->place); };
  std::ranges::sort(all, {}, [&](const Seen& each) { return std::tuple(at(each), each.sighting->time_ns); });
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Match>> pairs;
  constexpr std::size_t kMostPlaces = 16, kMostTimes = 16;
  std::vector<std::span<const Seen>> places;
  for (std::size_t from = 0, to = 0; from < all.size(); from = to) {
    places.clear();
    while (to < all.size() && all[to].sighting->print == all[from].sighting->print) {
      const std::size_t begin = to;
      while (to < all.size() && at(all[to]) == at(all[begin])) ++to;
      if (places.size() < kMostPlaces && to - begin <= kMostTimes)
        places.push_back(std::span(all).subspan(begin, to - begin));
    }
    // A packet that was retransmitted must have as many copies in both files.
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t j = i + 1; j < places.size(); ++j) {
        if (places[i].front().file == places[j].front().file || places[i].size() != places[j].size()) continue;
        for (std::size_t n = 0; n < places[i].size(); ++n) {
          const Sighting &one = *places[i][n].sighting, &other = *places[j][n].sighting;
          pairs[{places[i].front().file, places[j].front().file}].push_back(
              {places[i].front().file, places[j].front().file, one.place, other.place, one.low, one.high, one.time_ns,
               other.time_ns, one.is_up});
        }
      }
  }
  // The tree of the files that tell most about each other.
  struct Edge {
    std::size_t first, second;
    ClockOffset of_second;
  };
  std::vector<Edge> edges;
  for (const auto& [files, matches] : pairs)
    if (ClockOffset offset = offset_of(matches, files.second, files.first); offset.packets > 0)
      edges.push_back({files.first, files.second, std::move(offset)});
  std::ranges::stable_sort(edges, {}, [](const Edge& each) { return each.of_second.uncertainty_ns; });
  std::vector<bool> is_held(files_.size(), false);
  std::vector<ClockOffset> offsets;
  for (std::size_t root = 0; root < files_.size(); ++root) {
    if (is_held[root]) continue;
    is_held[root] = true;
    for (;;) {
      const auto edge =
          std::ranges::find_if(edges, [&](const Edge& each) { return is_held[each.first] != is_held[each.second]; });
      if (edge == edges.end()) break;
      offsets.push_back(is_held[edge->first]
                            ? edge->of_second
                            : offset_of(pairs.at({edge->first, edge->second}), edge->first, edge->second));
      is_held[offsets.back().file] = true;
    }
  }
  std::ranges::sort(offsets, {}, &ClockOffset::file);
  return offsets;
}

}  // namespace weft::analyze
