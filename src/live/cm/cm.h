// The communication manager of one node: what ib_cm and rdma_cm do in the Linux kernel. Programs hold ids and channels
// (verbs/cm_protocol.h); REQ, REP, RTU, DREQ and the rest go over the simulated wire as MADs of queue pair 1, and are
// retransmitted by timers of virtual time. A peer is known by what is in the packet and the MAD alone, so that one
// outside of the world is no different. docs/mechanisms/rdma-cm.md says what is sent when. Not modelled: LAP, path
// migration.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "live/cm/port.h"
#include "live/os/node.h"
#include "live/os/trace.h"
#include "live/verbs/service.h"
#include "verbs/cm_protocol.h"
#include "world/world.h"

namespace weft::live {

// Linux 6.3 and later: drivers/infiniband/core/cma.c and cm.c.
inline constexpr std::uint8_t kCmResponseTimeout = 20;   // CMA_CM_RESPONSE_TIMEOUT, 4.096 us times 2^n
inline constexpr std::uint8_t kCmRetries = 15;           // CMA_MAX_CM_RETRIES
inline constexpr std::uint8_t kCmServiceTimeout = 24;    // of an MRA: CMA_CM_MRA_SETTING
inline constexpr std::uint8_t kCmPacketLifetime = 16;    // CMA_IBOE_PACKET_LIFETIME
inline constexpr std::uint8_t kCmAckDelay = 16;          // local_ca_ack_delay of mlx5
inline constexpr std::size_t kMaxCmIds = 1u << 16;       // of one process
inline constexpr std::size_t kMaxCmChannels = 1u << 12;  // likewise

// The kernel counts these times in milliseconds: 2^(n - 8), for 4.096 us times 2^n.
constexpr Time_ps cm_time_ps(std::uint32_t exponent) {
  return ms(std::int64_t{1} << (exponent > 8 ? exponent - 8 : 0));
}
// Local ACK timeout of a queue pair: twice a packet's way and the peer's delay, as an exponent (cm_ack_timeout).
constexpr std::uint8_t cm_ack_timeout(std::uint8_t delay, std::uint8_t lifetime) {
  int timeout = lifetime + 1;
  timeout = timeout >= delay ? timeout + (delay >= timeout - 1 ? 1 : 0) : delay + (timeout >= delay - 1 ? 1 : 0);
  return static_cast<std::uint8_t>(timeout < 31 ? timeout : 31);
}

enum class CmState : std::uint8_t {
  kIdle,
  kBound,
  kListening,
  kResolving,  // the address does not exist; it can only time out
  kAddressResolved,
  kRouteResolved,
  kReqSent,
  kReqReceived,
  kRepSent,
  kRepReceived,
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimeWait,
  kSidrSent,
  kSidrReceived,
  kDone,
};

struct CmId;

struct CmPendingEvent {
  std::shared_ptr<CmId> id, listener;
  verbs::CmEvent event{};
};
struct CmChannel {
  int eventfd = -1;
  std::deque<CmPendingEvent> events;
  std::vector<std::weak_ptr<Process>> holders;  // after a fork, several
  ~CmChannel();
};

struct CmId {
  Process* process = nullptr;
  std::uint32_t handle = 0, number = 0;  // number: of this node, in the order of making
  std::uint64_t cookie = 0;              // 0: its program has not heard of it yet
  std::shared_ptr<CmChannel> channel;
  std::uint16_t port_space = 0;
  std::uint32_t qp_type = 0;
  CmState state = CmState::kIdle;
  CmState traced = CmState::kIdle;  // the last state that a trace has shown
  std::uint32_t device = verbs::kNoHandle;
  wire::Gid local{}, remote{};  // zero: any
  std::uint16_t local_port = 0, remote_port = 0;
  bool reuse = false, holds_port = false;
  bool ipv6 = false, family_only = false;  // of the address that it is bound to; RDMA_OPTION_ID_AFONLY
  std::uint8_t tos = 0, wanted_ack_timeout = 0;
  std::uint32_t backlog = 0;  // of a listener: requests that may wait for its program

