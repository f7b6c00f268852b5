#include "gear/import/clab.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "catalog/catalog.h"
#include "model/lab.h"
#include "text/units.h"
#include "text/yaml_tree.h"

namespace weft::gear {
namespace {

constexpr std::size_t kMostNodes = 4096;
constexpr std::size_t kMostLinks = 65536;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

struct ClabPort {
  std::string name;
  std::uint32_t nic = 0;
  std::string address;
  std::string mtu = "9000";
};

struct ClabNode {
  bool is_switch = false;
  bool is_forwarder = false;
  std::string model;
  std::map<std::uint32_t, std::string> nics;
  std::vector<ClabPort> ports;                            // of a host, in the order of its links
  std::map<std::string, std::string, std::less<>> front;  // of a switch: their name -> ours
  std::uint32_t subnet = 0;
  std::uint32_t next_host = 1;
};

struct ClabLink {
  std::string node[2], port[2];
  std::string cable = "dac", length_mm = "2000", rate_mbps;
};

class ClabReader {
 public:
  ClabReader(std::string_view text, const ClabOptions& options) : text_(text), options_(options) {}

  tl::expected<ImportedLab, std::vector<lab::Problem>> read() {
    const auto tree = lab::parse_yaml(text_, problems_);
    if (tree && problems_.empty()) read_tree(*tree);
    if (!problems_.empty()) return tl::unexpected(problems_.take());
    name_ports();
    if (!problems_.empty()) return tl::unexpected(problems_.take());
    ImportedLab made{lab_text(), std::move(notes_)};
    return made;
  }

 private:
  void read_tree(const lab::YamlNode& tree) {
    const lab::YamlNode *name = tree.find("name"), *topology = tree.find("topology");
    if (const lab::YamlNode* content = tree.find("content"); topology == nullptr && content != nullptr) {
      topology = content;  // NVIDIA Air: the same below other names
      name = tree.find("title");
    }
    if (name != nullptr && name->is_scalar() && is_plain_name(name->text)) name_ = name->text;
    const lab::YamlNode* nodes = topology == nullptr ? nullptr : topology->find("nodes");
    if (nodes == nullptr || !nodes->is_map() || nodes->keys.empty()) {
      problems_.add(topology == nullptr ? tree.place : topology->place, "there is no topology with nodes",
                    "give a .clab.yml as containerlab deploys it, or the JSON that NVIDIA Air imports");
      return;
    }
    const lab::YamlNode* defaults = topology->find("defaults");
    default_kind_ = word(defaults, "kind");
    kinds_ = topology->find("kinds");
    for (std::size_t i = 0; i < nodes->keys.size(); ++i) {
      if (nodes_.size() == kMostNodes) {
        problems_.add(nodes->keys[i].place, fmt::format("more than {} nodes", kMostNodes), "");
        return;
      }
      if (!is_plain_name(nodes->keys[i].text)) {
        problems_.add(nodes->keys[i].place,
                      fmt::format("{} cannot be the name of a node here", lab::in_quotes(nodes->keys[i].text)),
                      "use letters, digits, - and _");
        continue;
      }
      order_.push_back(nodes->keys[i].text);
      nodes_[nodes->keys[i].text] = read_node(nodes->keys[i].text, nodes->children[i]);
    }
    const lab::YamlNode* links = topology->find("links");
    if (links == nullptr || !links->is_sequence()) {
      problems_.add(topology->place, "there are no links", "a lab needs cables");
      return;
    }
    for (const lab::YamlNode& link : links->children) read_link(link);
  }

  static std::string word(const lab::YamlNode* map, std::string_view key) {
    const lab::YamlNode* found = map == nullptr ? nullptr : map->find(key);
    return found != nullptr && found->is_scalar() ? found->text : "";
  }

