#include "labfile/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/units.h"
#include "text/yaml_override.h"

namespace weft::lab {
namespace {

using Out = std::back_insert_iterator<std::string>;

// Quoted wherever a plain scalar could mean something else inside braces.
std::string scalar(const YamlNode& node) {
  const bool plain =
      !node.quoted && !node.text.empty() && node.text.find_first_of(",[]{}:#\"'\\\n&*!|>%@`") == std::string::npos;
  // A probability is the one plain value with a sign of its own at its end.
  if (plain ||
      (!node.quoted && node.text.ends_with('%') && node.text.find_first_of(",[]{}:#\"'\\\n") == std::string::npos))
    return node.text;
  std::string text = "\"";
  for (char c : node.text) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text + "\"";
}

void write_flow(Out out, const YamlNode& node) {
  if (node.is_null()) {
    fmt::format_to(out, "~");
  } else if (node.is_scalar()) {
    fmt::format_to(out, "{}", scalar(node));
  } else {
    fmt::format_to(out, "{}", node.is_map() ? "{" : "[");
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      if (i > 0) fmt::format_to(out, ", ");
      if (node.is_map()) {
        YamlNode key;
        key.kind = YamlNode::Kind::kScalar;
        key.text = node.keys[i].text;
        key.quoted = node.keys[i].quoted;
        fmt::format_to(out, "{}: ", scalar(key));
      }
      write_flow(out, node.children[i]);
    }
    fmt::format_to(out, "{}", node.is_map() ? "}" : "]");
  }
}

// Lists with an item on each line.
void write_section(Out out, const std::string& key, const YamlNode& node) {
  if (!node.is_sequence()) {
    fmt::format_to(out, "{}: ", key);
    write_flow(out, node);
    fmt::format_to(out, "\n");
    return;
  }
  fmt::format_to(out, "{}:{}\n", key, node.children.empty() ? " []" : "");
  for (const YamlNode& item : node.children) {
    fmt::format_to(out, "  - ");
    write_flow(out, item);
    fmt::format_to(out, "\n");
  }
}

// What `nodes` says about a node of the template.
void write_changes(Out out, const YamlNode* nodes, const std::string& name) {
  const YamlNode* node = nodes == nullptr ? nullptr : nodes->find(name);
  for (std::size_t i = 0; node != nullptr && i < node->keys.size(); ++i) {
    if (node->keys[i].text == "kind") continue;
    fmt::format_to(out, ", {}: ", node->keys[i].text);
    write_flow(out, node->children[i]);
  }
}

bool is_own(const YamlNode& node) {
  return node.find("nics") != nullptr || node.find("model") != nullptr || node.find("address") != nullptr;
}

void write_host(Out out, const HostConfig& host, const YamlNode* nodes) {
  fmt::format_to(out, "  {}: {{kind: host, host: {}, nics: [", host.name, host.model.name);
  for (std::size_t n = 0; n < host.nics.size(); ++n) {
    fmt::format_to(out, "{}{{model: {}, ports: {{", n == 0 ? "" : ", ", host.nics[n].model.name);
    for (std::size_t p = 0; p < host.nics[n].ports.size(); ++p) {
      const PortConfig& port = host.nics[n].ports[p];
      fmt::format_to(out, "{}{}: {{address: {}/{}, mtu: {} B}}", p == 0 ? "" : ", ", port.name, to_string(port.address),
                     port.prefix_bits, port.netdev_mtu_B);
    }
    fmt::format_to(out, "}}}}");
  }
  fmt::format_to(out, "]");
  write_changes(out, nodes, host.name);
  fmt::format_to(out, "}}\n");
}

void write_link(Out out, const Lab& lab, const LinkConfig& link) {
  fmt::format_to(out, "  - {{endpoints: [\"{}\", \"{}\"], cable: {{kind: {}, length: {}, rate: {}, fec: {}",
                 port_name(lab, link.a), port_name(lab, link.b), to_string(link.cable),
                 format_quantity(link.length_mm, Quantity::kLength), format_quantity(link.rate_bps, Quantity::kBitRate),
                 link.fec == link.fec_b ? std::string(to_string(link.fec))
                                        : fmt::format("[{}, {}]", to_string(link.fec), to_string(link.fec_b)));
  if (link.bit_error_rate > 0) fmt::format_to(out, ", bit_error_rate: {}", link.bit_error_rate);
  if (link.latency_ps) fmt::format_to(out, ", latency: {}", format_quantity(*link.latency_ps, Quantity::kTime));
  fmt::format_to(out, "}}");
  if (link.lag) fmt::format_to(out, ", lag: {}", lab.lags[*link.lag].name);
  fmt::format_to(out, "}}\n");
}

}  // namespace

std::string expand_lab(const Lab& lab, const YamlNode& root) {
  std::string text;
  const Out out = std::back_inserter(text);
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    const std::string& key = root.keys[i].text;
    if (key != "fabric" && key != "nodes" && key != "links") write_section(out, key, root.children[i]);
  }
  const YamlNode *nodes = root.find("nodes"), *links = root.find("links");
  const auto is_template = [&](const std::string& name) {
    const YamlNode* node = nodes == nullptr ? nullptr : nodes->find(name);
    return node == nullptr || !is_own(*node);
  };
  fmt::format_to(out, "nodes:\n");
  for (const HostConfig& host : lab.hosts) {
    if (is_template(host.name)) write_host(out, host, nodes);
  }
  for (const SwitchConfig& device : lab.switches) {
    if (!is_template(device.name)) continue;
    fmt::format_to(out, "  {}: {{kind: switch, model: {}", device.name, device.model.name);
    write_changes(out, nodes, device.name);
    fmt::format_to(out, "}}\n");
  }
  for (std::size_t i = 0; nodes != nullptr && i < nodes->keys.size(); ++i) {
    if (!is_own(nodes->children[i])) continue;
    fmt::format_to(out, "  {}: ", nodes->keys[i].text);
    write_flow(out, nodes->children[i]);
    fmt::format_to(out, "\n");
  }
  const std::size_t own = links == nullptr ? 0 : links->children.size();
  fmt::format_to(out, "links:{}\n", lab.links.empty() ? " []" : "");
  for (std::size_t i = 0; i + own < lab.links.size(); ++i) write_link(out, lab, lab.links[i]);
  for (std::size_t i = 0; i < own; ++i) {
    fmt::format_to(out, "  - ");
    write_flow(out, links->children[i]);
    fmt::format_to(out, "\n");
  }
  return text;
}

std::string expand_lab(const Lab& lab, std::string_view text) {
  ProblemList problems(lab.overrides);
  auto root = parse_yaml(text, problems);
  if (!root) return "";
  apply_overrides(*root, lab.overrides, problems);
  return expand_lab(lab, *root);
}

}  // namespace weft::lab
