#include "live/view/node_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <utility>

#include "labfile/live_rows.h"

namespace weft::live {

namespace {

std::string priority_list(std::uint8_t priorities) {
  std::vector<int> numbers;
  for (int priority = 0; priority < 8; ++priority) {
    if ((priorities >> priority & 1) != 0) numbers.push_back(priority);
  }
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace

std::string lab_remedy(const std::string& key, const std::string& value) {
  return fmt::format("weft down; weft up LAB --set '{}={}'", key, value);
}

std::string NodeChanges::name_of(const NodePort& port) const {
  return world_.lab().hosts[host_].name + ":" + port.netdev;
}

int NodeChanges::refuse(std::string what, std::string remedy) {
  refusal_ = fmt::format("{}; {}", what, remedy);
  return EPERM;
}

int NodeChanges::refuse_in_lab(const std::string& what, const std::string& key, const std::string& value) {
  return refuse(what, lab_remedy(key, value));
}

int NodeChanges::set_up(const NodePort& port, bool up) {
  if (up) return 0;  // a port of the lab is never switched off by its node
  return refuse(fmt::format("{}: a node does not switch its ports off", name_of(port)),
                fmt::format("weft link {} down", name_of(port)));
}

int NodeChanges::write_file(const std::vector<NodePort>& ports, const std::string& path) {
  const std::string& node = world_.lab().hosts[host_].name;
  for (const NodePort& port : ports) {
    const bool device = path.find("/" + port.rdma + "/") != path.npos;
    if (!device && path.find("/" + port.netdev + "/") == path.npos) continue;
    if (path.ends_with("/traffic_class") || path.ends_with("/default_roce_tos"))
      return refuse(fmt::format("{} is shown, not written; DSCP 26 is traffic class 106", path),
                    fmt::format("weft set {} dscp 26", name_of(port)));
    if (path.ends_with("/mtu"))
      return refuse(fmt::format("{} is shown, not written", path),
                    fmt::format("weft set {} mtu '9000 B'", name_of(port)));
    if (path.find("/ecn/") != path.npos)
      return refuse(fmt::format("{}: congestion control is set for the port", name_of(port)),
                    fmt::format("weft set --list {}", name_of(port)));
  }
  return refuse(fmt::format("{} of {} is shown, not written", path, node),
                fmt::format("weft set --list {} shows what can be changed", node));
}

int NodeChanges::set(const NodePort& port, const std::string& key, const std::string& value, const std::string& in_lab,
                     Time_ps now_ps) {
  const std::string name = name_of(port);
  if (!run_)
    return refuse(fmt::format("{}: {} cannot be changed during weft run", name, key), "set " + in_lab + " in the lab");
  const auto done = run_({"set", name, key, value}, now_ps);
  if (done) return 0;
  return refuse(fmt::format("{}: {}", name, done.error().message), done.error().remedy);
}

int NodeChanges::set_pfc(const NodePort& port, std::uint8_t priorities, Time_ps now_ps) {
  const std::string list = priority_list(priorities);
  return set(port, "pfc.priorities", list, fmt::format("qos.pfc.priorities: {}", list), now_ps);
}

int NodeChanges::set_pause(const NodePort& port, bool on, Time_ps now_ps) {
  const std::string mode = on ? "pause" : "none";
  return set(port, "pfc.mode", mode, "qos.pfc.mode: " + mode, now_ps);
}

int NodeChanges::set_trust(const NodePort& port, const std::string& trust, Time_ps now_ps) {
  return set(port, "trust", trust, "qos.trust: " + trust, now_ps);
}

int NodeChanges::set_priority(const NodePort& port, unsigned dscp, unsigned priority, Time_ps now_ps) {
  return set(port, fmt::format("dscp_to_priority.{}", dscp), fmt::format("{}", priority),
             fmt::format("qos.dscp_to_priority: {{{}: {}}}", dscp, priority), now_ps);
}

int NodeChanges::set_dscp(const NodePort& port, unsigned dscp, Time_ps now_ps) {
  return set(port, "dscp", fmt::format("{}", dscp), fmt::format("qos.dscp: {}", dscp), now_ps);
}

int NodeChanges::set_mtu(const NodePort& port, std::uint32_t mtu_B, Time_ps now_ps) {
  if (port.mtu_B(world_) == mtu_B) return 0;
  if (mtu_B > port.model->max_netdev_mtu_B) {
    refuse(fmt::format("{}: mtu greater than device maximum", name_of(port)),
           fmt::format("{} takes at most {} B", port.model->name, port.model->max_netdev_mtu_B));
    return EINVAL;
  }
  const std::string value = fmt::format("{} B", mtu_B);
  return set(port, "mtu", value, fmt::format("{}: {}", lab::port_key(world_.lab(), port.ref, "mtu"), value), now_ps);
}

std::string NodeChanges::take_refusal() {
  return std::exchange(refusal_, "");
}

}  // namespace weft::live
