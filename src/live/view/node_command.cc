#include "live/view/node_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace weft::live {

namespace {

std::string gid_words(const verbs::Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof(gid.raw); i += 2)
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.raw[i], gid.raw[i + 1]);
  return text;
}

// As the script of mlnx-tools prints it: tabs, and an IPv4 address where the GID has one.
CommandLine show_gids(const NetlinkNode& node, const std::vector<std::string>& words) {
  CommandLine said;
  said.out =
      "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
      "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n";
  int found = 0;
  for (const NodePort& port : node.ports) {
    if (words.size() > 1 && words[1] != port.rdma) continue;
    for (std::uint32_t g = 0; g < port.info.gid_count && g < verbs::kMaxGids; ++g) {
      const verbs::Gid& gid = port.info.gids[g];
      const bool is_v4 = std::all_of(gid.raw, gid.raw + 10, [](std::uint8_t byte) { return byte == 0; }) &&
                         gid.raw[10] == 0xff && gid.raw[11] == 0xff;
      const std::string address =
          is_v4 ? fmt::format("{}.{}.{}.{}  ", gid.raw[12], gid.raw[13], gid.raw[14], gid.raw[15]) : "\t";
      said.out +=
          fmt::format("{}\t1\t{}\t{}\t{}\tv{}\t{}\n", port.rdma, g, gid_words(gid), address, gid.type, port.netdev);
      ++found;
    }
  }
  said.out += fmt::format("n_gids_found={}\n", found);
  return said;
}

CommandLine ibdev2netdev(const NetlinkNode& node, const std::vector<std::string>& words) {
  CommandLine said;
  const bool verbose = std::find(words.begin(), words.end(), "-v") != words.end();
  for (const NodePort& port : node.ports) {
    const bool up = is_link_up(node.world, port.port, node.now_ps);
    if (verbose)
      said.out += fmt::format("{} {} (MT{} - ) {} fw {} port 1 ({}) ==> {} ({})\n", port.pci, port.rdma,
                              port.info.vendor_part_id, port.model->name, port.info.firmware, up ? "ACTIVE" : "DOWN  ",
                              port.netdev, up ? "Up" : "Down");
    if (!verbose) said.out += fmt::format("{} port 1 ==> {} ({})\n", port.rdma, port.netdev, up ? "Up" : "Down");
  }
  return said;
}

CommandLine command_error(const std::string& message, const std::string& remedy) {
  return {1, "", fmt::format("{}; {}\n", message, remedy)};
}

const NodePort* port_of_options(const NetlinkNode& node, const CommandOptions& options) {
  const std::string* device = options.find("d");
  return device == nullptr ? nullptr : port_of_device(node, *device);
}

// GIDs of both versions are there, RDMA CM and the fabric have RoCE v2.
CommandLine cma_roce_mode(const NetlinkNode& node, const std::vector<std::string>& words) {
  const CommandOptions options = read_options(words, {"d,dev", "p,port", "m,mode", "h!,help"});
  const NodePort* port = port_of_options(node, options);
  if (port == nullptr)
    return command_error("Usage: cma_roce_mode -d <dev> -p <port> [-m <1|2>]", "devices: " + devices_of(node));
  const std::string* mode = options.find("m");
  if (mode == nullptr || *mode == "2") return {0, "RoCE v2\n", ""};
  node.changes.refuse(fmt::format("{}: RDMA CM sends RoCE v2 alone", node.changes.name_of(*port)),
                      fmt::format("leave it: cma_roce_mode -d {} -p 1 -m 2; a program may still choose the GID of "
                                  "RoCE v1, index 2",
                                  port->rdma));
  return {1, "", ""};
}

CommandLine cma_roce_tos(const NetlinkNode& node, const std::vector<std::string>& words) {
  const CommandOptions options = read_options(words, {"d,dev", "p,port", "t,tos", "h!,help"});
  const NodePort* port = port_of_options(node, options);
  if (port == nullptr) return command_error("Usage: cma_roce_tos -d <dev> [-t <TOS>]", "devices: " + devices_of(node));
  const unsigned now = node.world.port_settings().dscp(port->ref);
  const std::string* wanted = options.find("t");
  if (wanted == nullptr) return {0, fmt::format("{}\n", now << 2), ""};
  unsigned tos = 0;
  const auto [end, error] = std::from_chars(wanted->data(), wanted->data() + wanted->size(), tos);
  if (error != std::errc() || end != wanted->data() + wanted->size() || tos > 255)
    return command_error(fmt::format("TOS {} is out of range", *wanted),
                         "it is the DSCP times 4 and ECN, 0 to 255: 106");
  if (tos >> 2 == now) return {0, fmt::format("{}\n", tos), ""};
  if (node.changes.set_dscp(*port, tos >> 2, node.now_ps) != 0) return {1, "", ""};
  return {0, fmt::format("{}\n", tos), ""};
}

