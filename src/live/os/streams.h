// The management network: TCP between the nodes, as the programs' bootstrap needs it. Each node has a port of 1 Gb/s on
// it; bytes arrive after their time on the wire and a fixed latency, and are never lost. A stream ends when the last
// process that holds it has closed it; which those are, the kernel knows (verbs/stream_protocol.h). A connection to a
// port without a listener waits for one if the world has patience, and is refused then; one
// that finds the backlog full waits until there is room. Sockets of UDP are streams too (datagrams.cc). A socket of TCP
// may open its connections over the simulated fabric instead (stream_fabric.cc, fabric_socket.h). Not modelled:
// congestion windows, TIME_WAIT, urgent data.
#pragma once

#include <poll.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "live/os/address_index.h"
#include "live/os/fabric_socket.h"
#include "live/os/node.h"
#include "verbs/address.h"
#include "verbs/stream_protocol.h"
#include "world/world.h"

namespace weft::live {

struct Stream;

struct UdpDatagram {
  verbs::Address from{}, to{};
  std::uint32_t from_port = 0, to_port = 0;
  bool to_many = false;  // a broadcast, or to a group
  std::weak_ptr<Stream> sender;
  std::chrono::steady_clock::time_point until;  // real time: how long it waits for a socket of its port
  std::vector<std::uint8_t> bytes;
};

struct Stream {
  enum class State : std::uint8_t { kFresh, kListening, kConnecting, kOpen, kRefused };
  std::uint64_t id = 0;                         // in the name of its descriptor; 0: no program has had it yet
  OwnedDescriptor lifeline;                     // our end of the descriptor; hung up: no program holds the other
  std::vector<std::weak_ptr<Process>> holders;  // as far as the world knows
  Node* node = nullptr;
  std::uint32_t family = 0;  // AF_INET, AF_INET6
  State state = State::kFresh;
  verbs::Address address{}, peer_address{};
  std::uint32_t port = 0, peer_port = 0;
  std::weak_ptr<Stream> peer;
  std::deque<std::uint8_t> inbox;
  std::size_t underway_B = 0;  // sent to this stream and not read yet
  Time_ps sent_until_ps = 0;   // when the last byte that this end sent arrives
  bool ended = false;          // the peer sends no more
  bool shut = false;           // this end sends no more
  bool closed = false;         // no process holds it any more
  bool reset = false;          // by the peer
  int error = 0;               // of the reset, until a call has told it
  std::size_t backlog = 0;
  // Listener: connections not accepted yet, and those that found as many of them as the backlog allows.
  std::deque<std::shared_ptr<Stream>> pending, without_room;
  // SO_SNDBUF and SO_RCVBUF as set; 0: Linux tunes them.
  std::uint32_t send_buffer_B = 0, receive_buffer_B = 0;
  bool reuse_address = false, reuse_port = false, v6_only = false, reset_on_close = false;

  // UDP. Its state is kOpen when it is connected, else kFresh.
  bool datagram = false;
  std::deque<std::shared_ptr<const UdpDatagram>> datagrams;
  std::size_t datagrams_B = 0;  // of the receive buffer
  std::size_t unsent_B = 0;     // of the send buffer
  std::uint64_t bound_as = 0;   // the how many-th that was bound
  bool named_by_peer = false;   // its address is that of its connection
  std::vector<verbs::Address> groups;

  // Over the fabric.
  bool fabric = false;                // what it opens goes there
  std::shared_ptr<FabricSocket> tcp;  // null: none, or a connection of the management network
  bool no_delay = false;
  std::uint32_t algorithm = 0;  // as StreamOption::kCongestion has it
  std::uint32_t most_segment_B = 0, type_of_service = 0;

  std::uint32_t ready(std::uint32_t wanted) const;
  std::size_t readable_B() const { return tcp ? tcp->readable_B() : inbox.size(); }
  std::uint32_t ready_datagrams(std::uint32_t wanted) const;
  // Bytes that a connection may send now.
  std::size_t room_B() const;
};

class ManagementNetwork final : public FabricSocketOwner {
 public:
  using Datagram = UdpDatagram;
  ManagementNetwork(lab::World& world, const AddressIndex& addresses, std::vector<std::unique_ptr<Node>>& nodes);
  ~ManagementNetwork() override { world_.engine().set_bytes({}); }

