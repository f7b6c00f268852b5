// schema/lab.schema.json says what the reader says: the same keys, words, units and catalog names, and
// every lab that we ship conforms.
#include <filesystem>
#include <set>

#include "catalog/catalog.h"
#include "catalog/model_fields.h"
#include "labfile/words.h"
#include "support/matching.h"
#include "text/units.h"
#include "unit/labfile/json_schema.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

using Json = JsonSchema::Json;
using Names = std::set<std::string>;

const JsonSchema& schema() {
  static const JsonSchema instance(Json::parse(read_source_file("schema/lab.schema.json")));
  return instance;
}
const Json& definition(const std::string& name) {
  return schema().root().at("$defs").at(name);
}

Names keys_of(const Json& object) {
  Names names;
  for (const auto& [key, value] : object.at("properties").items()) names.insert(key);
  return names;
}
Names words_of(const Json& property) {
  Names names;
  for (const Json& word : property.at("enum")) names.insert(word.get<std::string>());
  return names;
}
template <class Range>
Names names_of(const Range& range) {
  return Names(range.begin(), range.end());
}
template <class Enum>
Names names_of(std::span<const Word<Enum>> words) {
  Names names;
  for (const auto& word : words) names.insert(std::string(word.text));
  return names;
}
const Json& property(const std::string& name, const std::string& key) {
  return definition(name).at("properties").at(key);
}

// What YAML 1.2 makes of the tree.
Json to_json(const YamlNode& node) {
  Json json;
  if (node.is_map()) {
    json = Json::object();
    for (std::size_t i = 0; i < node.keys.size(); ++i) json[node.keys[i].text] = to_json(node.children[i]);
  } else if (node.is_sequence()) {
    json = Json::array();
    for (const YamlNode& child : node.children) json.push_back(to_json(child));
  } else if (node.is_scalar()) {
    json = node.text;
    if (node.quoted) return json;
    if (node.text == "true" || node.text == "false") json = node.text == "true";
    if (const auto whole = parse_unsigned(node.text)) return *whole;
    if (const auto number = parse_number(node.text)) return *number;
  }
  return json;
}
std::vector<std::string> schema_errors(std::string_view text) {
  ProblemList problems;
  const auto root = parse_yaml(text, problems);
  EXPECT_TRUE(root.has_value());
  return root ? schema().errors_of(to_json(*root)) : std::vector<std::string>{};
}

TEST(Schema, HasKeysOfReader) {
  EXPECT_EQ(keys_of(schema().root()), names_of(lab_keys()));
  EXPECT_EQ(keys_of(definition("host")), names_of(node_keys()));
  EXPECT_EQ(keys_of(definition("vm")), names_of(vm_keys()));
  EXPECT_EQ(keys_of(definition("vm_nic")), names_of(vm_nic_keys()));
  EXPECT_EQ(keys_of(definition("outside")), names_of(outside_keys()));
  EXPECT_EQ(keys_of(property("outside", "udp")), names_of(udp_keys()));
  EXPECT_EQ(keys_of(definition("switch")), names_of(switch_keys()));
  EXPECT_EQ(keys_of(definition("switch_port")), names_of(switch_port_keys()));
  EXPECT_EQ(keys_of(definition("forwarder")), names_of(forwarder_keys()));
  EXPECT_EQ(keys_of(definition("forwarder_port")), names_of(forwarder_port_keys()));
  EXPECT_EQ(keys_of(definition("qdisc")), names_of(qdisc_keys()));
  EXPECT_EQ(words_of(property("qdisc", "kind")), names_of(qdisc_words()));
  EXPECT_EQ(keys_of(definition("routing")), names_of(routing_keys()));
  EXPECT_EQ(keys_of(definition("mirror")), names_of(mirror_keys()));
  EXPECT_EQ(words_of(property("mirror", "as")), names_of(mirror_words()));
  EXPECT_EQ(words_of(property("mirror", "direction")), names_of(mirror_direction_words()));
  EXPECT_EQ(keys_of(definition("route")), names_of(route_keys()));
  EXPECT_EQ(keys_of(definition("fabric")), names_of(fabric_keys()));
  EXPECT_EQ(keys_of(definition("fabric_host")), names_of(fabric_host_keys()));
  EXPECT_EQ(keys_of(definition("nic")), names_of(nic_keys()));
  EXPECT_EQ(keys_of(definition("gpu")), names_of(gpu_keys()));
  EXPECT_EQ(keys_of(definition("layout")), names_of(layout_keys()));
  EXPECT_EQ(keys_of(definition("numactl")), names_of(numactl_keys()));
  EXPECT_EQ(keys_of(definition("port")), names_of(port_keys()));
  EXPECT_EQ(keys_of(definition("link")), names_of(link_keys()));
  EXPECT_EQ(keys_of(definition("cable")), names_of(cable_keys()));
  EXPECT_EQ(keys_of(definition("qos")), names_of(qos_keys()));
  EXPECT_EQ(keys_of(definition("pfc")), names_of(pfc_keys()));
  EXPECT_EQ(keys_of(definition("watchdog")), names_of(watchdog_keys()));
  EXPECT_EQ(keys_of(definition("queue")), names_of(queue_keys()));
  EXPECT_EQ(keys_of(definition("ecn")), names_of(ecn_keys()));
  EXPECT_EQ(keys_of(definition("group")), names_of(group_keys()));
  EXPECT_EQ(keys_of(definition("buffer")), names_of(buffer_keys()));
  EXPECT_EQ(keys_of(definition("congestion")), names_of(congestion_keys()));
  EXPECT_EQ(keys_of(definition("fault")), names_of(fault_keys()));
  EXPECT_EQ(keys_of(definition("workload")), names_of(workload_keys()));
  EXPECT_EQ(keys_of(definition("graph_flow")), names_of(graph_flow_keys()));
  EXPECT_EQ(keys_of(definition("job")), names_of(job_keys()));
  EXPECT_EQ(keys_of(definition("job_model")), names_of(job_model_keys()));
  EXPECT_EQ(keys_of(definition("job_parallel")), names_of(job_parallel_keys()));
  EXPECT_EQ(keys_of(definition("job_slow")), names_of(job_slow_keys()));
  EXPECT_EQ(keys_of(definition("program")), names_of(program_keys()));
  EXPECT_EQ(keys_of(definition("expectation")), names_of(expectation_keys()));
  EXPECT_EQ(keys_of(definition("nic_set")), names_of(settable_nic_keys()));
  EXPECT_EQ(keys_of(definition("host_set")), names_of(settable_host_keys()));
  EXPECT_EQ(keys_of(definition("switch_set")), names_of(settable_switch_keys()));
  EXPECT_EQ(keys_of(definition("forwarder_set")), names_of(settable_forwarder_keys()));
}

