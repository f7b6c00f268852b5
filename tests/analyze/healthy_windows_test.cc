// Parts of healthy captures: whatever window of time or range of frames is looked at, nothing is found. Where frames
// between two ranges are left out, the capture is not complete, and that alone may be said.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/planted_run.h"

namespace weft::planted {
namespace {

constexpr int kWindows = 25;

class HealthyWindows : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::vector<PlantedCase> all = healthy_captures();
    const auto row =
        std::find_if(all.begin(), all.end(), [](const PlantedCase& each) { return each.name == GetParam(); });
    ASSERT_NE(row, all.end());
    make_capture(*row, run_);
    if (HasFatalFailure()) return;
    const AnalyzeRun whole = analyze(*row, run_);
    ASSERT_FALSE(whole.json.is_discarded()) << whole.output;
    const auto& capture = whole.json.at("capture");
    frames_ = capture.at("frames");
    span_ns_ = capture.at("last_ns").get<std::uint64_t>() - capture.at("first_ns").get<std::uint64_t>();
  }
  // Two of 0 to `most`, in order.
  std::pair<std::uint64_t, std::uint64_t> draw(std::uint64_t most) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t one = (state_ >> 33) % (most + 1);
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t other = (state_ >> 33) % (most + 1);
    return std::minmax(one, other);
  }
  // The frames of these ranges, as editcap -r writes them.
  std::string ranges(const std::string& which) {
    const std::string path = run_.dir.file("part.pcapng");
    const auto result = interop::run_command("editcap -r " + interop::shell_quoted(run_.capture_path) + " " +
                                             interop::shell_quoted(path) + " " + which + " 2>&1");
    EXPECT_EQ(result.status, 0) << result.output;
    return interop::shell_quoted(path);
  }
  PlantedRun run_;
  std::uint64_t frames_ = 0, span_ns_ = 0, state_ = 11;
};

std::string found_in(const AnalyzeRun& run, bool is_complete) {
  if (run.json.is_discarded()) return run.output;
  std::string text;
  for (const auto& each : run.json.at("findings")) {
    const std::string id = each.at("id");
    // An ACK that was left out with the last frames of its connection is one that never came.
    const bool is_of_capture = id.starts_with("capture.") || id == "ack.missing";
    if (each.at("severity") == "note" || (!is_complete && is_of_capture)) continue;
    text += id + ": " + each.at("where").get<std::string>() + ": " + each.at("what").get<std::string>() + "\n";
  }
  return text;
}

TEST_P(HealthyWindows, TimesGiveNoFinding) {
  for (int i = 0; i < kWindows; ++i) {
    const auto [from_ns, to_ns] = draw(span_ns_);
    const std::string options = fmt::format("--since '{} ns' --until '{} ns'", from_ns, to_ns);
    EXPECT_EQ(found_in(analyze(interop::shell_quoted(run_.capture_path), options), true), "") << options;
  }
}

TEST_P(HealthyWindows, RangesOfFramesGiveNoFinding) {
  for (int i = 0; i < kWindows; ++i) {
    const auto [first, last] = draw(frames_ - 1);
    const std::string which = fmt::format("{}-{}", first + 1, last + 1);
    EXPECT_EQ(found_in(analyze(ranges(which)), true), "") << which;
  }
}

TEST_P(HealthyWindows, FramesLeftOutAreNotLostPackets) {
  for (int i = 0; i < kWindows; ++i) {
    const auto [first, last] = draw(frames_ - 1);
    const auto [first_2, last_2] = draw(frames_ - 1);
    const std::string which = fmt::format("{}-{} {}-{}", first + 1, last + 1, first_2 + 1, last_2 + 1);
    EXPECT_EQ(found_in(analyze(ranges(which)), false), "") << which;
  }
}

INSTANTIATE_TEST_SUITE_P(Analyze, HealthyWindows, testing::Values("VerbsIpv4", "Bidirectional", "IncastSmall"),
                         [](const testing::TestParamInfo<std::string>& info) { return info.param; });

}  // namespace
}  // namespace weft::planted