  ClabNode read_node(const std::string& name, const lab::YamlNode& node) {
    ClabNode made;
    std::string kind = word(&node, "kind"), image = word(&node, "image");
    if (kind.empty()) kind = default_kind_.empty() ? "linux" : default_kind_;
    const std::string os = word(&node, "os");  // of Air
    if (image.empty()) image = os;
    if (image.empty() && kinds_ != nullptr) image = word(kinds_->find(kind), "image");
    const lab::YamlNode* labels = node.find("labels");
    const std::string role = word(labels, "weft-role");
    // Everything that is not plain Linux is a network system; Linux with a routing suite is one, too.
    const bool routes =
        image.find("frr") != image.npos || image.find("sonic") != image.npos || image.find("cumulus") != image.npos;
    made.is_switch = role.empty() ? kind != "linux" || routes : role != "host";
    made.is_forwarder = role == "forwarder";
    made.model = word(labels, "weft-model");
    if (made.is_switch && made.model.empty()) {
      made.model = options_.switch_model;
      notes_.push_back(
          fmt::format("{} ({}) is taken for a {}", name, os.empty() ? "kind " + kind : "os " + os, made.model));
    }
    const lab::Catalog& catalog = lab::Catalog::built_in();
    if (made.is_switch && catalog.switch_model(made.model) == nullptr && catalog.forwarder(made.model) == nullptr)
      problems_.add(node.place, fmt::format("there is no switch {} in the catalog", lab::in_quotes(made.model)),
                    "weft catalog list shows them all");
    for (std::size_t i = 0; labels != nullptr && labels->is_map() && i < labels->keys.size(); ++i) {
      const std::string& key = labels->keys[i].text;
      const std::string value = labels->children[i].is_scalar() ? labels->children[i].text : "";
      if (key.starts_with("weft-nic-")) read_nic(key.substr(9), value, labels->children[i].place, made);
      if (key.starts_with("weft-port-")) read_port(key.substr(10), value, labels->children[i].place, made);
    }
    return made;
  }

  void read_nic(std::string_view number, const std::string& model, const lab::Place& place, ClabNode& node) {
    const auto index = lab::parse_unsigned(number);
    if (!index || *index > 64 || lab::Catalog::built_in().nic(model) == nullptr) {
      problems_.add(place, fmt::format("there is no NIC {} in the catalog", lab::in_quotes(model)),
                    "weft catalog list shows them all");
      return;
    }
    node.nics[static_cast<std::uint32_t>(*index)] = model;
  }

  // "0 10.0.0.1/24 9000": NIC, address, MTU.
  void read_port(const std::string& name, const std::string& value, const lab::Place& place, ClabNode& node) {
    const std::size_t first = value.find(' '), second = value.find(' ', first + 1);
    const auto nic = lab::parse_unsigned(value.substr(0, first));
    const bool whole = first != value.npos && second != value.npos;
    const std::string mtu = whole ? value.substr(second + 1) : "";
    if (!whole || !nic || *nic > 64 || !lab::parse_unsigned(mtu) || !is_plain_name(name)) {
      problems_.add(place, fmt::format("weft-port-{}: {} is not NIC, address and MTU", name, lab::in_quotes(value)),
                    "write \"0 10.0.0.1/24 9000\"");
      return;
    }
    const std::string address = value.substr(first + 1, second - first - 1);
    lab::IpAddress parsed;
    std::uint32_t prefix_bits = 0;
    if (!lab::parse_address(address, parsed, prefix_bits)) {
      problems_.add(place, fmt::format("weft-port-{}: {} is not an address", name, lab::in_quotes(address)),
                    "write \"0 10.0.0.1/24 9000\"");
      return;
    }
    node.ports.push_back({name, static_cast<std::uint32_t>(*nic), address, mtu});
  }

  // mgmt-net:eth7, host:eth7, macvlan:eno1, and `type: dummy` with one endpoint: a cable to outside of the lab, or
  // none.
  bool leads_outside(const lab::YamlNode& node, const lab::YamlNode* ends) {
    std::string shown;
    if (const lab::YamlNode* end = node.find("endpoint"); end != nullptr && end->is_map()) {
      shown = fmt::format("{}:{} ({})", word(end, "node"), word(end, "interface"), word(&node, "type"));
    } else if (ends != nullptr && ends->is_sequence()) {
      for (const lab::YamlNode& each : ends->children) {
        if (!each.is_scalar()) continue;
        const std::string name = each.text.substr(0, each.text.find(':'));
        const bool outside = name == "mgmt-net" || name == "host" || name == "macvlan" || name == "dummy" ||
                             name == "vxlan" || name == "vxlan-stitch";
        if (outside && !nodes_.contains(name)) shown = each.text;
      }
    }
    if (shown.empty()) return false;
    notes_.push_back(fmt::format("the link to {} leaves the lab: left out", lab::in_quotes(shown)));
    return true;
  }

