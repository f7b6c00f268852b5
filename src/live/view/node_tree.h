// /sys, /dev/infiniband, /proc and /etc of one node: a folder of files and links as on a Linux host,
// which the preloaded library puts in place of the machine's (preload/files/paths.h).
#pragma once

#include <string>
#include <vector>

#include "live/view/file_tree.h"
#include "live/view/node_port.h"
#include "live/view/pci_config.h"
#include "verbs/protocol.h"

namespace weft::live {

class NodeTree {
 public:
  // Writes all of it below `directory`.
  NodeTree(lab::World& world, const Node& node, std::vector<NodePort> ports, std::uint32_t host,
           const std::string& directory, verbs::Clock clock, Time_ps now_ps);

  // Counters and link states as they are now.
  void refresh(lab::World& world, const Node& node, Time_ps now_ps);
  bool is_good() const { return tree_.is_good(); }
  const std::vector<NodePort>& ports() const { return ports_; }

 private:
  void write_pci();
  void write_function(const std::string& at, const PciFunction& function, const std::string& driver);
  void write_netdev(const NodePort& port);
  void write_loopback();
  void write_rdma(const NodePort& port);
  void write_system(lab::World& world);
  void write_machine_names();
  void write_cpu_info();
  void refresh_system(const std::vector<InterfaceCounters>& counted);
  // node_tree_proc.cc: /proc/net
  void write_network(lab::World& world);
  void refresh_network(const Node& node, const std::vector<InterfaceCounters>& counted);
  void refresh_netdev(const lab::World& world, const NodePort& port, const lab::PortOutcome& counted, bool up);
  void refresh_rdma(const lab::World& world, const NodePort& port, const lab::PortOutcome& counted, bool up);

  std::string node_;
  std::vector<NodePort> ports_;
  FileTree tree_;
};

// "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
std::string pci_folder(const NodePort& port);

}  // namespace weft::live
