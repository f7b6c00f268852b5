#include "workload/tcp_socket.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft::workload {

namespace {

constexpr std::uint32_t kDescriptors = 4096;
constexpr std::uint32_t kRefill = 64;  // the driver gives descriptors back in bulk: so many may be missing
constexpr std::uint8_t kEct0 = 2;
constexpr Time_ps kSynTimeout_ps = kSecond_ps, kFinTimeout_ps = ms(200);
constexpr std::uint64_t kWindowField = 0xffff;

std::uint8_t scale_of(std::uint64_t window_B) {
  std::uint8_t scale = 0;
  while (window_B >> scale > kWindowField && scale < 14) ++scale;
  return scale;
}

}  // namespace

TcpSocket::TcpSocket(const TcpSocketSettings& settings, const Endpoint& end)
    : settings_(settings),
      end_(end),
      cost_(end.host->model()),
      cpus_(end.host->cpus()),
      sender_(settings.algorithm, settings.mss_B),
      receiver_(settings.mss_B, settings.window_B, settings.algorithm == TcpAlgorithm::kDctcp),
      isn_(end.random_psn() << 8),
      window_scale_(scale_of(settings.window_B != 0 ? settings.window_B : 2 * TcpReceiver::kMostWindow_B)),
      headers_(kDescriptors),
      lengths_(kDescriptors),
      ring_(std::bit_ceil(cost_.rx_ring)) {
  const std::uint32_t cq = end.device->create_cq(1);
  qpn_ = end.device->create_qp(nic::kTcpTransport, cq, cq, kDescriptors, 1, end.function);
}

TcpSocket::~TcpSocket() {
  stop();
}

void TcpSocket::stop() {
  if (!running_) return;
  running_ = false;
  cpus_.release(program_cpu_);
  cpus_.release(interrupt_cpu_);
  end_.host->stop(interrupt_number_);
  end_.host->stop(program_number_);
}

void TcpSocket::connect_to(const Endpoint& peer, std::uint32_t peer_qpn) {
  nic::QpAttributes attributes;
  attributes.path_mtu_B = settings_.mss_B;
  attributes.local_port = end_.port;
  attributes.remote_port = peer.port_id();
  attributes.remote_qpn = peer_qpn;
  attributes.tos = end_.tos;
  attributes.priority = end_.priority;
  const bool up = end_.device->modify(qpn_, nic::QpState::kInit, attributes) &&
                  end_.device->modify(qpn_, nic::QpState::kRtr, attributes) &&
                  end_.device->modify(qpn_, nic::QpState::kRts, attributes);
  WEFT_CHECK(up, "a fresh QP goes RESET, INIT, RTR, RTS");
  nic::set_tcp_port(end_.device->qp(qpn_),
                    {this, &TcpSocket::header_hook, &TcpSocket::sent_hook, &TcpSocket::receive_hook});
}

void TcpSocket::start(Time_ps at_ps) {
  start_ps_ = last_ps_ = at_ps;
  if (settings_.interval_ps > 0) next_interval_ps_ = settings_.interval_ps;
  running_ = true;
  program_cpu_ = cpus_.place(end_.cpu, end_.guest);
  interrupt_cpu_ = cpus_.place_interrupt(end_.guest);
  interrupt_number_ = end_.host->start_thread(interrupt_, kNever_ps, end_.guest);
  program_number_ = end_.host->start_thread(program_, settings_.client ? at_ps : kNever_ps, end_.guest);
  asleep_ = !settings_.client;
}

const nic::TcpWords& TcpSocket::header_hook(void* self, std::uint64_t wr_id) {
  return static_cast<TcpSocket*>(self)->headers_[wr_id];
}

// A place in the NIC's queue is free again: small queues wait for that.
void TcpSocket::sent_hook(void* self, std::uint64_t wr_id, Time_ps now_ps) {
  auto& socket = *static_cast<TcpSocket*>(self);
  socket.queued_B_ -= socket.lengths_[wr_id];
  if (socket.lengths_[wr_id] == 0 || socket.sent_due_ || !socket.sender_.waits()) return;
  socket.sent_due_ = true;
  socket.end_.host->wake(socket.interrupt_number_, now_ps + socket.cost_.rx_usecs_ps + 1);
}

