// The schema that is made from the rows says what the reader says: the same units and catalog names, something about
// every key, and every lab that we ship conforms.
#include "text/schema.h"

#include <filesystem>
#include <set>

#include "labfile/lab_fields.h"
#include "support/matching.h"
#include "support/yaml_json.h"
#include "text/units.h"
#include "text/yaml_override.h"
#include "unit/labfile/json_schema.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

using Json = JsonSchema::Json;

const JsonSchema& schema() {
  static const JsonSchema instance(Json::parse(schema_of(kLabKeys, "Weft lab, version 1")));
  return instance;
}

using test::to_json;
std::vector<std::string> schema_errors(std::string_view text) {
  ProblemList problems;
  const auto root = parse_yaml(text, problems);
  EXPECT_TRUE(root.has_value());
  return root ? schema().errors_of(to_json(*root)) : std::vector<std::string>{};
}

TEST(Schema, DescribesEveryKey) {
  int keys = 0;
  std::set<std::string_view> names;
  for (const Section* section : sections_below(kLabKeys)) {
    EXPECT_TRUE(names.insert(section->name).second) << section->name;
    for (const FieldInfo& field : section->fields) {
      ++keys;
      EXPECT_FALSE(field.help.empty()) << section->name << "." << field.key;
    }
  }
  EXPECT_GE(keys, 350);
  const auto described = [](const Json& object) {
    const Json properties = object.value("properties", Json::object());
    for (const auto& [key, value] : properties.items()) EXPECT_FALSE(value.value("description", "").empty()) << key;
  };
  described(schema().root());
  for (const auto& [name, definition] : schema().root().at("definitions").items()) described(definition);
}

// A key of one map in another, and a word that none has, at every map of a lab.
TEST(Schema, RefusesKeysThatReaderRefuses) {
  constexpr std::string_view kLab = R"(version: 1
name: all
nodes:
  a: {kind: host, set: {post_loop: 1 ns}, cpu: {stress: 1}, nics: [{model: cx5-100g, set: {ports: 1}, ports: {p0: {address: 10.0.0.1/24}}}]}
  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24}}}]}
  s: {kind: switch, model: sn3700c, set: {cell: 144 B}, ports: {swp1: {mtu: 9000 B}}, routing: {hash_seed: 1}, routes: [{to: b, via: [swp2]}]}
links:
  - {endpoints: ["a:p0", "s:swp1"], cable: {length: 1 m}}
  - endpoints: ["b:p0", "s:swp2"]
qos:
  profile: roce-lossless
  pfc: {quanta: 65535, watchdog: {poll: 100 ms}}
  queues: {3: {weight: 50, ecn: {min: 100 kB}}}
  groups: {3: {alpha: 0}}
  buffer: {ingress_pool: auto}
  congestion: {RPG_AI_RATE: 5}
mirrors: [{port: "s:swp1"}]
faults: [{link: "a:p0", action: drop}]
workloads:
  - {name: bw, perftest: write_bw, client: a, server: b}
  - {name: w, transfer: write, client: a, server: b}
  - {name: f, flows: graph, list: [{name: x, from: a, to: b, size: 1 B}]}
  - {name: i, iperf3: -t 1, client: a, server: b}
expect: {bw.bw_average_Gbps: {min: 1}}
)";
  ASSERT_EQ(problems_of(kLab), std::vector<std::string>{});
  ASSERT_EQ(schema_errors(kLab), std::vector<std::string>{});
  ProblemList problems;
  const auto root = parse_yaml(kLab, problems);
  int maps = 0;
  const auto visit = [&](const YamlNode& node, const std::string& path, bool names, const auto& self) -> void {
    if (node.is_map() && !names) {
      ++maps;
      for (const char* key : {"colour", "vm_of", "hidden", "jobb"}) {
        const std::string set = path + (path.empty() ? "" : ".") + key + "=1";
        YamlNode changed = *root;
        const std::vector<std::string> overrides{set};
        ProblemList own(overrides);
        apply_overrides(changed, overrides, own);
        EXPECT_FALSE(schema().errors_of(to_json(changed)).empty()) << set;
        EXPECT_FALSE(read_lab(kLab, "all.yaml", overrides)) << set;
      }
    }
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const std::string key = node.is_map() ? node.keys[i].text : "";
      const bool by_name = key == "nodes" || key == "ports" || key == "expect" || key == "queues" || key == "groups";
      const bool dotted = key.find('.') != std::string::npos;
      if (dotted) continue;
      self(node.children[i],
           node.is_map() ? path + (path.empty() ? "" : ".") + key : path + "[" + std::to_string(i) + "]",
           by_name && node.children[i].is_map(), self);
    }
  };
  visit(*root, "", false, visit);
  EXPECT_GE(maps, 30);
}

