// How one node of a world looks to the tools that run on it: its files (node_tree.h), its interfaces, what it answers
// to netlink and to the ethtool ioctl. Made when it is first asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "live/os/node.h"
#include "live/view/node_changes.h"
#include "live/view/node_tree.h"
#include "live/view/route_netlink.h"

namespace weft::live {

class NodeView {
 public:
  NodeView(lab::World& world, Node& node, const VerbsService& service, std::uint32_t host, verbs::Clock clock)
      : world_(world), node_(node), service_(service), host_(host), clock_(clock), changes_(world, host) {}

  // An empty folder: its name shows that there is such a node.
  void set_folder(const std::string& directory);
  // Writes the node's files there, the first time.
  void show(Time_ps now_ps);
  void refresh(Time_ps now_ps);

  const std::vector<NodePort>& ports();

  // Sets the commands by which changes of programs are made.
  void take_commands(NodeChanges::Run run) { changes_.take_commands(std::move(run)); }
  NetlinkNode netlink_node(Time_ps now_ps) { return {world_, host_, ports(), now_ps, changes_}; }

  static bool is_mine(verbs::Op op) {
    return (op >= verbs::Op::kInterfaces && op <= verbs::Op::kNameOf) ||
           (op >= verbs::Op::kRefusal && op <= verbs::Op::kNodeCommand);
  }
  Reply answer(const Request& request, Time_ps now_ps);

 private:
  Reply interfaces(Time_ps now_ps);
  Reply ethtool(const Request& request, Time_ps now_ps);
  Reply change_interface(const Request& request, Time_ps now_ps);
  Reply refusal();
  Reply write_file(const Request& request);
  Reply run_command(const Request& request, Time_ps now_ps);
  Reply netlink(const Request& request, Time_ps now_ps);  // node_netlink.cc

  lab::World& world_;
  Node& node_;
  const VerbsService& service_;
  std::uint32_t host_;
  verbs::Clock clock_;
  std::string directory_;
  std::optional<std::vector<NodePort>> ports_;
  std::unique_ptr<NodeTree> tree_;
  NodeChanges changes_;
};

}  // namespace weft::live
