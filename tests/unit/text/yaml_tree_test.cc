#include "text/yaml_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::lab {
namespace {

std::vector<std::string> problems_of_yaml(std::string_view text) {
  ProblemList problems;
  parse_yaml(text, problems);
  std::vector<std::string> lines;
  for (const Problem& p : problems.take()) lines.push_back(fmt::format("{}:{} {}", p.line, p.column, p.message));
  return lines;
}
using Lines = std::vector<std::string>;

TEST(YamlTree, KeepsPlacesKindsAndQuotes) {
  ProblemList problems;
  const auto root = parse_yaml("a: 1\nb:\n  - \"on\"\n  - {c: x}\nd:\n", problems);
  ASSERT_TRUE(root.has_value());
  EXPECT_TRUE(problems.empty());
  ASSERT_TRUE(root->is_map());
  EXPECT_EQ(root->find("a")->text, "1");
  EXPECT_FALSE(root->find("a")->quoted);
  const YamlNode& list = *root->find("b");
  ASSERT_TRUE(list.is_sequence());
  EXPECT_TRUE(list.children[0].quoted);
  EXPECT_EQ(list.children[0].place.line, 3);
  EXPECT_EQ(list.children[0].place.column, 5);
  EXPECT_EQ(list.children[1].keys[0].place.column, 6);
  EXPECT_TRUE(root->find("d")->is_null());
  EXPECT_EQ(root->find("e"), nullptr);
}

TEST(YamlTree, RejectsUnsupportedYaml) {
  EXPECT_EQ(problems_of_yaml(""), Lines{"1:1 nothing here"});
  EXPECT_EQ(problems_of_yaml("# only a comment\n"), Lines{"1:1 nothing here"});
  EXPECT_EQ(problems_of_yaml("a: 1\nb: 2\na: 3\n"), Lines{"3:1 key \"a\" is given twice"});
  EXPECT_EQ(problems_of_yaml("a: {b: 1, b: 2}\n"), Lines{"1:11 key \"b\" is given twice"});
  EXPECT_EQ(problems_of_yaml("a: &x 1\nb: *x\n"), Lines{"1:4 an anchor (&name)"});
  EXPECT_EQ(problems_of_yaml("a: {<<: {b: 1}}\n"), Lines{"1:5 a merge key (<<)"});
  EXPECT_EQ(problems_of_yaml("a: !!str 1\n"), Lines{"1:4 the tag \"tag:yaml.org,2002:str\""});
  EXPECT_EQ(problems_of_yaml("a: !mine {b: 1}\n"), Lines{"1:4 the tag \"!mine\""});
  EXPECT_EQ(problems_of_yaml("a: 1\n---\nb: 2\n"), Lines{"2:1 a second document starts here"});
  EXPECT_EQ(problems_of_yaml("? [a, b]\n: 1\n"),
            Lines{"1:3 a list or a map where a key should be, or a bracket that is not closed"});
  EXPECT_EQ(problems_of_yaml("\"\": 1\n"), Lines{"1:1 an empty key"});
  EXPECT_EQ(problems_of_yaml("a:\n\tb: 1\n\tc: 2\n"),
            (Lines{"2:1 a tab in the indentation", "3:1 a tab in the indentation"}));
  EXPECT_EQ(problems_of_yaml(std::string_view("a: \x01\n")), Lines{"1:4 control character 0x01"});
  EXPECT_EQ(problems_of_yaml(std::string_view("a: \0b\n", 6)), Lines{"1:4 control character 0x00"});
  EXPECT_EQ(problems_of_yaml("a: \"\\e[31m\"\n"), Lines{"1:4 a control character in the text"});
  EXPECT_EQ(problems_of_yaml("a: caf\xe9\n"), Lines{"1:7 this byte is not UTF-8"});
  EXPECT_EQ(problems_of_yaml("a: \xed\xa0\x80\n"), Lines{"1:4 this byte is not UTF-8"});  // a surrogate
}

TEST(YamlTree, AcceptsUtf8AndTabsBetweenWords) {
  EXPECT_EQ(problems_of_yaml("\xef\xbb\xbf"
                             "a: \"b\"\n"),
            Lines{});  // byte order mark
  EXPECT_EQ(problems_of_yaml("a: café µs 😀\n"), Lines{});
  EXPECT_EQ(problems_of_yaml("a:\tb\n"), Lines{});
}

TEST(YamlTree, SyntaxErrorsHavePosition) {
  const Lines flow = problems_of_yaml("a: 1\nb: [1, 2\n");
  ASSERT_EQ(flow.size(), 1U);
  EXPECT_EQ(flow[0].substr(0, 11), "3:1 not YAM");
  EXPECT_EQ(problems_of_yaml("a: {b: 1\n").size(), 1U);
  EXPECT_EQ(problems_of_yaml("{b: 1\n"),
            Lines{"1:1 a list or a map where a key should be, or a bracket that is not closed"});
  EXPECT_EQ(problems_of_yaml("a: 1\n  b: 2\n").size(), 1U);
}

// yaml-cpp itself reads the first as "x b: 2 ".
TEST(YamlTree, RejectsUnclosedQuotes) {
  EXPECT_EQ(problems_of_yaml("a: 'x\nb: 2\n"), Lines{"1:4 a quote that is not closed"});
  EXPECT_EQ(problems_of_yaml("a: 1\nb: \"x\\\"\n"), Lines{"2:4 a quote that is not closed"});
  EXPECT_EQ(problems_of_yaml("a: 'it''s'\nb: \"x\\\"y\"\nc: |\n  don't\nd: 'two\n  lines'\n\"e\": 'f'\n"), Lines{});
}

// Ten levels of ten aliases each are ten thousand million nodes to a parser that expands them.
TEST(YamlTree, RejectsBillionLaughs) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  EXPECT_EQ(problems_of_yaml(text), Lines{"1:5 an anchor (&name)"});
}

TEST(YamlTree, DepthAndSizeAreBounded) {
  EXPECT_EQ(problems_of_yaml(std::string(kMaxYamlDepth, '[') + std::string(kMaxYamlDepth, ']')), Lines{});
  const Lines deep = problems_of_yaml(std::string(1000, '[') + std::string(1000, ']'));
  ASSERT_EQ(deep.size(), 1U);
  EXPECT_EQ(deep[0], "1:25 nested deeper than 24 levels");
  EXPECT_EQ(problems_of_yaml(std::string(100'000, '[')).size(), 1U);
  EXPECT_EQ(problems_of_yaml("a: " + std::string(kMaxYamlSize_B, 'x')),
            Lines{"1:1 the text has 1048579 bytes, more than 1048576"});
}

TEST(YamlTree, ContinuesAfterRepeatedKey) {
  ProblemList problems;
  const auto root = parse_yaml("a: 1\na: 2\nb: 3\n", problems);
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->find("a")->text, "1");
  EXPECT_EQ(root->find("b")->text, "3");
  EXPECT_EQ(root->keys.size(), 2U);
}

}  // namespace
}  // namespace weft::lab
