#include "analyze/show/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace weft::analyze {
namespace {

// One figure of a conversation, and when two values of it differ: by more than a share of the larger one, and by more
// than a least step.
struct Figure {
  std::string_view what, unit;
  double scale;
  double share, least;
  double (*value)(const Conversation&);
};
constexpr std::array<Figure, 14> kFigures = {{
    {"DSCP", "", 1, 0, 0.5, [](const Conversation& c) { return static_cast<double>(c.dscp); }},
    {"ECN", "", 1, 0, 0.5, [](const Conversation& c) { return static_cast<double>(c.ect); }},
    {"path MTU", "B", 1, 0, 0.5, [](const Conversation& c) { return static_cast<double>(c.path_mtu_B); }},
    {"messages", "", 1, 0, 0.5, [](const Conversation& c) { return static_cast<double>(c.messages); }},
    {"smallest message", "B", 1, 0, 0.5, [](const Conversation& c) { return static_cast<double>(c.message_B_least); }},
    {"largest message", "B", 1, 0, 0.5, [](const Conversation& c) { return static_cast<double>(c.message_B_most); }},
    {"goodput", "Gb/s", 1e-9, 0.05, 0, [](const Conversation& c) { return c.goodput_bps; }},
    {"packets retransmitted", "", 1, 0.1, 0.5,
     [](const Conversation& c) { return static_cast<double>(c.retransmitted); }},
    {"NAKs", "", 1, 0.1, 0.5, [](const Conversation& c) { return static_cast<double>(c.naks); }},
    {"CE marks", "", 1, 0.1, 0.5, [](const Conversation& c) { return static_cast<double>(c.ce_marked); }},
    {"CNPs", "", 1, 0.1, 0.5, [](const Conversation& c) { return static_cast<double>(c.cnps); }},
    {"ACK latency, median", "us", 1e-3, 0.1, 100,
     [](const Conversation& c) { return static_cast<double>(c.ack_latency_p50_ns); }},
    {"ACK latency, 99th percentile", "us", 1e-3, 0.2, 200,
     [](const Conversation& c) { return static_cast<double>(c.ack_latency_p99_ns); }},
    {"message latency, median", "us", 1e-3, 0.1, 100,
     [](const Conversation& c) { return static_cast<double>(c.message_latency_p50_ns); }},
}};

bool differ(const Figure& figure, double before, double after) {
  return std::abs(before - after) > std::max(figure.least, figure.share * std::max(std::abs(before), std::abs(after)));
}

std::string value_text(const Figure& figure, double value) {
  if (value < 0) return "none";
  if (figure.what == "ECN") return value > 0 ? "ECT" : "not-ECT";
  if (figure.unit.empty() || figure.unit == "B") return fmt::format("{:.0f}", value);
  return fmt::format("{:.2f}", value * figure.scale);
}

std::string kind_of(const Conversation& conversation) {
  return fmt::format("{} > {} {} {}", conversation.a, conversation.b, conversation.transport,
                     fmt::join(conversation.verbs, "+"));
}

using Group = std::vector<const Conversation*>;
std::map<std::string, Group> by_kind(const Analysis& analysis) {
  std::map<std::string, Group> groups;
  for (const Conversation& each : analysis.conversations) groups[kind_of(each)].push_back(&each);
  for (auto& [kind, group] : groups)
    std::stable_sort(group.begin(), group.end(), [](const Conversation* one, const Conversation* other) {
      return one->first_ns < other->first_ns;
    });
  return groups;
}

void compare_findings(const Analysis& before, const Analysis& after, std::vector<Change>& changes) {
  // Differences of one kind: how many places, and the first of them.
  struct Places {
    std::size_t before = 0, after = 0;
    std::string where;
  };
  std::map<std::size_t, Places> kinds;
  for (const Finding& finding : before.findings.all()) {
    Places& places = kinds[rank_of(finding.id)];
    if (places.before++ == 0) places.where = finding.where;
  }
  for (const Finding& finding : after.findings.all()) {
    Places& places = kinds[rank_of(finding.id)];
    if (places.after++ == 0) places.where = finding.where;
  }
  for (const auto& [rank, places] : kinds) {
    const FindingKind& kind = finding_kinds()[rank];
    if (kind.severity == Severity::kNote || places.before == places.after) continue;
    auto text = [](std::size_t count) {
      return count == 0 ? std::string("not found") : fmt::format("at {} place{}", count, count == 1 ? "" : "s");
    };
    changes.push_back(
        {fmt::format("{} ({})", kind.id, kind.title), "", text(places.before), text(places.after), places.where, 1});
  }
}

// The figures of conversations that are in both; of each figure the one that changed most.
class FigureChanges {
 public:
  void compare(const Conversation& before, const Conversation& after) {
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
      const Figure& figure = kFigures[i];
      const double from = figure.value(before), to = figure.value(after);
      if (!differ(figure, from, to)) continue;
      const double step = std::abs(to - from) / std::max({std::abs(from), std::abs(to), 1.0});
      Worst& worst = worst_[i];
      ++worst.places;
      if (step < worst.step) continue;
      worst.step = step;
      worst.change = {std::string(figure.what), std::string(figure.unit), value_text(figure, from),
                      value_text(figure, to),   place_of(after),          1};
    }
  }
  void add_to(std::vector<Change>& changes) {
    for (Worst& worst : worst_) {
      if (worst.places == 0) continue;
      worst.change.places = worst.places;
      changes.push_back(worst.change);
    }
  }

