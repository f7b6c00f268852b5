// The management network: TCP between the nodes, as the programs' bootstrap needs it. Bytes arrive after a fixed
// virtual latency and are never lost. A connection to a port without a listener waits for one if the world has
// patience, and is refused then; so does one that finds the backlog full.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "live/os/node.h"
#include "world/world.h"

namespace weft::live {

struct Stream {
  enum class State : std::uint8_t { kFresh, kListening, kConnecting, kOpen, kRefused };
  std::weak_ptr<Process> owner;  // may be gone before what is on its way to it
  Node* node = nullptr;
  State state = State::kFresh;
  verbs::Address address{}, peer_address{};
  std::uint32_t port = 0, peer_port = 0;
  std::weak_ptr<Stream> peer;
  std::deque<std::uint8_t> inbox;
  std::size_t underway_B = 0;  // sent to this stream and not read yet
  bool ended = false;          // the peer sends no more
  bool shut = false;           // this end sends no more
  std::size_t backlog = 0;
  std::deque<std::shared_ptr<Stream>> pending;  // of a listener: connections not accepted yet

  std::uint32_t ready(std::uint32_t wanted) const;
};

class ManagementNetwork {
 public:
  ManagementNetwork(const lab::World& world, std::vector<std::unique_ptr<Node>>& nodes)
      : world_(world), nodes_(nodes), next_port_(world.lab().hosts.size(), kFirstEphemeral) {}

  Reply open(Process& process);
  Reply bind(Process& process, const Request& request);
  Reply listen(Process& process, const Request& request, Time_ps now_ps);
  Reply shutdown(Process& process, const Request& request, Time_ps now_ps);
  Reply close(Process& process, const Request& request, Time_ps now_ps);
  void forget(Process& process, Time_ps now_ps);
  // These may have to wait: nothing means not yet.
  std::optional<Reply> connect(Process& process, const Request& request, Time_ps now_ps, bool again);
  std::optional<Reply> accept(Process& process, const Request& request, Time_ps now_ps);
  std::optional<Reply> send(Process& process, const Request& request, Time_ps now_ps);
  std::optional<Reply> receive(Process& process, const Request& request, Time_ps now_ps);

  // How long, in real time, a connection waits for a listener: who starts a client right behind its server need not
  // know when the server has got so far. Not to a loopback address. 0: it is refused at once, as it must be where only
  // virtual time counts.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  // Refuses those that have waited long enough. True: others still wait.
  bool refuse_late(Time_ps now_ps);

  Reply look_up(const Request& request) const;
  static Stream* find(Process& process, std::uint32_t handle);

 private:
  static constexpr std::uint32_t kFirstEphemeral = 32768, kLastEphemeral = 60999;  // Linux's ip_local_port_range
  // Estimate of a management network's one-way time: kernel TCP over 1 GbE. Longer than any window.
  static constexpr Time_ps kLatency_ps = us(30);
  static constexpr std::size_t kBuffer_B = 4 << 20;

  std::optional<std::uint32_t> node_of(const Process& process, const verbs::Address& address) const;
  verbs::Address address_of(std::uint32_t node) const;
  void end(Stream& stream, Time_ps now_ps);
  // A port that no stream of the node has; 0: there is none.
  std::uint32_t new_port(const Process& process);
  using RealTime = std::chrono::steady_clock::time_point;
  struct Waiting {
    std::shared_ptr<Stream> stream;
    std::uint32_t node;  // that it connects to
    RealTime until;
  };
  // What comes to the node finds a listener, waits for one, or is refused.
  void arrive(const Waiting& waiting, Time_ps now_ps);
  void retry_waiting(std::uint32_t node, std::uint32_t port, Time_ps now_ps);

  const lab::World& world_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  std::vector<std::uint32_t> next_port_;  // by node
  std::chrono::milliseconds patience_{0};
  std::map<std::pair<std::uint32_t, std::uint32_t>, RealTime>
      listener_ended_;  // by node and port: since when there is none
  std::vector<Waiting> waiting_;
};

}  // namespace weft::live
