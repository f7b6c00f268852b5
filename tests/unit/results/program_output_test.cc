#include "results/kinds/program_output.h"

#include <gtest/gtest.h>

#include "support/labs.h"

namespace weft::lab {
namespace {

using workload::ProgramEnd;
using workload::ProgramOutcome;

ProgramOutcome ended(ProgramEnd end, int status) {
  ProgramOutcome outcome;
  outcome.end = end;
  outcome.status = status;
  return outcome;
}

TEST(ProgramOutput, IsSanitised) {
  EXPECT_EQ(clean_text("a\tb\r\nc\x1b[1m\x01\n"), "a\tb\nc?[1m?\n");
  EXPECT_EQ(clean_text("last"), "last\n");
  EXPECT_EQ(clean_text(""), "");
  EXPECT_EQ(clean_text("\xc3\xa4 \xff \xc0\x80 \xe2\x82"), "\xc3\xa4 ? ?? ??\n");
  EXPECT_EQ(clean_text(std::string_view("\0x", 2)), "?x\n");
  EXPECT_EQ(clean_text("10 %\r90 %"), "10 %?90 %\n");
}

TEST(ProgramOutput, QuotesCommandsForShell) {
  EXPECT_EQ(command_text({"ib_write_bw", "-x", "3", "a b", "", "it's"}), "ib_write_bw -x 3 'a b' '' 'it'\\''s'");
}

// As sh and timeout(1) count them.
TEST(ProgramOutput, ExitStatusIsFirstFailure) {
  ProgramsOutcome outcome;
  outcome.programs = {ended(ProgramEnd::kExited, 0), ended(ProgramEnd::kSignalled, 9), ended(ProgramEnd::kExited, 3)};
  EXPECT_EQ(outcome.exit_status(), 137);
  EXPECT_TRUE(outcome.all_ended());
  EXPECT_EQ(ended(ProgramEnd::kNotExecuted, ENOENT).exit_status(), 127);
  EXPECT_EQ(ended(ProgramEnd::kNotExecuted, EACCES).exit_status(), 126);
  for (ProgramEnd end : {ProgramEnd::kTimedOut, ProgramEnd::kStuck}) {
    outcome.programs = {ended(end, 0)};
    EXPECT_EQ(outcome.exit_status(), 124);
    EXPECT_FALSE(outcome.all_ended());
  }
}

TEST(ProgramOutput, LongOutputsAreShortened) {
  workload::ProgramOptions options;
  options.programs.push_back({0, "vm00", {"seq"}, 0, 0, {}});
  ProgramsOutcome outcome;
  outcome.programs.push_back(ended(ProgramEnd::kExited, 0));
  for (int i = 1; i <= 1000; ++i) outcome.programs[0].output += std::to_string(i) + "\n";
  const std::string text = programs_text(options, outcome);
  EXPECT_NE(text.find("\n100\n… 800 lines more in results.json …\n901\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n1000\n```\n"), std::string::npos);
  outcome.programs[0].output = "```\n";
  EXPECT_NE(programs_text(options, outcome).find("\n````\n```\n````\n"), std::string::npos);
}

// Without somebody who starts programs, a lab with programs is refused and not passed over.
TEST(ProgramOutput, LabWithProgramsNeedsLauncher) {
  Lab lab = support::two_host_lab();
  WorkloadConfig config;
  config.name = "p";
  config.options.emplace<workload::ProgramOptions>().programs.push_back({0, "vm00", {"true"}, 0, kSecond_ps, {}});
  lab.workloads = {config};
  const auto result = run_lab(lab, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().find("programs"), std::string::npos);
}

}  // namespace
}  // namespace weft::lab
