// ICMP of the nodes: raw sockets of programs (ping), and the echo replies that every kernel sends. Requests and replies
// are frames of the simulated fabric (nic/transports/ip_datagram.h). What the kernels do takes time: see icmp.cc,
// estimates.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "live/os/node.h"
#include "live/view/node_view.h"
#include "nic/transports/ip_datagram.h"

namespace weft::live {

class Icmp {
 public:
  Icmp(lab::World& world, const AddressIndex& addresses, std::vector<std::unique_ptr<Node>>& nodes,
       std::vector<std::unique_ptr<NodeView>>& views)
      : world_(world), addresses_(addresses), nodes_(nodes), views_(views) {}

  static bool is_mine(verbs::Op op) { return op >= verbs::Op::kRouteTo && op <= verbs::Op::kIcmpClose; }
  // Nothing: not yet, ask again at deadline_ps(), or when something has come for the process.
  std::optional<Reply> answer(Process& process, const Request& request, Time_ps now_ps);
  static Time_ps deadline_ps(const Request& request);
  bool has_message(const Process& process, std::uint32_t socket) const;
  void forget(const Process& process);

 private:
  using Bytes = std::vector<std::uint8_t>;
  struct Received {
    verbs::Address from{};
    std::uint8_t ttl = 0;
    Bytes bytes;
  };
  // A message that nobody took.
  struct Failed {
    verbs::Address reporter{}, to{};
    Bytes message;
  };
  struct Socket {
    std::weak_ptr<Process> owner;
    const Process* process = nullptr;
    bool ipv6 = false;
    OwnedDescriptor eventfd;
    std::deque<Received> received;
    std::deque<Failed> failed;   // the error queue
    std::size_t unreported = 0;  // of them, that no call has failed with
  };
  // The queue pair of one device, with what it is about to send.
  struct Port {
    Icmp* icmp = nullptr;
    std::uint32_t host = 0, device = 0, qpn = 0, key = 0;
    std::uint32_t sent = 0;
    Bytes sends;
  };

  Reply route_to(Process& process, const Request& request);
  Reply open(Process& process, const Request& request);
  Reply send(Process& process, const Request& request, Time_ps now_ps);
  std::optional<Reply> receive(Process& process, const Request& request, Time_ps now_ps);
  Socket* find(const Process& process, std::uint32_t number);

  Port& port(std::uint32_t id);
  void transmit(std::uint32_t from_port, std::uint32_t to_port, bool ipv6, const Bytes& message, Time_ps now_ps);
  bool is_routed(std::uint32_t from_port, std::uint32_t to_port);
  static void on_receive(void* self, nic::Device& device, const engine::Packet& packet, const nic::IpWords& words,
                         std::span<const std::uint8_t> payload, Time_ps now_ps);
  void take(std::uint32_t at_port, std::uint32_t from_port, bool ipv6, std::uint8_t ttl, Bytes message, Time_ps now_ps);
  // To the raw sockets of the node.
  void deliver(std::uint32_t host, bool ipv6, const verbs::Address& from, const verbs::Address& to, std::uint8_t ttl,
               const Bytes& message, Time_ps now_ps);
  void report_unreachable(std::uint32_t host, bool ipv6, const Failed& failed, Time_ps now_ps);

  lab::World& world_;
  const AddressIndex& addresses_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  std::vector<std::unique_ptr<NodeView>>& views_;
  std::map<std::uint32_t, std::unique_ptr<Port>> ports_;  // by port of the world, from their first message on
  std::map<std::uint32_t, std::unique_ptr<Socket>> sockets_;
  std::uint32_t next_socket_ = 1;
};

}  // namespace weft::live
