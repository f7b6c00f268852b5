#include "lab/lab_reader.h"

#include <fmt/format.h>

#include "lab/catalog.h"
#include "lab/lab_sections.h"
#include "lab/lab_words.h"
#include "lab/yaml_override.h"
#include "lab/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr std::uint64_t kVersion = 1;

void read_head(const MapReader& map, LabContext& context) {
  ProblemList& problems = context.problems;
  if (const YamlNode* node = map.require("version", "version: 1")) {
    const auto version = read_unsigned(*node, "version", {}, problems);
    if (version && *version != kVersion) {
      problems.add(node->place, fmt::format("version {} is not known", *version), "this weft reads version: 1");
    }
  }
  if (const YamlNode* node = map.require("name", "name: my-first-lab")) {
    store(context.lab.name, read_name(*node, "name", problems));
  }
  if (const YamlNode* node = map.get("description")) {
    store(context.lab.description, read_text(*node, "description", problems));
  }
  if (const YamlNode* node = map.get("seed")) store(context.lab.seed, read_unsigned(*node, "seed", {}, problems));
}

void read_sections(const YamlNode& root, LabContext& context) {
  const MapReader map(root, "a lab", lab_keys(), context.problems);
  if (!map.ok()) return;
  read_head(map, context);
  const YamlNode* nodes = map.require("nodes", "nodes: {vm00: {kind: host, …}}");
  if (nodes != nullptr) read_nodes(*nodes, context);
  // Without nodes every name below would be unknown: one problem is enough.
  if (context.hosts.empty()) return;

  using SectionReader = void (*)(const YamlNode&, LabContext&);
  constexpr std::pair<std::string_view, SectionReader> kSections[] = {{"links", read_links},
                                                                      {"qos", read_qos},
                                                                      {"faults", read_faults},
                                                                      {"workloads", read_workloads},
                                                                      {"expect", read_expectations}};
  for (const auto& [key, read] : kSections) {
    const YamlNode* node = map.get(key);
    if (node != nullptr && !node->is_null()) read(*node, context);
  }
}

}  // namespace

tl::expected<Lab, std::vector<Problem>> read_lab(std::string_view text, std::string_view file_name,
                                                 std::span<const std::string> overrides,
                                                 std::optional<std::uint64_t> seed) {
  ProblemList problems(overrides);
  LabContext context{Catalog::built_in(), problems, {}, {}, true, {}, {}};
  context.lab.file = file_name;
  context.lab.overrides.assign(overrides.begin(), overrides.end());
  if (auto root = parse_yaml(text, problems)) {
    apply_overrides(*root, overrides, problems);
    read_sections(*root, context);
  }
  if (!problems.empty()) return tl::unexpected(problems.take());
  if (seed) context.lab.seed = *seed;
  return std::move(context.lab);
}

}  // namespace weft::lab
