#include "text/yaml_walk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::lab {
namespace {

class YamlWalk : public ::testing::Test {
 protected:
  YamlNode value(const std::string& yaml) { return *parse_yaml(yaml, problems_); }
  std::string problem() {
    const auto list = problems_.take();
    return list.size() == 1
               ? fmt::format("{}:{} {} | {}", list[0].line, list[0].column, list[0].message, list[0].remedy)
               : fmt::format("{} problems", list.size());
  }
  ProblemList problems_;
};

TEST_F(YamlWalk, ReportsUnknownKeys) {
  constexpr std::string_view kKeys[] = {"address", "mtu"};
  const YamlNode node = value("adress: 1\nmtu: 2\n");
  const MapReader map(node, "port p0", kKeys, problems_);
  EXPECT_TRUE(map.ok());
  EXPECT_EQ(problem(), "1:1 port p0 has no key \"adress\" | did you mean address?");
  EXPECT_NE(map.get("mtu"), nullptr);
  EXPECT_EQ(map.require("address", "address: 10.0.0.1/24"), nullptr);
  EXPECT_EQ(problem(), "1:1 port p0 has no \"address\" | add address: 10.0.0.1/24");
  const YamlNode list = value("[1]");
  EXPECT_FALSE(MapReader(list, "port p0", kKeys, problems_).ok());
  EXPECT_EQ(problem(), "1:1 port p0 is a list, not a map | keys of port p0: address, mtu");
}

TEST_F(YamlWalk, RangesUseUnitOfValue) {
  EXPECT_EQ(read_quantity(value("3 us"), "delay", Quantity::kTime, {0, 5'000'000}, problems_), 3'000'000);
  EXPECT_FALSE(read_quantity(value("6 us"), "delay", Quantity::kTime, {0, 5'000'000}, problems_));
  EXPECT_EQ(problem(), "1:1 delay 6 us is too large | at most 5 us");
  EXPECT_FALSE(read_quantity(value("0 B"), "size", Quantity::kSize, {1, 10}, problems_));
  EXPECT_EQ(problem(), "1:1 size 0 B is too small | at least 1 B");
  EXPECT_FALSE(read_unsigned(value("8"), "priority", {0, 7}, problems_));
  EXPECT_EQ(problem(), "1:1 priority 8 is out of range | it goes from 0 to 7");
}

TEST_F(YamlWalk, RejectsWrongKinds) {
  EXPECT_FALSE(read_unsigned(value("[1]"), "seed", {}, problems_));
  EXPECT_EQ(problem(), "1:1 seed is a list | write one value");
  EXPECT_FALSE(read_bool(value("{a: 1}"), "ecn", problems_));
  EXPECT_EQ(problem(), "1:1 ecn is a map | write one value");
  EXPECT_EQ(read_list(value("a"), "links", problems_), nullptr);
  EXPECT_EQ(problem(), "1:1 links is a single value, not a list | write items that start with a dash, or [a, b]");
}

TEST_F(YamlWalk, BareBooleansAreNotNames) {
  EXPECT_EQ(read_name(value("\"on\""), "name", problems_), "on");
  EXPECT_FALSE(read_name(value("on"), "name", problems_));
  EXPECT_EQ(problem(), "1:1 name: on is a boolean in YAML 1.1 | write \"on\" in quotes, or choose another word");
  EXPECT_FALSE(read_text(value("No"), "description", problems_));
  EXPECT_EQ(problem(), "1:1 description: No is a boolean in YAML 1.1 | write \"No\" in quotes, or choose another word");
  for (const char* text : {"a b", "-a", "_a", "a.b", "a:b", "a/b", "\"\"", "é"}) {
    EXPECT_FALSE(read_name(value(text), "name", problems_)) << text;
    EXPECT_NE(problem().find("is not a name"), std::string::npos) << text;
  }
  EXPECT_FALSE(read_name(value(std::string(64, 'a')), "name", problems_));
}

TEST_F(YamlWalk, Choices) {
  constexpr Word<int> kWords[] = {{"dac", 1}, {"aoc", 2}};
  EXPECT_EQ(read_choice<int>(value("aoc"), "cable", kWords, problems_), 2);
  EXPECT_FALSE(read_choice<int>(value("AOC"), "cable", kWords, problems_));
  EXPECT_EQ(problem(), "1:1 cable \"AOC\" is not known | write one of dac, aoc");
}

}  // namespace
}  // namespace weft::lab
