// One RDMA device: a NIC port with its queue pairs, completion queues and memory (mlx5 has one device per
// port, or one per bond: nic/bond.h). The host's loop calls run_until when next_ps says so; programs call the verbs. It
// meets the fabric only at two link directions and a packet. Not modelled: automatic path migration.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/random.h"
#include "fabric/link.h"
#include "fabric/link_flow_control.h"
#include "fabric/port_log.h"
#include "nic/async.h"
#include "nic/bond.h"
#include "nic/counters.h"
#include "nic/device_config.h"
#include "nic/loopback.h"
#include "nic/memory.h"
#include "nic/port_contexts.h"
#include "nic/port_numbers.h"
#include "nic/port_record.h"
#include "nic/queue_pair.h"
#include "nic/receive_load.h"
#include "nic/work_heap.h"
#include "wire/aeth_syndrome.h"
#include "wire/opcode.h"

namespace weft::nic {

struct RoceExtension;

class alignas(64) Device {
  // What every packet needs, by cache line. Control replies go first; READ data and requests share round robin.
  Time_ps service_ps_ = kNever_ps, pause_due_ps_ = kNever_ps;
  Time_ps release_ps_ = kNever_ps;  // of a frame that a fault of the cable holds back
  Time_ps free_ps_ = 0;             // the port has sent its last frame
  engine::Inlet& arrivals_;
  PcieFunction* functions_;  // the card's
  Time_ps last_event_ps_ = 0;
  std::uint64_t events_ = 0;
  WorkHeap<1> timers_;  // QPs with an ACK timeout to check
  std::vector<QueuePair> qps_;
  WorkHeap<2> waiting_;                      // contexts that become ready at a time
  const CongestionAlgorithm* cc_ = nullptr;  // null: off
  ContextRing control_, ready_;
  fabric::LinkDirection* out_;
  fabric::LinkDirection& in_;
  Time_ps rx_xoff_ps_ = 0;  // fill of the receive buffer, as PCIe time
  std::uint32_t ack_interval_packets_;
  std::uint32_t first_qpn_;
  std::uint32_t last_receiver_ = 0;       // of the queue pairs: the next packet is probably for it, too
  std::uint8_t blocked_ = 0;              // classes that the peer of the cable in use has stopped (nic/bond.cc)
  bool carry_payload_, records_ = false;  // of the port: recorder_ is there
  bool slow_receiver_, trust_dscp_;       // slow: by a fault, or of a kind that may be (nic/receive_load.h)
  std::array<std::uint8_t, 64> class_of_dscp_;
  MemoryTable own_memory_;
  MemoryTable& memory_;  // of the bond's first port

 public:
  Device(DeviceConfig config, Card& card, fabric::LinkDirection& out, fabric::LinkDirection& in);