  // streams.cc: who holds them.
  Reply open(Process& process, const Request& request, bool datagram = false);
  Reply adopt(Process& process, const Request& request);
  Reply status(Process& process, const Request& request) const;
  Reply close(Process& process, const Request& request, Time_ps now_ps);
  // The child holds what its parent does.
  static void fork(const Process& parent, const std::shared_ptr<Process>& child);
  void forget(Process& process, Time_ps now_ps);
  // Streams that only processes hold which the world does not know (a program that was executed and has not called
  // yet): ends those that are not held any more.
  void end_abandoned(Time_ps now_ps);
  // Their descriptors, which hang up then.
  void add_abandoned(std::vector<pollfd>& fds) const;

  // stream_connect.cc: ports and connections. Nothing means not yet.
  Reply bind(Process& process, const Request& request, Time_ps now_ps);
  Reply listen(Process& process, const Request& request, Time_ps now_ps);
  Reply set(Process& process, const Request& request);
  std::optional<Reply> connect(Process& process, const Request& request, Time_ps now_ps, bool again);
  std::optional<Reply> accept(Process& process, const Request& request, Time_ps now_ps);

  // stream_bytes.cc
  Reply send(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps);
  std::optional<Reply> receive(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps);
  Reply shutdown(Process& process, const Request& request, Time_ps now_ps);

  // stream_fabric.cc: TCP_INFO and its like.
  Reply tcp_info(Process& process, const Request& request) const;

  // datagrams.cc. Nothing: not yet.
  static bool is_datagram_call(verbs::Op op);
  std::optional<Reply> answer_datagram(Process& process, const Request& request, Time_ps now_ps);

  // How long, in real time, a connection waits for a listener: who starts a client right behind its server need not
  // know when the server has got so far. Not to a loopback address. 0: it is refused at once, as it must be where only
  // virtual time counts.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  // Refuses those that have waited long enough. True: others still wait.
  bool refuse_late(Time_ps now_ps);

  static Stream* find(const Process& process, std::uint32_t handle);

 private:
  static constexpr std::uint32_t kFirstEphemeral = 32768, kLastEphemeral = 60999;  // Linux's ip_local_port_range
  // Estimate of a management network's one-way time: kernel TCP over 1 GbE. Longer than any window.
  static constexpr Time_ps kLatency_ps = us(30);
  static constexpr std::size_t kMaxStreams = 1u << 14;  // of one process: each is a descriptor of the world
  static constexpr std::size_t kMaxGroups = 20;         // Linux: net.ipv4.igmp_max_memberships

  // Gives the process the stream, with a new descriptor; nothing: the world has none left.
  struct Given {
    std::uint32_t handle;
    std::shared_ptr<const Lent> descriptor;
  };
  std::optional<Given> give(Process& process, const std::shared_ptr<Stream>& stream);
  static std::uint32_t hold(Process& process, const std::shared_ptr<Stream>& stream);
  // The process holds it no more.
  void drop(const std::shared_ptr<Stream>& stream, const Process& process, bool exits, Time_ps now_ps);
  // Nobody holds it.
  void finish(const std::shared_ptr<Stream>& stream, Time_ps now_ps);
  verbs::StreamInfo describe(const Stream& stream, std::uint32_t handle) const;

  std::optional<std::uint32_t> node_of(const verbs::Address& address) const;
  std::optional<std::uint32_t> node_of(const Process& process, const verbs::Address& address) const;
  verbs::Address address_of(std::uint32_t node) const;
  // The peer is told that this end sends no more, or that it is gone.
  void end(Stream& stream, Time_ps now_ps);
  void send_reset(Stream& stream, Time_ps now_ps);
  // When what is sent now has come to the other node, and does `what` there then.
  Time_ps carry(const Stream& from, Stream& to, std::size_t size_B, Time_ps now_ps, std::function<void(Time_ps)> what);
  // A port that no stream of the node has; 0: there is none.
  std::uint32_t new_port(const Process& process);
  using RealTime = std::chrono::steady_clock::time_point;
  struct Waiting {
    std::shared_ptr<Stream> stream;
    std::uint32_t node;  // that it connects to
    RealTime until;
  };
  // A connection that comes to the node finds a listener, waits for one, or is refused.
  void arrive(const Waiting& waiting, Time_ps now_ps);
  std::shared_ptr<Stream> listener_for(const Stream& stream, const Node& node) const;
  void retry_waiting(std::uint32_t node, std::uint32_t port, Time_ps now_ps);

