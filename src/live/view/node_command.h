// Commands that come with NVIDIA's drivers and that a machine without such a card lacks: mlnx_qos, show_gids,
// ibdev2netdev, cma_roce_mode, cma_roce_tos, mlxconfig, nvidia-smi. On a node they print what they print on a host, of
// what the lab says; what they change is changed as by the node's other tools (node_changes.h), or refused with the
// words that do it. The program on the node (src/node_tool) only passes words and text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "live/view/route_netlink.h"

namespace weft::live {

struct CommandLine {
  int status = 0;
  std::string out, error;
};
// `words`: the name of the command, then its arguments.
CommandLine run_node_command(const NetlinkNode& node, const std::vector<std::string>& words);

// mlnx_qos.cc
CommandLine mlnx_qos(const NetlinkNode& node, const std::vector<std::string>& words);
// mlxconfig.cc
CommandLine mlxconfig(const NetlinkNode& node, const std::vector<std::string>& words);
// nvidia_smi.cc
CommandLine nvidia_smi(const NetlinkNode& node, const std::vector<std::string>& words);

// Options of a command line: "-i p0", "--pfc=0,0,0,1,0,0,0,0". What takes no value is in `flags`.
struct CommandOptions {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> rest;
  std::string unknown;  // the first option that is not one of these; empty: none is
  const std::string* find(const std::string& name) const;
};
// `spec`: "i,interface" for one that takes a value, "a!" for one that takes none.
CommandOptions read_options(const std::vector<std::string>& words, const std::vector<std::string>& spec);

const NodePort* port_of_netdev(const NetlinkNode& node, const std::string& name);
// Key: RDMA device, PCI address with or without its domain, or /dev/mst/…
const NodePort* port_of_device(const NetlinkNode& node, const std::string& name);
// "p0", or "p0, p1"
std::string netdevs_of(const NetlinkNode& node);
std::string devices_of(const NetlinkNode& node);

}  // namespace weft::live
