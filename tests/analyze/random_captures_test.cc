// Captures drawn at random, each with one planted fault or healthy: the first finding names the fault, and healthy ones
// have none. The draws follow another rule than the checks (random_faults.h, random_views.h), and the bars below are
// those that docs/analyze.md tells the rates of.
//
//   WEFT_CASES=500 build/random_captures_test          more than the suite runs
//   WEFT_OPEN=1 …                                      counts the cases whose causes are known and open, too
//   WEFT_SEED=7 WEFT_CASE=31 …                         one case of another seed
//   WEFT_KEEP_CAPTURES=DIR …                           leaves lab.yaml, the files and what is true of them in DIR
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "analyze/analyzer.h"
#include "analyze/random_views.h"
#include "interop/interop_support.h"

namespace weft::planted {
namespace {

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

struct Outcome {
  std::string family;
  std::string text;  // the case, for a person
  Expected expected;
  std::vector<std::string> findings, notes;
  bool right = false;
};

bool is_in(const std::set<std::string>& kinds, const std::string& kind) {
  return kinds.contains(kind);
}

// Is nothing wrong in this run? What a lab does by itself (an incast that pauses or loses) is not planted, and such
// draws are passed over.
bool is_calm(const GroundTruth& truth) {
  const auto end_ps = std::max<Time_ps>(1, truth.end_ns() * 1000);
  for (const lab::PortOutcome& port : truth.result.ports) {
    if (port.counters.retransmitted_packets != 0 || port.counters.out_of_sequence != 0 ||
        port.counters.rx_discards_phy != 0)
      return false;
    for (const Time_ps paused_ps : port.pause_rx_ps)
      if (paused_ps * 10 > end_ps) return false;
  }
  for (const lab::SwitchOutcome& each : truth.result.switches) {
    for (const lab::SwitchPortOutcome& port : each.ports) {
      for (const Time_ps paused_ps : port.pause_rx_ps)
        if (paused_ps * 10 > end_ps) return false;
    }
  }
  return true;
}

struct Case {
  GroundTruth truth;
  View view;
  CutCapture cut;
  Expected expected;
  const Family* family = nullptr;
  std::vector<Incident> incidents;
  int draws = 0;
};

const Family& draw_family(Dice& dice) {
  std::int64_t all = 0;
  for (const Family& each : fault_families()) all += each.weight;
  std::int64_t at = dice.pick(0, all - 1);
  for (const Family& each : fault_families()) {
    if (at < each.weight) return each;
    at -= each.weight;
  }
  return fault_families().front();
}

constexpr int kMostDraws = 40, kMostViews = 5;

// Draws until the lab runs and the files show the fault (a planted one) or nothing is wrong (a healthy one).
std::optional<Case> draw_case(std::uint64_t seed, std::uint64_t number, bool healthy, const std::string& directory) {
  Dice dice(seed, number * 2 + (healthy ? 1 : 0));
  const Family* family = nullptr;
  if (!healthy) family = &draw_family(dice);
  for (int draw = 0; draw < kMostDraws; ++draw) {
    Case made;
    made.family = family;
    made.draws = draw + 1;
    Draft draft = draw_traffic(healthy ? TrafficWish{} : family->wish, dice);
    if (!healthy && family->plant != nullptr) family->plant(draft, dice);
    const std::uint32_t snap_B = dice.chance(50) ? 0 : dice.one_of<std::uint32_t>({96, 128, 128, 256});
    const bool few_bytes = !healthy && family->headers_only;
    const std::uint32_t run_snap_B = few_bytes ? 128 : !healthy && family->whole_frames ? 0 : snap_B;
    auto truth = run_draft(draft, seed * 1'000'003 + number, run_snap_B, directory);
    if (!truth) continue;
    made.truth = std::move(*truth);
    if (made.truth.seen.size() < 8) continue;
    if (healthy && !is_calm(made.truth)) continue;
    if (!healthy) made.incidents = family->find(made.truth, dice);
    const bool is_capture_fault = !healthy && family->capture != CaptureFault::kNone;
    if (is_capture_fault && !is_calm(made.truth)) continue;
    if (!healthy && !is_capture_fault && made.incidents.empty()) continue;
    const bool impaired = healthy ? number % 2 == 1 : dice.chance(40);
    for (int look = 0; look < (healthy ? 1 : kMostViews); ++look) {
      made.view = draw_view(made.truth, family, impaired, few_bytes ? 128 : snap_B, dice);
      made.cut = cut_capture(made.truth, made.view, directory, dice);
      std::size_t kept = 0;
      for (const auto& each : made.cut.kept) kept += each.size();
      if (kept < 8) continue;
      made.expected = expect(made.truth, made.view, made.cut, made.incidents);
      if (healthy || made.expected.surely) return made;
    }
  }
  return std::nullopt;
}

Outcome judge(const Case& made, std::uint64_t seed, std::uint64_t number) {
  Outcome outcome;
  outcome.family = made.family == nullptr ? "healthy" : made.family->name;
  outcome.expected = made.expected;
  outcome.text = fmt::format("seed {} case {}: {}; {}", seed, number, outcome.family, made.view.text());
  const auto analysis = analyze::analyze_files(made.cut.files, {});
  if (!analysis) {
    outcome.findings = {analysis.error()};
    return outcome;
  }
  for (const analyze::Finding& each : analysis->findings.all()) {
    const bool is_note = analyze::finding_kinds()[analyze::rank_of(each.id)].severity == analyze::Severity::kNote;
    (is_note ? outcome.notes : outcome.findings).emplace_back(each.id);
  }
  std::vector<std::string> judged;
  for (const std::string& each : outcome.findings)
    if (!is_in(made.expected.tolerated, each)) judged.push_back(each);
  if (made.family == nullptr) {
    outcome.right = judged.empty();
  } else if (!judged.empty()) {
    outcome.right = is_in(made.expected.right, judged.front());
  } else {
    // Some faults are legal and unusual: a note names them. And where stamps are wrong it is right to say that alone.
    for (const std::string& each : outcome.notes) outcome.right |= is_in(made.expected.right, each);
    for (const std::string& each : outcome.findings) outcome.right |= each == "capture.order";
  }
  return outcome;
}

void keep(const Case& made, const Outcome& outcome, const std::string& name) {
  const char* folder = std::getenv("WEFT_KEEP_CAPTURES");
  if (folder == nullptr) return;
  const std::string to = std::string(folder) + "/" + name;
  std::filesystem::create_directories(to);
  for (const std::string& file : made.cut.files)
    std::filesystem::copy_file(file, to + "/" + std::filesystem::path(file).filename().string(),
                               std::filesystem::copy_options::overwrite_existing);
  interop::write_bytes(to + "/lab.yaml", made.truth.lab_text.data(), made.truth.lab_text.size());
  std::string text = outcome.text + "\n" + fmt::format("{}\n", fmt::join(made.expected.why, "\n"));
  interop::write_bytes(to + "/truth.txt", text.data(), text.size());
}

class RandomCaptures : public testing::TestWithParam<bool> {};

TEST_P(RandomCaptures, FirstFindingIsRight) {
  const bool healthy = GetParam();
  const auto seed = static_cast<std::uint64_t>(from_environment("WEFT_SEED", 1));
  const std::int64_t cases = from_environment("WEFT_CASES", 60), only = from_environment("WEFT_CASE", -1);
  struct Count {
    int right = 0, all = 0, draws = 0;
  };
  std::map<std::string, Count> rates;
  int right = 0, all = 0, not_drawn = 0;
  std::string wrong;
  for (std::int64_t number = only < 0 ? 0 : only; number < (only < 0 ? cases : only + 1); ++number) {
    interop::TempDir directory;
    const auto made = draw_case(seed, static_cast<std::uint64_t>(number), healthy, directory.file("."));
    if (!made) {
      ++not_drawn;
      wrong += fmt::format("seed {} case {}: not drawn\n", seed, number);
      continue;
    }
    const Outcome outcome = judge(*made, seed, static_cast<std::uint64_t>(number));
    Count& count = rates[outcome.family];
    ++count.all;
    count.draws += made->draws;
    ++all;
    count.right += outcome.right ? 1 : 0;
    right += outcome.right ? 1 : 0;
    if (!outcome.right || only >= 0) {
      wrong += fmt::format("{}{}\n  found: {}\n  right: {}\n", outcome.right ? "" : "WRONG ", outcome.text,
                           fmt::join(outcome.findings, ", "), fmt::join(outcome.expected.right, " or "));
      if (!outcome.expected.why.empty()) wrong += fmt::format("  {}\n", outcome.expected.why.front());
    }
    if (!outcome.right || only >= 0)
      keep(*made, outcome, fmt::format("{}{}-{}", healthy ? "healthy" : "planted", seed, number));
  }
  std::string table;
  for (const auto& [family, count] : rates)
    table += fmt::format("{:<36} {:>4} of {:>4}, {} draws\n", family, count.right, count.all, count.draws);
  fmt::print("{}{}all: {} of {}, {} not drawn\n", wrong, table, right, all, not_drawn);
  EXPECT_GT(all, 0);
  EXPECT_LE(not_drawn * 20, cases);
  if (healthy)
    EXPECT_EQ(right, all);
  else
    EXPECT_GE(right * 100, all * 95);
}

INSTANTIATE_TEST_SUITE_P(Analyze, RandomCaptures, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) { return info.param ? "Healthy" : "Planted"; });

}  // namespace
}  // namespace weft::planted