bool TcpSocket::receive_hook(void* self, const engine::Packet& packet, const nic::TcpWords& words,
                             std::uint32_t payload_B, Time_ps now_ps) {
  constexpr std::uint64_t kCe = 3;
  auto& socket = *static_cast<TcpSocket*>(self);
  if (socket.ring_tail_ - socket.ring_head_ >= socket.cost_.rx_ring - kRefill) {
    ++socket.dropped_;
    return false;
  }
  socket.ring_[socket.ring_tail_++ & (socket.ring_.size() - 1)] = {words, payload_B, (packet.tos & kCe) == kCe};
  if (!socket.scheduled_) {
    socket.scheduled_ = true;
    const Time_ps exit_ps = socket.end_.guest > 0 ? socket.cost_.vm_exit_ps : 0;
    socket.end_.host->wake(socket.interrupt_number_,
                           now_ps + socket.cost_.dma_write_ps + socket.cost_.rx_usecs_ps + exit_ps);
  }
  return true;
}

void TcpSocket::post(nic::TcpWords words, std::uint32_t length_B, Time_ps doorbell_ps) {
  const std::uint64_t slot = posted_ % kDescriptors;
  const std::uint8_t ecn = settings_.algorithm == TcpAlgorithm::kDctcp ? kEct0 : 0;
  headers_[slot] = words;
  lengths_[slot] = length_B;
  const Time_ps fetch_ps = length_B > 0 ? cost_.dma_read_ps : 0;
  // A full queue drops it, as a full qdisc does.
  if (!end_.device->post_send(qpn_, nic::tcp_send_request(slot, length_B, settings_.routed, ecn),
                              doorbell_ps + fetch_ps))
    return;
  ++posted_;
  queued_B_ += length_B;
}

nic::TcpWords TcpSocket::words_for(std::uint32_t sequence, std::uint8_t flags, Time_ps now_ps) {
  nic::TcpWords words;
  words.sequence = sequence;
  words.src_port = settings_.port;
  words.dst_port = settings_.peer_port;
  words.flags = flags;
  words.ts_value = isn_ + static_cast<std::uint32_t>(now_ps / kMillisecond_ps);
  words.ts_echo = peer_ts_;
  const TcpReceiver::Ack ack = receiver_.take_ack();
  const bool ended = receiver_.ended();
  if (flags & wire::kTcpAck)
    words.acknowledgment = peer_isn_ + 1 + static_cast<std::uint32_t>(ack.to) + (ended ? 1 : 0);
  words.window = static_cast<std::uint16_t>(std::min(ack.window_B >> window_scale_, kWindowField));
  if (ack.ece && settings_.algorithm == TcpAlgorithm::kDctcp && (flags & wire::kTcpSyn) == 0)
    words.flags |= wire::kTcpEce;
  words.sack_count = ack.sack_count;
  for (std::size_t i = 0; i < ack.sack_count; ++i)
    words.sack[i] = {peer_isn_ + 1 + static_cast<std::uint32_t>(ack.sack[i].begin),
                     peer_isn_ + 1 + static_cast<std::uint32_t>(ack.sack[i].end)};
  return words;
}

// SYN, SYN-ACK and a FIN without data.
void TcpSocket::send_control(std::uint8_t flags, Time_ps now_ps) {
  const bool syn = (flags & wire::kTcpSyn) != 0;
  const std::uint32_t sequence = syn ? isn_ : isn_ + 1 + static_cast<std::uint32_t>(sender_.written());
  nic::TcpWords words = words_for(sequence, flags, now_ps);
  if (syn) {
    words.sack_count = 0;
    words.sack[0] = {settings_.mss_B + 12, window_scale_};  // the MSS option leaves the timestamps out
    words.window = static_cast<std::uint16_t>(std::min(receiver_.window_B(), kWindowField));
    if (settings_.algorithm == TcpAlgorithm::kDctcp)
      words.flags |= (flags & wire::kTcpAck) != 0 ? wire::kTcpEce : wire::kTcpEce | wire::kTcpCwr;
  }
  post(words, 0, now_ps);
  if (syn) {
    handshake_ps_ = now_ps + kSynTimeout_ps;
  } else {
    fin_ps_ = now_ps + kFinTimeout_ps;
  }
  plan_interrupt(now_ps);
}