  std::uint32_t create_cq(std::uint32_t entries);
  bool destroy_cq(std::uint32_t cq);  // false while a queue pair uses it
  std::uint32_t create_qp(QpType type, std::uint32_t send_cq, std::uint32_t receive_cq, std::uint32_t send_depth,
                          std::uint32_t receive_depth, std::uint8_t function = 0, std::uint32_t srq = kNoSrq,
                          std::uint32_t pd = 0);
  std::uint32_t create_qp(const Transport& transport, std::uint32_t send_cq, std::uint32_t receive_cq,
                          std::uint32_t send_depth, std::uint32_t receive_depth, std::uint8_t function = 0,
                          std::uint32_t srq = kNoSrq, std::uint32_t pd = 0);
  // False when there is none. Its completions stay; packets that still come find nobody; its number rests for long.
  bool destroy_qp(std::uint32_t qpn);
  bool has_qp(std::uint32_t qpn) const;
  // Makes this UD queue pair the port's general services interface: number 1 on the wire (IBTA vol 1, 13.5.1).
  void set_general_services(std::uint32_t qpn) { shared_.general_services_qpn = qpn; }
  std::uint32_t qp_count() const { return static_cast<std::uint32_t>(qps_.size() - free_qps_.size()); }
  // Shared receive queues. Below `limit` receives there is one event; 0: none.
  std::uint32_t create_srq(std::uint32_t entries);
  bool destroy_srq(std::uint32_t srq);  // false while a queue pair uses it
  void set_srq_limit(std::uint32_t srq, std::uint32_t limit, Time_ps now_ps);
  bool post_srq_receive(std::uint32_t srq, const ReceiveRequest& request);
  const SharedReceiveQueue& srq(std::uint32_t index) const { return shared_.srqs[index]; }
  // extended.cc: makes a queue pair of XRC the target of a domain, and an SRQ one of it, number kFirstXrcSrq + `srq`.
  void set_xrc_target(std::uint32_t qpn, std::uint32_t domain);
  void set_xrc_queue(std::uint32_t srq, std::uint32_t domain, std::uint32_t cq, std::uint32_t pd);
  // Memory for so many more queue pairs at once, for those who make thousands.
  void reserve_qps(std::uint32_t more) { qps_.reserve(qps_.size() + more); }
  // IBTA vol 1, 10.3.1, with all attributes that the step takes: in RTS -> RTS access, qkey and min_rnr_timer. False:
  // refused, and transition_error says why; empty when it would not be.
  std::string_view transition_error(std::uint32_t qpn, QpState to, const QpAttributes& attributes) const;
  bool modify(std::uint32_t qpn, QpState to, const QpAttributes& attributes = {}, Time_ps now_ps = 0);
  std::uint32_t random_psn() { return numbers_.random_psn(); }

  // Verbs: data path. A post returns false when the queue is full or the state forbids it. The doorbell
  // leaves the CPU at `doorbell_ps`, which may lie after now.
  bool post_send(std::uint32_t qpn, const SendRequest& request, Time_ps doorbell_ps);
  bool post_local(std::uint32_t qpn, const SendRequest& request, Time_ps doorbell_ps);  // is_local()
  bool post_receive(std::uint32_t qpn, const ReceiveRequest& request);
  CompletionQueue& cq(std::uint32_t index) { return shared_.cqs[index]; }
  // Whoever takes entries further has no room for the next one: the queue is overrun.
  void overrun_cq(std::uint32_t cq, Time_ps now_ps);
  std::uint32_t cq_count() const { return static_cast<std::uint32_t>(shared_.cqs.size()); }
  MemoryTable& memory() { return memory_; }
  PayloadPool& payload_pool() { return out_->source().payload; }
  const QueuePair& qp(std::uint32_t qpn) const { return *owner_of(qpn).find_qp(qpn); }
  Device& owner_of(std::uint32_t qpn) const { return is_siblings(qpn) ? *bond_.sibling : const_cast<Device&>(*this); }
  Device* sibling() const { return bond_.sibling; }  // null: in no bond

  // The host's loop: when the port next has something to do, and doing it, as long as it is due before `end_ps` and
  // not after `*programs_ps`, which an event may bring forward. At one instant: release of a delayed frame, service,
  // arrival, timer. Returns when it next has something to do.
  Time_ps next_ps() const { return std::min(std::min(service_ps_, arrivals_.next_ps()), rare_ps()); }
  Time_ps run_until(Time_ps end_ps, const Time_ps* programs_ps);
  void prefetch(Time_ps end_ps) const;  // the cache lines that run_until() will need: nic/prefetch.h
  Time_ps last_event_ps() const { return last_event_ps_; }
  std::uint64_t events() const { return events_; }

  const NicModel& model() const { return config_.model; }
  void find_functions() { functions_ = card_.functions.data(); }  // the card has got more of them
  const PcieFunction& function(std::uint8_t number) const { return functions_[number]; }
  const std::string& name() const { return config_.name; }
  std::uint32_t port_id() const { return config_.port_id; }
  // The port whose address its packets have.
  std::uint32_t address_id() const { return bond_.is_second ? bond_.sibling->port_id() : port_id(); }
  fabric::LinkDirection& out() { return wire_; }
  fabric::LinkDirection& in() { return in_; }
  alignas(32) Counters counters;
  // What its packets met on their way here: by hop, the longest queue and, in left_ps, stay. Null: none carried it.
  const engine::Telemetry* worst_telemetry(std::uint32_t qpn) const;
  const fabric::TransmitControl& pause() const { return transmit_control_; }
  const fabric::PortPauseLog& pause_log() const { return pause_log_; }
  PortRecord* record() const { return recorder_.get(); }  // null: nobody asked
  // How long this port has stopped its peer's class, the pause that still lasts at `now_ps` counted in.
  Time_ps pause_tx_ps(std::size_t pause_class, Time_ps now_ps) const;
  CongestionEnvironment congestion_environment(std::uint32_t qpn) const { return environment_of(qp(qpn)); }

