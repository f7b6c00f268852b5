// Changes that programs on a node ask for (`dcb pfc set`, `ip link set`, `mlnx_qos`). What a command of weft can
// change is changed by that command and recorded as one (docs/commands.md). Everything else is refused, with what to
// type instead; the preloaded library prints that on the program's standard error.
#pragma once

#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "live/view/node_port.h"
#include "text/units.h"

namespace weft::live {

class NodeChanges {
 public:
  // Words of a command without its "weft"; what is wrong with it, or nothing.
  using Run = std::function<tl::expected<void, lab::TextError>(const std::vector<std::string>& words, Time_ps now_ps)>;

  NodeChanges(const lab::World& world, std::uint32_t host) : world_(world), host_(host) {}
  // Without it nothing can be changed: a lab that `weft run` drives.
  void take_commands(Run run) { run_ = std::move(run); }

  // Each returns an errno, 0 when it is done.
  int set_pfc(const NodePort& port, std::uint8_t priorities, Time_ps now_ps);
  int set_pause(const NodePort& port, bool on, Time_ps now_ps);
  int set_trust(const NodePort& port, const std::string& trust, Time_ps now_ps);
  int set_priority(const NodePort& port, unsigned dscp, unsigned priority, Time_ps now_ps);
  int set_dscp(const NodePort& port, unsigned dscp, Time_ps now_ps);
  int set_mtu(const NodePort& port, std::uint32_t mtu_B, Time_ps now_ps);
  int set_up(const NodePort& port, bool up);
  // A file of /sys that a program opens to write; `path` begins with "/sys".
  int write_file(const std::vector<NodePort>& ports, const std::string& path);
  // EPERM: `what` cannot be changed on a node; `remedy` says how else.
  int refuse(std::string what, std::string remedy);
  // Remedy for a key of the lab: "weft down; weft up LAB --set 'nodes.h0.KEY=VALUE'".
  int refuse_in_lab(const std::string& what, const std::string& key, const std::string& value);

  // Since it was asked for last: "p0: …; …", or nothing.
  std::string take_refusal();
  // "h0:p0"
  std::string name_of(const NodePort& port) const;

 private:
  // As `weft set` of the port does it; `in_lab` is how a lab file says it.
  int set(const NodePort& port, const std::string& key, const std::string& value, const std::string& in_lab,
          Time_ps now_ps);

  const lab::World& world_;
  std::uint32_t host_;
  Run run_;
  std::string refusal_;
};

// The text that changes a key of the lab's file, which the world is brought up again with.
std::string lab_remedy(const std::string& key, const std::string& value);

}  // namespace weft::live