// mst and the MLNX_OFED release: there is nothing to start, and it is not that stack.
CommandLine mst(const NetlinkNode& node, const std::vector<std::string>& words) {
  if (words.size() > 1 && words[1] != "status" && words[1] != "start" && words[1] != "stop")
    return command_error("mst " + words[1] + " is not known on a node", "mst status shows the devices");
  CommandLine said;
  if (words.size() > 1 && words[1] == "start") said.out = "Starting MST (Mellanox Software Tools) driver set\n";
  if (words.size() <= 1 || words[1] != "status") return said;
  said.out =
      "MST modules:\n------------\n    MST PCI module is not loaded\n    MST PCI configuration module loaded\n\n"
      "PCI devices:\n------------\n";
  for (const NodePort& port : node.ports)
    said.out +=
        fmt::format("{:<24} {:<12} {:<8} net-{}\n", port.model->name, port.pci.substr(5), port.rdma, port.netdev);
  return said;
}

using NodeCommandFunction = CommandLine (*)(const NetlinkNode&, const std::vector<std::string>&);
constexpr std::pair<const char*, NodeCommandFunction> kCommands[] = {{"show_gids", show_gids},
                                                                     {"ibdev2netdev", ibdev2netdev},
                                                                     {"cma_roce_mode", cma_roce_mode},
                                                                     {"mlnx_qos", mlnx_qos},
                                                                     {"cma_roce_tos", cma_roce_tos},
                                                                     {"mlxconfig", mlxconfig},
                                                                     {"mst", mst},
                                                                     {"nvidia-smi", nvidia_smi}};

}  // namespace

const std::string* CommandOptions::find(const std::string& name) const {
  const auto it = std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.first == name; });
  return it == values.end() ? nullptr : &it->second;
}

CommandOptions read_options(const std::vector<std::string>& words, const std::vector<std::string>& spec) {
  CommandOptions options;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-") || word == "-") {
      options.rest.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(word.starts_with("--") ? 2 : 1,
                                         equals == word.npos ? word.npos : equals - (word.starts_with("--") ? 2 : 1));
    bool known = false;
    for (const std::string& each : spec) {
      const std::string text = each.substr(0, each.find('!'));
      const std::string letter = text.substr(0, text.find(','));
      const std::size_t comma = each.find(',');
      const std::string full = comma == each.npos ? "" : each.substr(comma + 1);
      if (name != letter && name != full) continue;
      known = true;
      if (each.find('!') != each.npos) {
        options.values.emplace_back(letter, "");
      } else if (equals != word.npos) {
        options.values.emplace_back(letter, word.substr(equals + 1));
      } else if (i + 1 < words.size()) {
        options.values.emplace_back(letter, words[++i]);
      } else {
        known = false;
      }
      break;
    }
    if (!known && options.unknown.empty()) options.unknown = word;
  }
  return options;
}

const NodePort* port_of_netdev(const NetlinkNode& node, const std::string& name) {
  for (const NodePort& port : node.ports) {
    if (port.netdev == name) return &port;
  }
  return nullptr;
}

const NodePort* port_of_device(const NetlinkNode& node, const std::string& name) {
  for (const NodePort& port : node.ports) {
    if (port.rdma == name || port.pci == name || port.pci.substr(5) == name || port.netdev == name) return &port;
  }
  // /dev/mst/mt4125_pciconf0: the part, and the number of the card.
  const std::size_t at = name.find("_pciconf");
  if (!name.starts_with("/dev/mst/") || at == name.npos) return nullptr;
  std::uint32_t nic = 0;
  std::from_chars(name.data() + at + 8, name.data() + name.size(), nic);
  for (const NodePort& port : node.ports) {
    if (port.ref.nic == nic) return &port;
  }
  return nullptr;
}

std::string netdevs_of(const NetlinkNode& node) {
  std::vector<std::string> names;
  for (const NodePort& port : node.ports) names.push_back(port.netdev);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string devices_of(const NetlinkNode& node) {
  std::vector<std::string> names;
  for (const NodePort& port : node.ports) names.push_back(port.rdma);
  return fmt::format("{}", fmt::join(names, ", "));
}

CommandLine run_node_command(const NetlinkNode& node, const std::vector<std::string>& words) {
  for (const auto& [name, command] : kCommands) {
    if (words.front() == name) return command(node, words);
  }
  return command_error(words.front() + " is no command of a node", "docs/node.md lists them");
}

}  // namespace weft::live