void TcpSocket::send_ack(Time_ps now_ps, bool earlier) {
  const std::uint32_t sequence =
      isn_ + 1 + static_cast<std::uint32_t>(sender_.next_offset()) + (fin_sent_ && sender_.all_acked() ? 1 : 0);
  if (earlier) {
    const TcpReceiver::Ack ack = receiver_.take_ack(true);
    nic::TcpWords words = words_for(sequence, wire::kTcpAck, now_ps);
    words.acknowledgment = peer_isn_ + 1 + static_cast<std::uint32_t>(ack.to);
    words.sack_count = 0;
    words.flags = static_cast<std::uint8_t>(ack.ece ? wire::kTcpAck | wire::kTcpEce : wire::kTcpAck);
    post(words, 0, now_ps);
    return;
  }
  post(words_for(sequence, wire::kTcpAck, now_ps), 0, now_ps);
}

Time_ps TcpSocket::push(Time_ps now_ps) {
  Time_ps cost_ps = 0;
  while (const auto piece = sender_.next(queued_B_, now_ps + cost_ps)) {
    cost_ps += piece->length_B == 0 ? cost_.tcp_ack_ps : cost_.tcp_send_skb_ps;
    // A probe of a closed window has a byte that the peer has already: an offset before the first it waits for.
    const std::uint32_t sequence =
        isn_ + 1 + static_cast<std::uint32_t>(piece->offset) - (piece->length_B == 0 ? 1 : 0);
    std::uint8_t flags = wire::kTcpAck;
    if (piece->last) flags |= wire::kTcpFin | wire::kTcpPsh;
    if (piece->offset + piece->length_B == sender_.written()) flags |= wire::kTcpPsh;
    if (piece->last) fin_sent_ = true;
    post(words_for(sequence, flags, now_ps + cost_ps), piece->length_B, now_ps + cost_ps);
  }
  plan_interrupt(now_ps + cost_ps);
  return cost_ps;
}

void TcpSocket::wake_program(Time_ps now_ps) {
  if (!asleep_) return;
  asleep_ = false;
  end_.host->wake(program_number_, now_ps + cost_.wakeup_ps);
}

// Timers run on the interrupt's CPU.
void TcpSocket::plan_interrupt(Time_ps now_ps) {
  const Time_ps due_ps = timer_ps();
  if (due_ps != kNever_ps) end_.host->wake(interrupt_number_, std::max(due_ps, now_ps + 1));
}

std::uint64_t TcpSocket::offset_of(std::uint32_t sequence) const {
  const std::uint64_t next = receiver_.received();
  const auto distance = static_cast<std::int32_t>(sequence - (peer_isn_ + 1 + static_cast<std::uint32_t>(next)));
  return distance < 0 && next < static_cast<std::uint64_t>(-std::int64_t{distance}) ? 0 : next + distance;
}

TcpStreamEnd TcpSocket::result() const {
  TcpStreamEnd end;
  end.connected = established_ps_ != kNever_ps;
  end.elapsed_ps = last_ps_ - start_ps_;
  end.bytes = bytes_;
  end.retransmits = sender_.retransmits();
  end.timeouts = sender_.timeouts();
  end.max_cwnd_B = max_cwnd_B_;
  end.min_rtt_ps = min_rtt_ps_ == kNever_ps ? 0 : min_rtt_ps_;
  end.mean_rtt_ps = sender_.srtt_ps();
  end.max_rtt_ps = max_rtt_ps_;
  end.ring_drops = dropped_;
  end.program_ps = program_busy_ps_;
  end.interrupt_ps = interrupt_busy_ps_;
  end.intervals = intervals_;
  return end;
}

}  // namespace weft::workload