TEST(Schema, AcceptsAndRejectsSameFabricsAsReader) {
  constexpr std::string_view kSmallFabric = R"(version: 1
name: fabric
fabric: {template: single-switch, hosts: 4, switch: sn3700c, host: {nic: cx5-100g, mtu: 4200 B}}
qos:
  profile: roce-lossless
  dscp_to_priority: {40-47: 5}
  pfc: {watchdog: {detection: 200 ms}}
  queues: {3: {alpha: -2, ecn: {min: 100 kB, max: 400 kB, probability: 20 %}}}
  groups: {3: {headroom: auto}}
  congestion: {algorithm: dcqcn, RPG_AI_RATE: 5}
workloads: [{name: f, flows: incast, hosts: all, to: h0, size: 1 MB}]
)";
  EXPECT_EQ(schema_errors(kSmallFabric), std::vector<std::string>{});
  EXPECT_EQ(problems_of(kSmallFabric), std::vector<std::string>{});
  const std::pair<std::string_view, std::string_view> kBad[] = {{"single-switch", "singleton"},
                                                                {"sn3700c", "sn3700z"},
                                                                {"host: {nic: cx5-100g", "host: {nik: cx5-100g"},
                                                                {"40-47: 5", "40-47: 8"},
                                                                {"detection: 200 ms", "x: 1"},
                                                                {"headroom: auto", "headroom: much"},
                                                                {"RPG_AI_RATE: 5", "rpg_ai_rate: 5"},
                                                                {"flows: incast", "flows: burst"},
                                                                {"profile: roce-lossless", "profile: roce"}};
  for (const auto& [old_text, new_text] : kBad) {
    std::string text(kSmallFabric);
    text.replace(text.find(old_text), old_text.size(), new_text);
    EXPECT_FALSE(schema_errors(text).empty()) << new_text;
    EXPECT_FALSE(problems_of(text).empty()) << new_text;
  }
}

TEST(Schema, HasUnitsOfReader) {
  const std::pair<const char*, Quantity> kQuantities[] = {{"rate", Quantity::kBitRate},
                                                          {"length", Quantity::kLength},
                                                          {"size", Quantity::kSize},
                                                          {"time", Quantity::kTime},
                                                          {"probability", Quantity::kProbability},
                                                          {"packets", Quantity::kPackets},
                                                          {"message_rate", Quantity::kMessageRate}};
  for (const auto& [name, quantity] : kQuantities) {
    const auto pattern = schema().root().at("definitions").at(name).at("pattern").get<std::string>();
    for (const Unit& unit : units_of(quantity)) {
      for (const char* number : {"7 ", "7", "7.5 ", "0 "}) {
        EXPECT_FALSE(test::match(number + std::string(unit.name), pattern).empty())
            << name << " " << number << unit.name;
      }
    }
    for (const char* bad : {"7", "7 parsec", "-7 B", "07 B", "7  B", "7 m ", "0x7 B"}) {
      EXPECT_TRUE(test::match(bad, pattern).empty() || parse_quantity(bad, quantity)) << name << " " << bad;
    }
  }
}

TEST(Schema, RejectsSameLabsAsReader) {
  EXPECT_TRUE(schema_errors(kGoodLab).empty());
  const std::pair<const char*, const char*> kBad[] = {
      {"version: 1", "version: 2"},
      {"name: good\n", ""},
      {"name: good", "nmae: good"},
      {"kind: host", "kind: switch"},
      {"model: cx4-lx-25g", "model: cx4"},
      {"mtu: 4200 B", "mtu: 4.2"},
      {"mtu: 4200 B", "mtu: 4200 m"},
      {"{address: 10.0.1.1/24}", "{address: 10.0.1.1}"},
      {"{address: 10.0.1.1/24}", "{mtu: 1500 B}"},
      {"[\"vm00:p0\", \"vm01:p0\"]", "[\"vm00:p0\"]"},
      {"[\"vm00:p0\", ", "[vm00, "},
      {"perftest: write_bw", "perftest: write"},
      {"perftest: write_bw", "perftest: write_bw, transfer: write"},
      {"perftest: write_bw, ", ""},
      {"perftest: write_bw, ", "perftest: write_bw, size: 1 B, "},
      {"transfer: write, ", "transfer: write, args: -a, "},
      {"transfer: write, ", "transfer: write, retry_cnt: 8, "},
      {"perftest: write_bw, client: vm00, server: vm01", "program: []"},
      {"perftest: write_bw, client: vm00, server: vm01", "program: [{node: vm00}]"},
      {"perftest: write_bw, client: vm00, server: vm01", "program: [{node: vm00, command: x, find: [y]}]"},
      {"perftest: write_bw, client", "program: [{node: vm00, command: x}], client"},
  };
  for (const auto& [old_text, new_text] : kBad) {
    const std::string text = good_lab_with(old_text, new_text);
    EXPECT_FALSE(schema_errors(text).empty()) << old_text << " -> " << new_text;
    EXPECT_FALSE(problems_of(text).empty()) << old_text << " -> " << new_text;
  }
  for (const char* more :
       {"faults: [{link: \"vm00:p0\", action: drop, transmission: 1}]\n", "qos: {dscp: 64}\n", "qos: {ecn: \"on\"}\n",
        "expect: {bw.bw_average_Gbps: {}}\n", "expect: {bw.bw_average_Gbps: {min: 1, equal: 1}}\n"}) {
    EXPECT_FALSE(schema_errors(good_lab_and(more)).empty()) << more;
    EXPECT_FALSE(problems_of(good_lab_and(more)).empty()) << more;
  }
}

TEST(Schema, ShippedLabsConformAndAreRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR) + "/labs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const std::string path = std::filesystem::relative(entry.path(), WEFT_SOURCE_DIR).string();
    const std::string text = read_source_file(path);
    EXPECT_EQ(schema_errors(text), std::vector<std::string>{}) << path;
    const auto lab = read_lab(text, std::string(WEFT_SOURCE_DIR) + "/" + path);  // what it names lies beside it
    ASSERT_TRUE(lab) << path << ": " << lab.error().front().message;
    EXPECT_NE(text.find("What to look at:"), std::string::npos) << path;
    EXPECT_TRUE(!lab->expectations.empty() || first_outside(*lab) != nullptr) << path;
  }
  EXPECT_GE(count, 16);
}

}  // namespace
}  // namespace weft::lab