  // stream_fabric.cc. Of what connects: false when no path of the fabric leads there.
  bool open_fabric(const Waiting& waiting, const verbs::Address& bound, Time_ps now_ps);
  std::optional<lab::PortRef> port_of(std::uint32_t node, const verbs::Address& address) const;
  void forget_old_pairs(Time_ps now_ps);
  // For captures.
  static std::size_t fill_payload(void* self, const engine::Packet& packet, const engine::Cold& cold,
                                  std::span<std::uint8_t> out);
  // The listener takes the connection whose SYN is there.
  static std::shared_ptr<Stream> make_accepted(const Stream& stream, const Stream& listener, Node* there);
  void take_syn(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Stream>& listener, Time_ps now_ps);
  Syn syn_arrived(FabricSocket& socket, Time_ps now_ps) override;
  void established(FabricSocket& socket, Time_ps now_ps) override;
  void changed(FabricSocket& socket, Time_ps now_ps) override;
  void died(FabricSocket& socket, int error, Time_ps now_ps) override;
  void over(FabricSocket& socket, Time_ps now_ps) override;

  // datagrams.cc
  Reply connect_datagrams(Process& process, const Request& request);
  Reply disconnect_datagrams(Process& process, const Request& request);
  Reply send_datagram(Process& process, const Request& request, Time_ps now_ps);
  std::optional<Reply> receive_datagram(Process& process, const Request& request);
  Reply change_group(Process& process, const Request& request);
  verbs::Address source_towards(const Stream& stream, const verbs::Address& to) const;
  bool is_broadcast(const Node& node, const verbs::Address& to) const;
  bool is_group(const Node& node, const verbs::Address& address) const;  // of either kind
  void deliver(const std::shared_ptr<const Datagram>& datagram, std::uint32_t at_node, Time_ps now_ps);
  void find_nobody(const std::shared_ptr<const Datagram>& datagram, std::uint32_t at_node, Time_ps now_ps);
  // A socket has its port now.
  void deliver_held(const Stream& stream, Time_ps now_ps);
  // True: others still wait.
  bool give_up_held(Time_ps now_ps);

  lab::World& world_;
  const AddressIndex& addresses_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  struct FabricPair {
    std::shared_ptr<FabricSocket> client, server;
    RealTime until;               // that it waits for a listener
    Time_ps over_ps = kNever_ps;  // both ends had nothing left to do then
  };
  std::vector<FabricPair> pairs_;         // connections over the fabric
  std::vector<std::uint32_t> next_port_;  // by node
  struct Line {
    Time_ps sends_until_ps = 0, receives_until_ps = 0;
  };
  std::vector<Line> lines_;                   // by node
  std::uint64_t world_id_ = 0, next_id_ = 1;  // in the names of streams
  std::map<std::uint64_t, std::weak_ptr<Stream>> by_id_;
  std::vector<std::shared_ptr<Stream>> abandoned_;
  std::chrono::milliseconds patience_{0};
  std::map<std::pair<std::uint32_t, std::uint32_t>, RealTime>
      listener_ended_;  // by node and port: since when there is none
  std::vector<Waiting> waiting_;
  struct Held {
    std::shared_ptr<const Datagram> datagram;
    std::uint32_t node;
  };
  std::vector<Held> held_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, RealTime> datagrams_ended_;  // as listener_ended_, of UDP
  std::uint64_t bound_ = 0;
};

// True if bytes sent to `address` can come to the stream by its own address and family.
bool accepts(const Stream& stream, const verbs::Address& address);

// Something has come to this end: whoever holds it looks.
void look_again(const Stream& stream, Time_ps now_ps);

}  // namespace weft::live