  void read_link(const lab::YamlNode& node) {
    const lab::YamlNode* ends = node.is_sequence() ? &node : node.find("endpoints");  // Air has the ends alone
    if (leads_outside(node, ends)) return;
    if (ends == nullptr || !ends->is_sequence() || ends->children.size() != 2) {
      problems_.add(node.place, "a link without two endpoints", "write endpoints: [\"a:eth1\", \"b:eth1\"]");
      return;
    }
    if (links_.size() == kMostLinks)
      return problems_.add(node.place, fmt::format("more than {} links", kMostLinks), "");
    ClabLink link;
    for (std::size_t i = 0; i < 2; ++i) {
      const lab::YamlNode& end = ends->children[i];
      if (end.is_map()) {  // type: veth
        link.node[i] = word(&end, "node");
        link.port[i] = word(&end, "interface");
      } else if (const std::size_t colon = end.text.find(':'); end.is_scalar() && colon != end.text.npos) {
        link.node[i] = end.text.substr(0, colon);
        link.port[i] = end.text.substr(colon + 1);
      }
      if (!nodes_.contains(link.node[i]) || link.port[i].empty()) {
        const std::string shown = end.is_scalar() ? end.text : link.node[i] + ":" + link.port[i];
        problems_.add(end.place, fmt::format("{} is not NODE:INTERFACE of this topology", lab::in_quotes(shown)), "");
        return;
      }
      if (!nodes_[link.node[i]].is_switch && !is_plain_name(link.port[i])) {
        problems_.add(ends->children[i].place,
                      fmt::format("{} cannot be the name of a port here", lab::in_quotes(link.port[i])),
                      "use letters, digits, - and _");
        return;
      }
    }
    const lab::YamlNode* labels = node.find("labels");
    const auto take = [&](std::string_view key, std::string& to) {
      if (std::string found = word(labels, key); !found.empty()) to = std::move(found);
    };
    take("weft-cable", link.cable);
    take("weft-length-mm", link.length_mm);
    take("weft-rate-mbps", link.rate_mbps);
    const bool known = link.cable == "dac" || link.cable == "aoc" || link.cable == "fibre";
    if (!known || !lab::parse_unsigned(link.length_mm) ||
        (!link.rate_mbps.empty() && !lab::parse_unsigned(link.rate_mbps))) {
      problems_.add(labels->place, "labels of a link that are no cable",
                    "write weft-cable: dac, weft-length-mm: \"2000\"");
      return;
    }
    links_.push_back(std::move(link));
  }

  // Interfaces become ports: of a switch by their number where the model has it, else the next free one.
  void name_ports() {
    std::uint32_t subnets = 0, cables = 0;
    for (const std::string& name : order_) {
      if (nodes_[name].is_switch) nodes_[name].subnet = subnets++;
    }
    for (ClabLink& link : links_) {
      for (std::size_t i = 0; i < 2; ++i) {
        ClabNode& node = nodes_[link.node[i]];
        if (node.is_switch) {
          link.port[i] = front_port(node, link.node[i], link.port[i]);
          continue;
        }
        ClabNode& peer = nodes_[link.node[1 - i]];
        const std::string address =
            peer.is_switch ? fmt::format("10.{}.{}.{}/24", peer.subnet / 256, peer.subnet % 256, peer.next_host++)
                           : fmt::format("10.250.{}.{}/24", cables % 256, i + 1);
        const bool labelled = std::any_of(node.ports.begin(), node.ports.end(),
                                          [&](const ClabPort& port) { return port.name == link.port[i]; });
        if (!labelled)
          node.ports.push_back({link.port[i], static_cast<std::uint32_t>(node.ports.size()), address, "9000"});
      }
      ++cables;
    }
  }

