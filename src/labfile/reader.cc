#include "labfile/reader.h"

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "labfile/lab_fields.h"
#include "labfile/nodes/permissions.h"
#include "labfile/sections.h"
#include "model/qos_check.h"
#include "spec/world_limits.h"
#include "text/yaml_override.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::string_view kNodesExample = "nodes: {vm00: {kind: host, …}}";
constexpr std::uint64_t kMostUntrustedFlows = 4'000'000;  // some 200 MB
// Below the time of a packet nothing moves between two samples, and each takes memory.
constexpr Range<std::int64_t> kSampleIntervals{100 * kNanosecond_ps, 3600 * kSecond_ps};

void read_head(const MapReader& map, LabContext& context) {
  ProblemList& problems = context.problems;
  if (const YamlNode* node = map.require("version")) {
    const auto version = read_unsigned(*node, "version", {}, problems);
    if (version && *version != kVersion) {
      problems.add(node->place, fmt::format("version {} is not known", *version), "this weft reads version: 1");
    }
  }
  map.read(kLabKeys, context.lab);
  if (const YamlNode* node = map.get("sample")) {
    if (node->is_scalar() && node->text == "auto") {
      context.lab.sample_ps = 0;
    } else {
      store(context.lab.sample_ps, read_quantity(*node, "sample", Quantity::kTime, kSampleIntervals, problems));
    }
  }
}

// What the records of packets and the tables of routes can name.
void check_extent(const Place& place, LabContext& context) {
  constexpr std::size_t kMostSwitches = weft::kMaxSwitches;
  std::size_t ports = 0;
  for (const HostConfig& host : context.lab.hosts) {
    for (const NicConfig& nic : host.nics) ports += nic.ports.size();
  }
  for (const LinkConfig& link : context.lab.links)
    ports += (link.a.is_switch() ? 1U : 0U) + (link.b.is_switch() ? 1U : 0U);
  if (ports > kMaxHostPorts) {
    context.problems.add(place, fmt::format("the lab has {} ports of hosts and cabled ports of switches", ports),
                         fmt::format("at most {}: take fewer hosts, rails or links", kMaxHostPorts));
  }
  if (context.lab.switches.size() > kMostSwitches) {
    context.problems.add(place, fmt::format("the lab has {} switches", context.lab.switches.size()),
                         fmt::format("at most {}", kMostSwitches));
  }
}

void read_sections(const YamlNode& root, std::optional<std::uint64_t> seed, LabContext& context) {
  const MapReader map(root, "a lab", kLabKeys, context.problems);
  if (!map.ok()) return;
  read_head(map, context);
  if (seed) context.lab.seed = *seed;  // before flows are drawn with it
  const auto given = [&](std::string_view key) {
    const YamlNode* node = map.get(key);
    return node != nullptr && !node->is_null() ? node : nullptr;
  };
  if (const YamlNode* fabric = given("fabric")) read_fabric(*fabric, context);
  const YamlNode* nodes = map.get("fabric") != nullptr ? given("nodes") : map.require("nodes", kNodesExample);
  if (nodes != nullptr) read_nodes(*nodes, context);
  // Without nodes every name below would be unknown: one problem is enough.
  if (context.nodes.empty()) return;
  if (const YamlNode* links = given("links")) read_links(*links, context);
  check_port_addresses(context);
  if (context.has_vms) settle_vfs(context);
  check_extent(given("fabric") != nullptr ? given("fabric")->place : root.place, context);
  settle_topology(context, given("routing"));
  read_qos(given("qos"), context);

  using SectionReader = void (*)(const YamlNode&, LabContext&);
  constexpr std::pair<std::string_view, SectionReader> kSections[] = {
      {"mirrors", read_mirrors}, {"faults", read_faults}, {"workloads", read_workloads}, {"expect", read_expectations}};
  for (const auto& [key, read] : kSections) {
    if (const YamlNode* node = given(key)) read(*node, context);
  }
  check_unprotected(context);
}

}  // namespace

tl::expected<Lab, std::vector<Problem>> read_lab(std::string_view text, std::string_view file_name,
                                                 std::span<const std::string> overrides,
                                                 std::optional<std::uint64_t> seed, Trust trust) {
  ProblemList problems(overrides);
  LabContext context{Catalog::built_in(), problems};
  context.warnings = ProblemList(overrides);
  context.lab.file = file_name;
  context.lab.overrides.assign(overrides.begin(), overrides.end());
  if (auto root = parse_yaml(text, problems)) {
    apply_overrides(*root, overrides, problems);
    if (trust != Trust::kAll) {
      find_needs(*root, trust == Trust::kNoFiles, problems);
      context.most_flows = kMostUntrustedFlows;
    }
    if (trust == Trust::kAll || problems.empty()) read_sections(*root, seed, context);
  }
  if (!problems.empty()) return tl::unexpected(problems.take());
  context.lab.warnings = context.warnings.take();
  return std::move(context.lab);
}

tl::expected<FaultConfig, std::vector<Problem>> read_fault_of_lab(std::string_view text, std::string_view file_name,
                                                                  std::span<const std::string> overrides,
                                                                  std::optional<std::uint64_t> seed,
                                                                  const YamlNode& fault, std::size_t index) {
  ProblemList problems(overrides);
  LabContext context{Catalog::built_in(), problems};
  context.lab.file = file_name;
  if (auto root = parse_yaml(text, problems)) {
    apply_overrides(*root, overrides, problems);
    // What is said of faults, workloads and results has no bearing on it.
    for (std::string_view key : {"faults", "workloads", "expect"}) {
      if (YamlNode* section = root->find(key)) *section = {};
    }
    read_sections(*root, seed, context);
    read_fault(fault, index, context);
  }
  if (!problems.empty()) return tl::unexpected(problems.take());
  return std::move(context.lab.faults.back());
}

}  // namespace weft::lab