  // The connection. What is the peer's came in a REQ or REP.
  wire::Gid peer{};           // its port, which MADs come from and go to
  wire::Gid remote_gid{};     // its queue pair's, by the path of the REQ
  std::uint32_t to_port = 0;  // of the world, where the peer is reached
  std::uint32_t comm_id = 0, remote_comm_id = 0;
  std::uint32_t qpn = 0, remote_qpn = 0;
  std::uint32_t rq_psn = 0, sq_psn = 0;
  std::uint8_t path_mtu = 0, responder_resources = 0, initiator_depth = 0, retry_count = 0, rnr_retry_count = 0;
  std::uint8_t ack_timeout = 0;
  std::uint64_t transaction_id = 0;
  std::uint64_t service_id = 0;  // of a SIDR request

  // Message that is retransmitted until there is an answer.
  wire::Mad last{};
  std::uint8_t max_retries = kCmRetries;
  int retries_left = 0;
  Time_ps wait_ps = 0, deadline_ps = kNever_ps;
};

// IPv4 addresses are mapped ones, also the one that means any.
template <typename Bytes>
bool is_ipv6(const Bytes& address) {
  static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return !std::equal(std::begin(kMapped), std::end(kMapped), std::begin(address));
}

class CommunicationManager final : public host::Program {
 public:
  CommunicationManager(lab::World& world, Node& node, const VerbsService& verbs);

  Time_ps step(Time_ps now_ps) override;

  static bool is_mine(verbs::Op op) {
    return (op >= verbs::Op::kCmCreateChannel && op <= verbs::Op::kCmGetEvent) || op == verbs::Op::kCmJoin ||
           op == verbs::Op::kCmLeave;
  }
  // Nothing: not yet, ask again.
  std::optional<Reply> answer(Process& process, const Request& request, Time_ps now_ps);
  std::optional<Reply> answer_traced(Process& process, const Request& request, Time_ps now_ps);
  static bool has_event(const Process& process, std::uint32_t channel);
  // The child holds what its parent does.
  static void fork(const Process& parent, const std::shared_ptr<Process>& child);
  // A process is gone: the peers of what it alone held are notified.
  void forget(Process& process, Time_ps now_ps);
  // As of ManagementNetwork: a request to a port without a listener waits, in real time, before it is rejected.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  bool reject_late(Time_ps now_ps);
  void set_trace(TraceSink& sink) { trace_ = &sink; }

 private:
  // cm_calls.cc
  Reply create_channel(Process& process);
  Reply destroy_channel(Process& process, const Request& request, Time_ps now_ps);
  Reply create_id(Process& process, const Request& request);
  Reply bind(Process& process, const Request& request);
  Reply listen(Process& process, const Request& request, Time_ps now_ps);
  Reply resolve_address(Process& process, const Request& request, Time_ps now_ps);
  Reply resolve_route(Process& process, const Request& request, Time_ps now_ps);
  Reply set_option(Process& process, const Request& request);
  Reply migrate(Process& process, const Request& request, Time_ps now_ps);
  Reply init_qp_attr(Process& process, const Request& request);
  std::optional<Reply> get_event(Process& process, const Request& request);
  int bind_to(CmId& id, const verbs::Address& asked, std::uint16_t port);
  std::optional<std::uint32_t> device_towards(const wire::Gid& address) const;
  std::shared_ptr<CmId> make_id(Process& process);
  // The process holds the channel no more; ids that no other process knows end.
  void drop(Process& process, std::uint32_t channel, Time_ps now_ps);

  // multicast.cc
  Reply join(Process& process, const Request& request, Time_ps now_ps);
  Reply leave(Process& process, const Request& request);

  // cm_connect.cc: what programs do with a connection.
  Reply connect(Process& process, const Request& request, Time_ps now_ps);
  Reply accept(Process& process, const Request& request, Time_ps now_ps);
  Reply reject(Process& process, const Request& request, Time_ps now_ps);
  Reply disconnect(Process& process, const Request& request, Time_ps now_ps);
  Reply notify(Process& process, const Request& request, Time_ps now_ps);
  void destroy(const std::shared_ptr<CmId>& id, Time_ps now_ps);
  void send_req(CmId& id, const verbs::CmConn& conn, Time_ps now_ps);
  void send_rep(CmId& id, const verbs::CmConn& conn, Time_ps now_ps);
  void send_sidr_req(CmId& id, const verbs::CmConn& conn, Time_ps now_ps);
  void send_sidr_rep(CmId& id, wire::SidrStatus status, const verbs::CmConn& conn, Time_ps now_ps);
  void send_rtu(CmId& id, Time_ps now_ps);
  void send_rej(CmId& id, wire::CmReason reason, wire::CmAnswered answered, const verbs::CmConn& conn, Time_ps now_ps);
  void send_dreq(CmId& id, Time_ps now_ps);
  void send_drep(CmId& id, Time_ps now_ps);