  // For transports (nic/transport.h): what they are made of.
  // transmit.cc: a queue pair's turn at the port, and a packet that leaves.
  void queue_request(QueuePair& qp, Time_ps at_ps);
  void put(engine::Packet& packet, Time_ps now_ps);
  // Payload comes over PCIe. False when it is not in the NIC yet: the QP is queued for when it is.
  bool fetch(QueuePair& qp, std::uint32_t payload_B, Time_ps now_ps);
  engine::Cold& add_cold(engine::Packet& packet);
  // Fills the cold side with the payload when somebody looks. False: the memory is gone.
  bool add_payload(engine::Packet& packet, std::uint32_t key, std::uint64_t va);
  void drop_unsent(const engine::Packet& packet);
  // reply.cc: what a responder still has to send, and completions.
  void push_reply(QueuePair& qp, const Reply& reply);
  void push_receive_completion(QueuePair& qp, const Completion& completion);
  // requester.cc: everything before `next_una` is acknowledged. False: una stops at a READ or atomic without an answer.
  bool acknowledge(QueuePair& qp, std::uint32_t next_una, Time_ps now_ps);
  // recovery.cc: the next packet to send is `psn`, not before `at_ps`; the local ACK timeout; errors.
  void go_back(QueuePair& qp, std::uint32_t psn, Time_ps at_ps);
  void arm_timer(QueuePair& qp, Time_ps now_ps);
  bool timer_is_due(QueuePair& qp, Time_ps now_ps);  // false: it moved, and comes up again then
  void signal_loss(QueuePair& qp, Loss loss, Time_ps now_ps);
  void fail_send_queue(QueuePair& qp, WcStatus status, Time_ps now_ps);
  void enter_error(QueuePair& qp, Time_ps now_ps);
  // responder.cc, receive.cc: what arrives.
  const engine::Cold& cold_of(const engine::Packet& packet) const;
  std::uint32_t aux_of(const engine::Packet& packet) const {
    return (packet.flags & engine::Packet::kHasCold) != 0 ? cold_of(packet).aux : packet.aux;
  }
  std::span<const std::uint8_t> payload_of(const engine::Packet& packet);
  enum class Placed : std::uint8_t { kDone, kWrongLength, kNotAllowed, kGone };
  // The payload goes to Responder::va and what follows from it.
  Placed place(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);