 private:
  struct Worst {
    double step = 0;
    std::size_t places = 0;
    Change change;
  };
  std::array<Worst, kFigures.size()> worst_;
};

void compare_points(const Analysis& before, const Analysis& after, std::vector<Change>& changes) {
  struct PointFigure {
    std::string_view what;
    std::uint64_t CapturePoint::*value;
  };
  static constexpr std::array<PointFigure, 1> kPointFigures = {{{"pause frames", &CapturePoint::pause_frames}}};
  for (const PointFigure& figure : kPointFigures) {
    Change change;
    std::uint64_t most = 0;
    std::size_t places = 0;
    for (const CapturePoint& point : after.capture.points)
      for (const CapturePoint& other : before.capture.points) {
        const std::uint64_t from = other.*figure.value, to = point.*figure.value;
        if (point.name != other.name || from == to) continue;
        ++places;
        const std::uint64_t step = from > to ? from - to : to - from;
        if (step <= most) continue;
        most = step;
        change = {std::string(figure.what), "", fmt::to_string(from), fmt::to_string(to), point.name, 1};
      }
    if (places == 0) continue;
    change.places = places;
    changes.push_back(change);
  }
}

}  // namespace

std::vector<Change> differences(const Analysis& before, const Analysis& after) {
  std::vector<Change> changes;
  compare_findings(before, after, changes);
  const std::map<std::string, Group> first = by_kind(before), second = by_kind(after);
  FigureChanges figures;
  auto missing = [&changes](const std::map<std::string, Group>& all, const std::map<std::string, Group>& others,
                            bool in_first) {
    for (const auto& [kind, group] : all) {
      const auto other = others.find(kind);
      const std::size_t count = other == others.end() ? 0 : other->second.size();
      if (group.size() <= count) continue;
      std::string has = fmt::to_string(group.size()), has_not = fmt::to_string(count);
      changes.push_back({"conversations", "", in_first ? has : has_not, in_first ? has_not : has, kind, 1});
    }
  };
  missing(first, second, true);
  missing(second, first, false);
  for (const auto& [kind, group] : first) {
    const auto other = second.find(kind);
    if (other == second.end()) continue;
    for (std::size_t i = 0; i < std::min(group.size(), other->second.size()); ++i)
      figures.compare(*group[i], *other->second[i]);
  }
  figures.add_to(changes);
  compare_points(before, after, changes);
  return changes;
}

std::string changes_text(const std::vector<Change>& changes, const std::string& before, const std::string& after) {
  if (changes.empty()) return fmt::format("{} and {}: the same work with the same outcome\n", before, after);
  std::string out = fmt::format("from {} to {}\n", before, after);
  for (const Change& change : changes) {
    const std::string unit = change.unit.empty() ? "" : " " + change.unit;
    const std::string most = change.places > 1 ? fmt::format("; {} places, most at ", change.places) : "; ";
    out += fmt::format("  {}: {} -> {}{}{}{}\n", change.what, change.before, change.after, unit, most, change.where);
  }
  return out;
}

}  // namespace weft::analyze