TEST(Schema, HasWordsOfReader) {
  const Catalog& catalog = Catalog::built_in();
  EXPECT_EQ(words_of(definition("nic_model")), names_of(catalog.names(CatalogKind::kNic)));
  EXPECT_EQ(words_of(definition("host_profile")), names_of(catalog.names(CatalogKind::kHost)));
  EXPECT_EQ(words_of(definition("gpu_model")), names_of(catalog.names(CatalogKind::kGpu)));
  EXPECT_EQ(words_of(property("host", "gpu_fabric")), names_of(gpu_fabric_words()));
  EXPECT_EQ(words_of(property("host", "iommu")), names_of(iommu_words()));
  EXPECT_EQ(words_of(property("host", "pages")), names_of(page_words()));
  EXPECT_EQ(words_of(definition("switch_model")), names_of(catalog.names(CatalogKind::kSwitch)));
  EXPECT_EQ(words_of(definition("forwarder_model")), names_of(catalog.names(CatalogKind::kForwarder)));
  EXPECT_EQ(words_of(schema().root().at("properties").at("network")), names_of(network_words()));
  EXPECT_EQ(words_of(property("fabric", "template")), names_of(template_words()));
  EXPECT_EQ(words_of(property("routing", "balancing")), names_of(balancing_words()));
  EXPECT_EQ(words_of(property("routing", "hash")), names_of(hash_words()));
  EXPECT_EQ(words_of(property("qos", "profile")), names_of(profile_words()));
  EXPECT_EQ(words_of(property("qos", "trust")), names_of(trust_words()));
  EXPECT_EQ(words_of(property("pfc", "mode")), names_of(flow_control_words()));
  EXPECT_EQ(words_of(property("watchdog", "action")), names_of(watchdog_words()));
  EXPECT_EQ(words_of(property("ecn", "mark")), names_of(mark_words()));
  EXPECT_EQ(words_of(property("ecn", "not_ect")), names_of(not_ect_words()));
  EXPECT_EQ(words_of(property("queue", "scheduling")), names_of(scheduling_words()));
  EXPECT_EQ(words_of(property("congestion", "algorithm")), names_of(congestion_words()));
  EXPECT_EQ(words_of(property("workload", "flows")), names_of(flow_pattern_words()));
  EXPECT_EQ(words_of(property("workload", "op")), names_of(flow_op_words()));
  EXPECT_EQ(words_of(property("workload", "telemetry")), names_of(telemetry_words()));
  EXPECT_EQ(words_of(property("cable", "kind")), names_of(cable_words()));
  Names fec = names_of(fec_words());
  fec.insert("auto");
  EXPECT_EQ(words_of(definition("fec")), fec);
  EXPECT_EQ(words_of(property("fault", "action")), names_of(fault_action_words()));
  EXPECT_EQ(words_of(property("fault", "frames")), names_of(fault_frames_words()));
  Names tests;
  for (std::string_view test : perftest_words()) tests.insert({std::string(test), "ib_" + std::string(test)});
  EXPECT_EQ(words_of(property("workload", "perftest")), tests);
  EXPECT_EQ(words_of(property("workload", "transfer")), names_of(transfer_words()));
  EXPECT_EQ(words_of(property("workload", "misuse")), names_of(misuse_words()));
  EXPECT_EQ(words_of(property("job", "kind")), names_of(job_kind_words()));
  EXPECT_EQ(words_of(property("job", "precision")), names_of(job_precision_words()));
  EXPECT_EQ(words_of(property("job", "gradients")), names_of(job_precision_words()));
  EXPECT_EQ(words_of(property("job", "recompute")), names_of(job_recompute_words()));
  EXPECT_EQ(words_of(property("nic_set", "ack_timeout_mode")), names_of(ack_timeout_words()));
  EXPECT_EQ(words_of(property("nic_set", "cnp_scope")), names_of(cnp_scope_words()));
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
    const auto pattern = definition(name).at("pattern").get<std::string>();
    for (const Unit& unit : units_of(quantity)) {
      for (const char* number : {"7 ", "7", "7.5 ", "0 "}) {
        EXPECT_FALSE(test::match(number + std::string(unit.name), pattern).empty())
            << name << " " << number << unit.name;
      }
    }
    for (const char* bad : {"7", "7 parsec", "-7 B", "07 B", "7  B", "7 m ", "0x7 B"}) {
      EXPECT_TRUE(test::match(bad, pattern).empty() || parse_quantity(bad, quantity)) << name << " " << bad;
    }
    EXPECT_TRUE(parse_quantity(definition(name).at("examples").at(0).get<std::string>(), quantity)) << name;
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
