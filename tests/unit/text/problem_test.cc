#include "text/problem.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(Problem, PrintsLikeCompiler) {
  EXPECT_EQ(format_problem("lab.yaml", {14, 9, "leaf1 has 32 ports", "use another", ""}),
            "lab.yaml:14:9: leaf1 has 32 ports\n  use another");
  EXPECT_EQ(format_problem("lab.yaml", {1, 1, "nothing here", "", ""}), "lab.yaml:1:1: nothing here");
  EXPECT_EQ(format_problem("lab.yaml", {0, 0, "no unit", "add one", "--set a.b"}), "--set a.b: no unit\n  add one");
}

TEST(Problem, ListsAreInLineOrderAndOverridesLast) {
  const std::vector<std::string> overrides = {"a=1", "b=2"};
  ProblemList problems(overrides);
  problems.add({9, 1, -1}, "late");
  problems.add({1, 1, 1}, "second override");
  problems.add({3, 7, -1}, "right");
  problems.add({1, 1, 0}, "first override");
  problems.add({3, 2, -1}, "left");
  problems.add({3, 7, -1}, "right too");
  std::vector<std::string> messages;
  for (const Problem& problem : problems.take()) {
    messages.push_back(problem.where + problem.message);
    EXPECT_EQ(problem.line > 0, problem.where.empty()) << problem.message;
  }
  EXPECT_EQ(messages, (std::vector<std::string>{"left", "right", "right too", "late", "--set afirst override",
                                                "--set bsecond override"}));
  EXPECT_TRUE(problems.empty());
}

TEST(Problem, TruncatesQuotedTextBetweenCharacters) {
  EXPECT_EQ(in_quotes("on"), "\"on\"");
  const std::string long_text = std::string(47, 'a').append("é and more");
  EXPECT_EQ(in_quotes(long_text), "\"" + std::string(47, 'a') + "…\"");
}

}  // namespace
}  // namespace weft::lab
