#include "text/yaml_edit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "text/yaml_override.h"
#include "text/yaml_tree.h"

namespace weft::lab {
namespace {

constexpr const char* kText = R"(# Title.
version: 1
name: incast   # the name
fabric:
  hosts: 17
  host: {nic: cx5-100g, mtu: 4200 B}   # all alike
  cable: {kind: dac}

qos:
  profile: roce-lossless
workloads:
  - {name: incast, flows: incast, size: 2 MB}
  - name: second
    args: "-s 64"  # small
expect:
  incast.done: {min: 16}
)";

std::string edited(std::string_view path, std::optional<std::string> value, std::string_view text = kText) {
  auto result = edit_yaml(text, path, value);
  return result ? *result : "error: " + result.error();
}

// The text with `from` replaced by `to`: everything else is as it was.
std::string with(std::string from, std::string to) {
  std::string text = kText;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(YamlEdit, KeepsCommentsAroundValues) {
  EXPECT_EQ(edited("name", "other"), with("incast   # the name", "other   # the name"));
  EXPECT_EQ(edited("fabric.host.mtu", "1500 B"), with("4200 B", "1500 B"));
  EXPECT_EQ(edited("fabric.host.nic", "cx6-200g"), with("cx5-100g", "cx6-200g"));
  EXPECT_EQ(edited("workloads[incast].size", "4 MB"), with("2 MB", "4 MB"));
  EXPECT_EQ(edited("workloads[second].args", "'-a'"), with("\"-s 64\"", "\"-a\""));
}

TEST(YamlEdit, AddsKeysWhereTheyBelong) {
  EXPECT_EQ(edited("fabric.leaves", "2"), with("  cable: {kind: dac}\n", "  cable: {kind: dac}\n  leaves: 2\n"));
  EXPECT_EQ(edited("fabric.cable.length", "2 m"), with("{kind: dac}", "{kind: dac, length: 2 m}"));
  EXPECT_EQ(edited("qos.queues.3.ecn.min", "150 kB"),
            with("roce-lossless\n", "roce-lossless\n  queues: {3: {ecn: {min: 150 kB}}}\n"));
  EXPECT_EQ(edited("seed", "3"), std::string(kText, std::string_view(kText).size() - 1) + "\nseed: 3\n");
}

TEST(YamlEdit, ReplacesMapsAndTakesKeysAway) {
  EXPECT_EQ(edited("fabric.cable", "{kind: aoc, length: 10 m}"), with("{kind: dac}", "{kind: aoc, length: 10 m}"));
  EXPECT_EQ(edited("fabric.hosts", std::nullopt), with("  hosts: 17\n", ""));
  EXPECT_EQ(edited("fabric.host.nic", std::nullopt), with("nic: cx5-100g, ", ""));
  EXPECT_EQ(edited("fabric.host.mtu", std::nullopt), with(", mtu: 4200 B", ""));
  EXPECT_EQ(edited("fabric.nothing", std::nullopt), kText);
  EXPECT_EQ(edited("qos", "{profile: none}"), with("qos:\n  profile: roce-lossless", "qos: {profile: none}"));
}

TEST(YamlEdit, RemovesEmptyParents) {
  const std::string added = edited("qos.queues.3.ecn.min", "150 kB");
  EXPECT_EQ(edited("qos.queues.3.ecn.min", std::nullopt, added), kText);
  const std::string two = edited("qos.queues.3.ecn.max", "1 MB", added);
  EXPECT_EQ(edited("qos.queues.3.ecn.max", std::nullopt, two), added);
  EXPECT_EQ(edited("qos.profile", std::nullopt), with("qos:\n  profile: roce-lossless\n", ""));
  EXPECT_EQ(edited("expect.incast.done.min", std::nullopt, "expect: {incast: {done: {min: 1}}, a: 2}\n"),
            "expect: {a: 2}\n");
  // An item of a list stays, and so does the text.
  EXPECT_EQ(edited("list[0].a", std::nullopt, "list: [{a: 1}, {b: 2}]\n"), "list: [{}, {b: 2}]\n");
  EXPECT_EQ(edited("list[0].a", std::nullopt, "list: [{a: 1}]\n"), "list: [{}]\n");
}

// An item of a list is not taken away, whether it has others beside it or not.
TEST(YamlEdit, KeepsItemsOfLists) {
  for (const char* text : {"list: [{a: 1}]\n", "list: [{a: 1}, {b: 2}]\n", "list:\n  - a: 1\n", "list: [x]\n",
                           "outer: {list: [[x]]}\n", "list: [~]\n"}) {
    const char* path = text[0] == 'o' ? "outer.list[0]" : "list[0]";
    EXPECT_TRUE(edited(path, std::nullopt, text).starts_with("error: ")) << text;
  }
  EXPECT_TRUE(edited("outer.list[0][0]", std::nullopt, "outer: {list: [[x]]}\n").starts_with("error: "));
  EXPECT_TRUE(edited("[0]", std::nullopt, "[x]\n").starts_with("error: "));
}

TEST(YamlEdit, ReportsWhatCannotBeChanged) {
  EXPECT_TRUE(edited("name.inner", "1").starts_with("error: "));
  EXPECT_TRUE(edited("workloads[third].size", "1").starts_with("error: "));
  EXPECT_TRUE(edited("workloads[second].name", std::nullopt).starts_with("error: "));
  EXPECT_TRUE(edited("name", "x", "a: {").starts_with("error: "));
}

// In every ready lab: scalars of one line can be changed, and keys added to maps, with the effect of --set and no
// other. A part of them, to be quick.
TEST(YamlEdit, ReadyLabsCanBeEditedAtEveryPath) {
  std::size_t edits = 0, count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR) + "/labs")) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    ProblemList problems;
    const auto root = parse_yaml(text, problems);
    ASSERT_TRUE(root) << entry.path();
    const auto walk = [&](const auto& self, const YamlNode& node, const std::string& path) -> void {
      ++count;
      if (count % 40 == 0 && !path.empty()) {  // taken away, or why not
        const auto result = edit_yaml(text, path, std::nullopt);
        EXPECT_TRUE(result || !result.error().empty()) << entry.path() << " " << path;
      }
      if (node.is_scalar() && count % 5 == 0 && node.text.find('\n') == std::string::npos) {
        const auto result = edit_yaml(text, path, "changed");
        EXPECT_TRUE(result) << entry.path() << " " << path << ": " << (result ? "" : result.error());
        ++edits;
      }
      if (node.is_map() && count % 5 == 0 && !node.children.empty()) {
        const auto result = edit_yaml(text, path + (path.empty() ? "" : ".") + "added_key", "{a: 1}");
        EXPECT_TRUE(result) << entry.path() << " " << path << " added: " << (result ? "" : result.error());
        ++edits;
      }
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (node.is_map() && node.keys[i].text.find_first_of("[]") != std::string::npos) continue;
        self(self, node.children[i],
             node.is_map() ? path + (path.empty() ? "" : ".") + node.keys[i].text
                           : path + "[" + std::to_string(i) + "]");
      }
    };
    walk(walk, *root, "");
  }
  EXPECT_GT(edits, 500u);
}

}  // namespace
}  // namespace weft::lab