  // The tables of RC, UC, UD and XRC.
  static bool send_rc(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  static bool send_rc_reply(Device& device, QueuePair& qp, Reply& reply, Time_ps now_ps);
  static fabric::Fate receive_rc(Device& device, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  static void on_rc_timer(Device& device, QueuePair& qp, Time_ps now_ps);
  static bool send_uc(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  static fabric::Fate receive_uc(Device& device, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  static bool send_ud(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  static fabric::Fate receive_ud(Device& device, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  static bool send_xrc(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  static fabric::Fate receive_xrc(Device& device, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);

 private:
  friend struct Bond;
  friend struct MulticastPort;
  friend struct SelectiveRepeat;
  friend class DeviceControl;  // nic/device_control.h

  QueuePair* find_qp(std::uint32_t qpn) {
    std::uint32_t index = qpn - first_qpn_;
    return index < qps_.size() ? &qps_[index] : nullptr;
  }
  bool is_siblings(std::uint32_t qpn) const { return bond_.sibling_has(qpn, first_qpn_); }
  void forget(QueuePair& qp);  // life.cc
  // srq.cc
  bool take_shared_receive(QueuePair& qp, Time_ps now_ps);
  bool has_receive(QueuePair& qp, Time_ps now_ps) {
    if (qp.resp.head != qp.resp.tail) return true;
    return (qp.flags & QueuePair::kUsesSrq) != 0 && take_shared_receive(qp, now_ps);
  }
  void check_srq_limit(std::uint32_t srq, Time_ps now_ps);

  // async.cc
  void tell(AsyncKind kind, std::uint32_t number, Time_ps now_ps);
  void lose_completion(std::uint32_t cq, Time_ps at_ps);
  void fail_cq(std::uint32_t cq, Time_ps now_ps);
  void note_packet(QueuePair& qp, Time_ps now_ps) {
    if (qp.state != QpState::kRtr || (qp.flags & QueuePair::kEstablished) != 0) return;
    qp.flags |= QueuePair::kEstablished;
    tell(AsyncKind::kCommunicationEstablished, qp.qpn, now_ps);
  }

  Time_ps rare_ps() const { return std::min(std::min(timers_.next_ps(), pause_due_ps_), release_ps_); }
  // port_loop.cc
  void serve(Time_ps now_ps);
  void end_waits(Time_ps now_ps);
  void receive(Time_ps now_ps);
  void on_timer(Time_ps now_ps);

  // transmit.cc: who sends next. A context is a QP's requester or its responder.
  std::uint32_t request_context(const QueuePair& qp) const { return (qp.qpn - first_qpn_) * 2; }
  std::uint64_t context_key(const QueuePair& qp) const { return std::uint64_t{config_.port_id + 1u} << 32 | qp.qpn; }
  void queue_context(Time_ps& queued_ps, std::uint32_t context, Time_ps at_ps);
  void queue_reply(QueuePair& qp, Time_ps at_ps);
  void service_by(Time_ps at_ps) { service_ps_ = std::min(service_ps_, std::max(at_ps, free_ps_)); }
  bool serve_context(std::uint32_t context, Time_ps now_ps);
  bool serve_recorded(std::uint32_t context, Time_ps now_ps);
  // Inside put() and fetch(), for the data path.
  void put_line(engine::Packet& packet, std::uint32_t line_bytes, Time_ps now_ps);
  bool fetch_now(QueuePair& qp, std::uint8_t function, std::uint32_t payload_B, Time_ps now_ps);
  bool send_request(QueuePair& qp, Time_ps now_ps);
  bool send_next(QueuePair& qp, Time_ps now_ps);
  bool send_local(QueuePair& qp, const SendRequest& request, Time_ps now_ps);
  void begin_drain(QueuePair& qp, bool tells, Time_ps now_ps);
  void check_drained(QueuePair& qp, Time_ps now_ps);
  template <bool kReliable, bool kExtended, bool kSelective = false>
  bool send_data(QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  template <bool kExtended>
  void send_response_request(QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  bool send_reply(QueuePair& qp, Time_ps now_ps);
  bool send_read_reply(QueuePair& qp, Reply& reply, Time_ps now_ps);
  void send_ack(QueuePair& qp, const Reply& reply, Time_ps now_ps);
  static engine::Packet new_packet(const QueuePair& qp, wire::Opcode opcode, std::uint32_t psn);
  void make_template(QueuePair& qp) const;
  // The class of a packet by DSCP or priority, whichever the port trusts: of one to be sent, and of one that came in.
  std::uint8_t class_to_send(std::uint8_t tos, std::uint8_t priority) const {
    if (trust_dscp_) return class_of_dscp_[tos >> 2];
    return priority == kPortPriority ? config_.qos.priority : priority & 7;
  }
  std::uint32_t class_received(const engine::Packet& packet) const {
    return trust_dscp_ ? class_of_dscp_[packet.tos >> 2] : static_cast<std::uint32_t>(packet.priority);
  }
  bool needs_router(std::uint32_t local_port, std::uint32_t remote_port) const;
  static bool has_psns_left(const QueuePair& qp, const SendWqe& wqe);
  bool message_may_start(QueuePair& qp, Time_ps now_ps, Time_ps& at_ps);
  // port_flow_control.cc: pauses received and sent.
  void receive_pause(const engine::Packet& packet, Time_ps now_ps);
  void on_pause_due(Time_ps now_ps);
  Time_ps next_link_down_ps() const;
  void lose_link(Time_ps now_ps);
  void plan_pauses();
  void unpark(Time_ps now_ps);
  bool is_paused(std::uint32_t context) const;
  void send_pause(fabric::PauseRequest request, Time_ps now_ps);
  void hold_peer(const engine::Packet& packet, Time_ps now_ps);
  void slow_down(Time_ps now_ps);
  void plan_xon(Time_ps now_ps);
  void log_pauses(std::uint8_t classes, bool sent, fabric::PauseEnd what, Time_ps now_ps);
  void pauses_changed(std::uint8_t before, fabric::PauseEnd end, Time_ps now_ps);
  void hold_ended(std::uint8_t classes, fabric::PauseEnd end, Time_ps now_ps);
  // reaction_point.cc: congestion control.
  CongestionEnvironment environment_of(const QueuePair& qp) const;
  void start_congestion_control(QueuePair& qp, Time_ps now_ps);
  void pace(QueuePair& qp, std::uint32_t line_bytes, Time_ps now_ps);
  bool may_send(QueuePair& qp, Time_ps now_ps);
  bool window_is_full(const QueuePair& qp) const;
  void receive_cnp(QueuePair& qp, Time_ps now_ps);
  void signal_ack(QueuePair& qp, std::uint32_t una_before, const engine::Packet* packet, Time_ps now_ps);
  void time_packet(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  void ask_for_telemetry(const QueuePair& qp, engine::Packet& packet);
  void keep_telemetry(QueuePair& qp, const engine::Packet& packet);
  void echo_telemetry(QueuePair& qp, engine::Packet& packet);
  // loopback.cc
  void loop_back(const engine::Packet& packet, std::uint32_t line_bytes, Time_ps now_ps);
  void receive_looped(Time_ps now_ps);
  // cnp.cc: the notification point.
  void note_ce(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  void note_gap(const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  bool ask_for_cnp(const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  bool send_cnp(Time_ps now_ps);
  // receive.cc
  void receive_packet(engine::Packet& packet, Time_ps now_ps);
  void receive_for_other(engine::Packet& packet, Time_ps now_ps);
  void deliver(Device& owner, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  bool has_buffer(const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  bool has_buffer_slowly(const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  bool has_buffer_now(const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);  // inside has_buffer()
  void end(const engine::Packet& packet, fabric::Fate fate);

  // requester.cc: what comes back.
  fabric::Fate receive_response(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  fabric::Fate process_response(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  fabric::Fate receive_ack(QueuePair& qp, const engine::Packet& packet, std::uint32_t aeth, Time_ps now_ps);
  fabric::Fate receive_data(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  void finish_head(QueuePair& qp, WcStatus status, Time_ps now_ps, Time_ps data_visible_ps);
  void push_send_completion(QueuePair& qp, const SendWqe& wqe, WcStatus status, Time_ps visible_ps);
  Time_ps cpu_visible_ps(Time_ps left_nic_ps, std::uint8_t function = 0);
  // A DMA write of bytes that left the NIC then. False: the memory is gone.
  bool store(MemoryRegion& region, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps left_nic_ps);
  // The packet has no payload afterwards, if the region is elsewhere.
  bool store_payload(MemoryRegion& region, std::uint64_t va, const engine::Packet& packet, Time_ps left_nic_ps);

  // recovery.cc: retransmission, timers, errors.
  fabric::Fate on_nak(QueuePair& qp, std::uint8_t code, Time_ps now_ps);
  fabric::Fate on_rnr(QueuePair& qp, std::uint8_t timer, Time_ps now_ps);
  void on_ack_timeout(QueuePair& qp, Time_ps now_ps);
  Time_ps nak_reaction_ps();
  Time_ps ack_timeout_ps(const QueuePair& qp) const;
  bool retransmits_early(const QueuePair& qp) const;
  bool count_connectx_timeout(QueuePair& qp);
  void progress(QueuePair& qp, Time_ps now_ps);
  void drop_stale_timers();
  void fail_sending(QueuePair& qp, WcStatus status, Time_ps now_ps);
  void flush_receives(QueuePair& qp, Time_ps now_ps);

  // responder.cc: requests that arrive.
  fabric::Fate receive_request(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  fabric::Fate receive_duplicate(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  fabric::Fate accept_message_packet(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  Placed place_now(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);  // inside place()
  bool too_many_requests(const QueuePair& qp) const {
    return qp.resp.requests_waiting >= qp.attributes.max_dest_rd_atomic;
  }
  bool aim_at_srq(QueuePair& qp, std::uint32_t number);
  static void leave_srq(QueuePair& qp);
  bool may_invalidate(const QueuePair& qp, std::uint32_t rkey);
  bool may_read(const QueuePair& qp, const RoceExtension& headers);
  fabric::Fate accept_read(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  fabric::Fate accept_atomic(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  std::optional<fabric::Fate> begin_message(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  fabric::Fate refuse_payload(QueuePair& qp, Placed why, Time_ps now_ps);
  void fail_receive(QueuePair& qp, WcStatus status, Time_ps now_ps);
  void end_message(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  const RoceExtension& headers_of(const engine::Packet& packet) const;
  fabric::Fate refuse(QueuePair& qp, wire::NakCode code, Time_ps now_ps, bool receive_failed = false);
  fabric::Fate not_ready(QueuePair& qp, Time_ps now_ps);

  // datagram.cc: UD.
  bool send_datagram(QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  fabric::Fate receive_datagram(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  bool place_datagram(const ReceiveRequest& receive, const engine::Packet& packet, Time_ps left_ps);

  // unreliable.cc: UC.
  void finish_unreliable(QueuePair& qp, bool last);
  fabric::Fate receive_unreliable(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  std::optional<fabric::Fate> begin_unreliable(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
  fabric::Fate drop_unreliable(QueuePair& qp, Placed why, Time_ps now_ps);

  // reply.cc: ACK, NAK, READ and atomic replies.
  std::uint32_t ack_word(const QueuePair& qp) const;
  std::size_t most_replies() const;
  bool has_room_for_response(const QueuePair& qp) const;
  void reply_read(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps, bool again = false);
  void reply_atomic(QueuePair& qp, std::uint32_t psn, std::uint64_t original, Time_ps ready_ps, bool again = false);
  void reply_ack(QueuePair& qp, std::uint32_t psn, Time_ps now_ps);
  void reply_nak(QueuePair& qp, std::uint8_t syndrome, Time_ps at_ps);
  void push_completion(std::uint32_t cq, const Completion& completion);

  DeviceConfig config_;
  SharedByPorts own_shared_;
  SharedByPorts& shared_;  // of the bond's first port
  BondPort bond_;
  fabric::LinkDirection& wire_;  // its cable; out_ is the sibling's while this one has no signal
  LoopBack looped_;
  ReceiveLoad load_;
  ContextRing free_qps_;  // places of destroyed queue pairs, the oldest first
  QueuePairNumbers numbers_;
  RandomStream jitter_, recovery_;
  Time_ps ordered_ps_ = 0;  // no CPU sees anything before: the last write to memory elsewhere, which nothing passes
  std::vector<PendingCnp> cnps_;
  std::vector<Time_ps> cnp_last_ps_;  // by scope: port, address or QP
  std::size_t cnp_head_ = 0;
  Card& card_;
  Time_ps message_interval_ps_ = 0, rx_buffer_ps_ = 0, rx_xon_ps_ = 0;  // the last two as rx_xoff_ps_
  std::int64_t line_rate_bps_ = 0;
  bool up_ = true;  // by DeviceControl, and of a bond by Bond
  // Flow control.
  fabric::TransmitControl transmit_control_;
  fabric::ReceiveControl receive_control_;
  fabric::PortPauseLog pause_log_;
  std::unique_ptr<PortRecord> recorder_;
  std::vector<Parked> parked_;  // contexts whose class is stopped
  std::uint8_t storm_ = 0;      // classes that the pause storm of a fault has stopped
  Time_ps storm_over_ps_ = kNever_ps, xoff_check_ps_ = kNever_ps;  // its last XOFF runs out; XON may be due
  std::size_t next_link_down_ = 0;
};

}  // namespace weft::nic
