// READs in captures that are not complete: one frame left out, two, or the beginning. Nobody asked for anything again,
// so nothing was lost on the wire: the figures are those of the run but for what is missing, and the capture alone may
// be found wanting. Truth is the number of READs of the lab, not what the checks make of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analyze/planted_run.h"
#include "base/random.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

constexpr std::uint64_t kReads = 60, kRead_B = 16 * 1024;

struct ReadCapture {
  std::string name;   // a test's name
  std::string verbs;  // of the transfer
  int mtu_B = 4200;
  std::uint64_t packets_of_read = 4;

  friend std::ostream& operator<<(std::ostream& out, const ReadCapture& each) { return out << each.name; }
};

class IncompleteReads : public testing::TestWithParam<ReadCapture> {
 protected:
  void SetUp() override {
    PairLab pair;
    pair.mtu_B = GetParam().mtu_B;
    const PlantedCase row{"reads", "", pair_lab(transfer(GetParam().verbs), pair), "node00:p0", nullptr, ""};
    make_capture(row, run_);
    if (HasFatalFailure()) return;
    all_ = EditableCapture::read(run_.capture_path);
    whole_ = analyze(interop::shell_quoted(run_.capture_path));
    ASSERT_FALSE(whole_.json.is_discarded()) << whole_.output;
    ASSERT_EQ(whole_.json.at("conversations").at(0).at("messages"), kReads);
  }
  AnalyzeRun analyze_without(const std::set<std::size_t>& left_out) {
    EditableCapture part = all_;
    part.records.clear();
    for (std::size_t at = 0; at < all_.records.size(); ++at)
      if (!left_out.contains(at)) part.records.push_back(all_.records[at]);
    const std::string path = run_.dir.file("part.pcapng");
    part.write(path);
    return analyze(interop::shell_quoted(path));
  }
  // Frames are missing in the file, and nothing else is wrong. So many READs and bytes may be missing with them.
  void expect_complete_but_for(const AnalyzeRun& part, std::uint64_t reads, std::uint64_t missing_B) {
    ASSERT_FALSE(part.json.is_discarded()) << part.output;
    for (const std::string& each : named(part).findings) EXPECT_EQ(each, "capture.lost") << part.json.at("findings");
    ASSERT_EQ(part.json.at("conversations").size(), 1u);
    const auto& read = part.json.at("conversations").at(0);
    EXPECT_GE(read.at("messages").get<std::uint64_t>(), kReads - reads);
    EXPECT_LE(read.at("messages").get<std::uint64_t>(), kReads);
    EXPECT_GE(read.at("goodput_B").get<std::uint64_t>(), kReads * kRead_B - missing_B);
    EXPECT_LE(read.at("goodput_B").get<std::uint64_t>(), kReads * kRead_B);
    EXPECT_EQ(read.at("retransmitted"), 0);
  }

  PlantedRun run_;
  EditableCapture all_;
  AnalyzeRun whole_;
};

TEST_P(IncompleteReads, OneFrameIsMissing) {
  for (std::size_t at = 0; at < all_.records.size(); at += all_.records.size() / 40 | 1) {
    SCOPED_TRACE("without frame " + std::to_string(at + 1));
    const AnalyzeRun part = analyze_without({at});
    expect_complete_but_for(part, 1, kRead_B / GetParam().packets_of_read);
    // A gap is seen where something of the connection follows and something came before.
    const std::size_t edge = 12 * GetParam().packets_of_read;
    if (at < edge || at + edge > all_.records.size()) continue;
    EXPECT_EQ(joined(named(part).findings), "capture.lost");
    EXPECT_EQ(part.json.at("findings").at(0).at("count"), 1) << part.json.at("findings");
  }
}

TEST_P(IncompleteReads, TwoFramesAreMissing) {
  RandomStream random(5, 0, RandomPurpose::kTest);
  for (int i = 0; i < 30; ++i) {
    const std::size_t one = random.below(all_.records.size());
    const std::size_t other = i % 2 == 0 ? one + 1 + random.below(5) : random.below(all_.records.size());
    SCOPED_TRACE("without frames " + std::to_string(one + 1) + " and " + std::to_string(other + 1));
    expect_complete_but_for(analyze_without({one, other}), 2, 2 * kRead_B / GetParam().packets_of_read);
  }
}

// Up to sixteen READs were on their way then. Their responses are data that came; whether they were complete, the
// capture cannot tell.
TEST_P(IncompleteReads, BeginningIsMissing) {
  for (std::size_t begin = 1; begin < all_.records.size() * 4 / 5; begin += all_.records.size() / 20) {
    SCOPED_TRACE("from frame " + std::to_string(begin + 1));
    std::set<std::size_t> left_out;
    std::uint64_t asked = 0, missing_B = 0;
    for (std::size_t at = 0; at < begin; ++at) {
      left_out.insert(at);
      const wire::RoceFrame frame = all_.frame(at);
      if (frame.headers.opcode == wire::Opcode::kReadRequest) ++asked;
      missing_B += frame.payload.size();
    }
    const AnalyzeRun part = analyze_without(left_out);
    expect_complete_but_for(part, asked, missing_B);
    EXPECT_EQ(joined(named(part).findings), "");
    for (const std::string& each : named(part).notes) EXPECT_NE(each, "capture.one-way");
  }
}

INSTANTIATE_TEST_SUITE_P(Analyze, IncompleteReads,
                         testing::Values(ReadCapture{"Several", "read, size: 16 KiB, count: 60"},
                                         ReadCapture{"OneByOne", "read, size: 16 KiB, count: 60, depth: 1"},
                                         ReadCapture{"SmallMtu", "read, size: 16 KiB, count: 60", 1500, 16}),
                         [](const testing::TestParamInfo<ReadCapture>& info) { return info.param.name; });

}  // namespace
}  // namespace weft::planted
