#include "live/view/node_view.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "live/view/ethtool.h"
#include "live/view/host_names.h"
#include "live/view/node_command.h"
#include "verbs/node_protocol.h"

namespace weft::live {

void NodeView::set_folder(const std::string& directory) {
  directory_ = directory;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
}

const std::vector<NodePort>& NodeView::ports() {
  if (!ports_) ports_ = ports_of(world_, service_, host_);
  return *ports_;
}

void NodeView::show(Time_ps now_ps) {
  if (!tree_ && !directory_.empty())
    tree_ = std::make_unique<NodeTree>(world_, node_, ports(), host_, directory_, clock_, now_ps);
}

void NodeView::refresh(Time_ps now_ps) {
  if (tree_) tree_->refresh(world_, node_, now_ps);
}

Reply NodeView::answer(const Request& request, Time_ps now_ps) {
  switch (request.op) {
    case verbs::Op::kInterfaces:
      return interfaces(now_ps);
    case verbs::Op::kNetlink:
      return netlink(request, now_ps);
    case verbs::Op::kEthtool:
      return ethtool(request, now_ps);
    case verbs::Op::kNameOf:
      return name_of(world_.lab(), request);
    case verbs::Op::kRefusal:
      return refusal();
    case verbs::Op::kChangeInterface:
      return change_interface(request, now_ps);
    case verbs::Op::kWriteFile:
      return write_file(request);
    case verbs::Op::kNodeCommand:
      return run_command(request, now_ps);
    default:
      return Reply::failed(EOPNOTSUPP);
  }
}

Reply NodeView::ethtool(const Request& request, Time_ps now_ps) {
  verbs::EthtoolRequest ask;
  if (!request.read_head(ask)) return Reply::failed(EINVAL);
  ask.interface[sizeof(ask.interface) - 1] = 0;
  Reply reply;
  reply.error =
      answer_ethtool(netlink_node(now_ps), ask.interface, std::span(request.body).subspan(sizeof(ask)), reply.body);
  if (reply.error != 0 || reply.body.size() > verbs::kMaxEthtool_B) reply.body.clear();
  return reply;
}

Reply NodeView::refusal() {
  verbs::Refusal told{};
  const std::string text = changes_.take_refusal();
  text.copy(told.text, sizeof(told.text) - 1);
  return Reply::of(told);
}

Reply NodeView::change_interface(const Request& request, Time_ps now_ps) {
  verbs::InterfaceChange ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  ask.interface[sizeof(ask.interface) - 1] = 0;
  for (const NodePort& port : ports()) {
    if (port.netdev != ask.interface) continue;
    if (ask.request == SIOCSIFMTU) return Reply::failed(changes_.set_mtu(port, ask.value, now_ps));
    if (ask.request == SIOCSIFFLAGS) return Reply::failed(changes_.set_up(port, (ask.value & IFF_UP) != 0));
    return Reply::failed(changes_.refuse(fmt::format("{}: addresses of ports are the lab's", changes_.name_of(port)),
                                         "ip address shows them; docs/lab-file.md says where they are set"));
  }
  return Reply::failed(ENODEV);
}

Reply NodeView::write_file(const Request& request) {
  verbs::LookUp ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  ask.name[sizeof(ask.name) - 1] = 0;
  changes_.write_file(ports(), ask.name);
  return Reply::failed(EACCES);
}

// The words: the command's name and its arguments.
Reply NodeView::run_command(const Request& request, Time_ps now_ps) {
  if (request.body.size() > verbs::kMaxNodeCommand_B) return Reply::failed(E2BIG);
  std::vector<std::string> words;
  std::string word;
  for (const std::byte each : request.body) {
    if (each != std::byte{0}) {
      word += static_cast<char>(each);
      continue;
    }
    words.push_back(std::exchange(word, ""));
  }
  if (words.empty() || !word.empty()) return Reply::failed(EINVAL);
  CommandLine said = run_node_command(netlink_node(now_ps), words);
  const std::string refused = changes_.take_refusal();
  if (!refused.empty()) said.error += fmt::format("weft: {}\n", refused);
  said.out.resize(std::min(said.out.size(), verbs::kMaxNodeCommand_B));
  said.error.resize(std::min(said.error.size(), verbs::kMaxNodeCommand_B));
  Reply reply = Reply::of(verbs::NodeCommandReply{said.status, static_cast<std::uint32_t>(said.out.size()),
                                                  static_cast<std::uint32_t>(said.error.size())});
  const std::string text = said.out + said.error;
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  reply.body.insert(reply.body.end(), first, first + text.size());
  return reply;
}

Reply NodeView::interfaces(Time_ps now_ps) {
  Reply reply;
  const auto add = [&reply](const verbs::InterfaceInfo& info) {
    const std::size_t at = reply.body.size();
    reply.body.resize(at + sizeof(info));
    std::memcpy(reply.body.data() + at, &info, sizeof(info));
  };
  constexpr std::uint32_t kUp = IFF_UP | IFF_RUNNING;
  add({"lo",
       kLoopbackIndex,
       65536,
       kUp | IFF_LOOPBACK,
       8,
       {},
       {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}},
       {}});
  for (const NodePort& port : ports()) {
    verbs::InterfaceInfo info{};
    port.netdev.copy(info.name, sizeof(info.name) - 1);
    info.index = static_cast<std::uint32_t>(port.index);
    info.mtu_B = static_cast<std::uint32_t>(port.mtu_B(world_));
    const bool up = is_link_up(world_, port.port, now_ps);
    info.flags = (up ? kUp : std::uint32_t{IFF_UP}) | IFF_BROADCAST | IFF_MULTICAST;
    info.prefix_bits = port.config->prefix_bits;
    std::memcpy(info.mac, port.mac.data(), port.mac.size());
    std::memcpy(info.address.bytes, port.config->address.bytes, sizeof(info.address.bytes));
    std::memcpy(info.link_local.bytes, port.link_local.data(), sizeof(info.link_local.bytes));
    add(info);
  }
  return reply;
}

}  // namespace weft::live