  std::string front_port(ClabNode& node, const std::string& name, const std::string& theirs) {
    if (const auto found = node.front.find(theirs); found != node.front.end()) return found->second;
    const lab::Catalog& catalog = lab::Catalog::built_in();
    const fabric::SwitchModel* model = catalog.switch_model(node.model);
    const fabric::ForwarderModel* forwarder = catalog.forwarder(node.model);
    std::uint32_t count = 0;
    for (const fabric::FrontPorts& ports : model != nullptr ? model->ports : forwarder->ports) count += ports.count;
    const std::string& prefix = model != nullptr ? model->port_prefix : forwarder->port_prefix;
    std::size_t digits = theirs.size();
    while (digits > 0 && theirs[digits - 1] >= '0' && theirs[digits - 1] <= '9') --digits;
    const auto number = lab::parse_unsigned(theirs.substr(digits));
    std::string made = number && *number >= 1 && *number <= count ? fmt::format("{}{}", prefix, *number) : "";
    const auto taken = [&](const std::string& port) {
      return std::any_of(node.front.begin(), node.front.end(), [&](const auto& each) { return each.second == port; });
    };
    for (std::uint32_t i = 1; (made.empty() || taken(made)) && i <= count; ++i) made = fmt::format("{}{}", prefix, i);
    if (taken(made))
      problems_.add({1, 1, -1}, fmt::format("{} has more links than {} has ports", name, node.model),
                    "take a larger --switch");
    node.front[theirs] = made;
    return made;
  }

  std::string lab_text() {
    std::string text = fmt::format(
        "# From a topology of containerlab or Air. Cables and models that it does not name are taken, not "
        "known.\nversion: "
        "1\nname: {}\nnodes:\n",
        name_);
    for (const std::string& name : order_) {
      const ClabNode& node = nodes_[name];
      if (node.is_switch) {
        text += fmt::format("  {}: {{kind: {}, model: {}}}\n", name, node.is_forwarder ? "forwarder" : "switch",
                            node.model);
        continue;
      }
      if (node.ports.empty()) {
        notes_.push_back(fmt::format("{} has no link: left out", name));
        continue;
      }
      text += fmt::format("  {}:\n    kind: host\n    nics:\n", name);
      std::map<std::uint32_t, std::vector<const ClabPort*>> by_nic;
      for (const ClabPort& port : node.ports) by_nic[port.nic].push_back(&port);
      for (const auto& [nic, ports] : by_nic) {
        const auto model = node.nics.find(nic);
        text += fmt::format("      - model: {}\n        ports:\n",
                            model == node.nics.end() ? options_.nic_model : model->second);
        for (const ClabPort* port : ports)
          text += fmt::format("          {}: {{address: {}, mtu: {} B}}\n", port->name, port->address, port->mtu);
      }
    }
    text += "links:\n";
    for (const ClabLink& link : links_) {
      text += fmt::format("  - {{endpoints: [\"{}:{}\", \"{}:{}\"], cable: {{kind: {}, length: {} mm{}}}}}\n",
                          link.node[0], link.port[0], link.node[1], link.port[1], link.cable, link.length_mm,
                          link.rate_mbps.empty() ? "" : fmt::format(", rate: {} Mbps", link.rate_mbps));
    }
    return text + "qos: {profile: roce-lossless}\n";
  }

  std::string_view text_;
  const ClabOptions& options_;
  lab::ProblemList problems_;
  std::vector<std::string> notes_;
  std::string name_ = "imported";
  std::string default_kind_;
  const lab::YamlNode* kinds_ = nullptr;
  std::vector<std::string> order_;
  std::map<std::string, ClabNode, std::less<>> nodes_;
  std::vector<ClabLink> links_;
};

}  // namespace

tl::expected<ImportedLab, std::vector<lab::Problem>> import_clab(std::string_view text, const ClabOptions& options) {
  return ClabReader(text, options).read();
}

}  // namespace weft::gear