  // cm_receive.cc: what peers send.
  struct Waiting {
    CmPort* port;
    CmPort::Arrival arrival;
    std::chrono::steady_clock::time_point until;
  };
  void receive(CmPort& port, const CmPort::Arrival& arrival, Time_ps now_ps);
  void handle(const Waiting& waiting, Time_ps now_ps);
  void retry_waiting(Time_ps now_ps);
  struct From {
    CmPort& port;
    std::uint32_t device;
    const wire::Gid& source;
    std::uint64_t transaction_id;
  };
  void on(const wire::CmReq& req, const From& from, Time_ps now_ps);
  void on(const wire::CmMra& mra, const From& from, Time_ps now_ps);
  void on(const wire::CmRej& rej, const From& from, Time_ps now_ps);
  void on(const wire::CmRep& rep, const From& from, Time_ps now_ps);
  void on(const wire::CmRtu& rtu, const From& from, Time_ps now_ps);
  void on(const wire::CmDreq& dreq, const From& from, Time_ps now_ps);
  void on(const wire::CmDrep& drep, const From& from, Time_ps now_ps);
  void on(const wire::CmSidrReq& req, const From& from, Time_ps now_ps);
  void on(const wire::CmSidrRep& rep, const From& from, Time_ps now_ps);
  // True: it requests a connection to a port without a listener.
  bool lacks_listener(const wire::CmMessage& message, const From& from) const;
  void answer_to(const From& from, const wire::CmMessage& message, Time_ps now_ps);
  std::shared_ptr<CmId> listener_of(std::uint64_t service_id, const wire::IpCmHeader& header) const;
  std::shared_ptr<CmId> make_child(const std::shared_ptr<CmId>& listener, const wire::IpCmHeader& header,
                                   const From& from);
  // The connection of that number with that peer.
  std::shared_ptr<CmId> find(std::uint32_t comm_id, std::uint32_t remote_comm_id, const From& from) const;
  std::shared_ptr<CmId> find_remote(std::uint32_t remote_comm_id, const From& from) const;

  // cm.cc
  static std::shared_ptr<CmId> find_id(Process& process, std::uint32_t handle);
  verbs::CmIdInfo describe(const CmId& id) const;
  void tell(const std::shared_ptr<CmId>& id, std::uint32_t type, std::int32_t status, Time_ps now_ps,
            const verbs::CmConn& conn = {}, const std::shared_ptr<CmId>& listener = nullptr);
  void send(CmId& id, const wire::CmMessage& message, Time_ps now_ps);
  // Sends, and again each time that `wait_ps` has passed without an answer.
  void send_until_answered(CmId& id, const wire::CmMessage& message, Time_ps wait_ps, Time_ps now_ps);
  void set_deadline(CmId& id, Time_ps deadline_ps);
  void stop_sending(CmId& id) { set_deadline(id, kNever_ps); }
  void on_deadline(const std::shared_ptr<CmId>& id, Time_ps now_ps);
  void enter_time_wait(CmId& id, Time_ps now_ps);
  std::uint64_t guid(std::uint32_t device) const { return verbs_.describe(device).node_guid; }

  // trace.cc: states that have changed since the last time.
  void trace_states(Time_ps now_ps);

  lab::World& world_;
  Node& node_;
  const VerbsService& verbs_;
  TraceSink* trace_ = nullptr;
  std::uint32_t program_ = host::kNoProgram;
  std::vector<std::unique_ptr<CmPort>> ports_;          // by device
  std::map<std::uint32_t, std::shared_ptr<CmId>> ids_;  // by number
  std::map<std::uint32_t, std::uint32_t> comm_ids_;     // to the number
  std::set<std::pair<Time_ps, std::uint32_t>> deadlines_;
  RandomStream random_;
  std::uint32_t next_number_ = 1;
  std::chrono::milliseconds patience_{0};
  std::vector<Waiting> waiting_;
  bool retry_ = false;               // of those that wait: a listener has appeared, or the wait is over
  std::uint32_t next_port_ = 32768;  // the first of Linux's ip_local_port_range
};

}  // namespace weft::live
