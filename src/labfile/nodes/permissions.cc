#include "labfile/nodes/permissions.h"

#include <fmt/format.h>

#include "text/yaml_override.h"
#include "text/yaml_tree.h"

namespace weft::lab {
namespace {

// NCCL_TOPO_FILE, NCCL_GRAPH_DUMP_FILE, NCCL_CONF_FILE, and plugins that NCCL would load.
bool names_nccl_file(std::string_view key) {
  return key.starts_with("NCCL_") && (key.find("FILE") != key.npos || key.find("PLUGIN") != key.npos);
}

// `file` is that of flows (matrix, graph) and of jobs (Chakra, SimAI).
void find_in_workloads(const YamlNode& node, bool only_files, ProblemList& needed) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const YamlNode& child = node.children[i];
    if (node.is_map()) {
      const YamlKey& key = node.keys[i];
      if (key.text == "program") {
        if (!only_files) needed.add(key.place, "this workload starts programs");
      } else if (key.text == "file" || names_nccl_file(key.text)) {
        needed.add(key.place, fmt::format("{} names a file of this machine", key.text));
      }
    }
    find_in_workloads(child, only_files, needed);
  }
}

void find_in_nodes(const YamlNode& node, ProblemList& needed) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const YamlNode& child = node.children[i];
    if (node.is_map()) {
      const YamlKey& key = node.keys[i];
      if (key.text == "tap" || key.text == "udp" || (key.text == "kind" && child.text == "outside")) {
        needed.add(key.place, "this node is a port to the outside");
        return;
      }
    }
    find_in_nodes(child, needed);
  }
}

std::vector<Problem> needs_of(std::string_view text, std::span<const std::string> overrides, bool only_files) {
  ProblemList ignored(overrides), needed(overrides);
  auto root = parse_yaml(text, ignored);
  if (!root) return {};
  apply_overrides(*root, overrides, ignored);
  find_needs(*root, only_files, needed);
  return needed.take();
}

}  // namespace

void find_needs(const YamlNode& root, bool only_files, ProblemList& needed) {
  if (const YamlNode* workloads = root.find("workloads")) find_in_workloads(*workloads, only_files, needed);
  const YamlNode* nodes = root.find("nodes");
  if (nodes != nullptr && !only_files) find_in_nodes(*nodes, needed);
}

std::vector<Problem> permissions_needed(std::string_view text, std::span<const std::string> overrides) {
  return needs_of(text, overrides, false);
}

std::vector<Problem> files_named(std::string_view text, std::span<const std::string> overrides) {
  return needs_of(text, overrides, true);
}

}  // namespace weft::lab
