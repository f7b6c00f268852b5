#include "workload/tcp/connection.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft::workload {

namespace {

constexpr std::uint32_t kRefill = 64;  // the driver gives descriptors back in bulk: so many may be missing
constexpr std::uint8_t kEct0 = 2;
constexpr Time_ps kSynTimeout_ps = kSecond_ps, kFinTimeout_ps = ms(200);
constexpr std::uint32_t kMostBackoff = 9;
constexpr std::uint64_t kWindowField = 0xffff;

std::uint8_t scale_of(std::uint64_t window_B) {
  std::uint8_t scale = 0;
  while (window_B >> scale > kWindowField && scale < 14) ++scale;
  return scale;
}

}  // namespace

TcpConnection::TcpConnection(const TcpSettings& settings, const Endpoint& end)
    : tcp_(settings),
      end_(end),
      cost_(end.host->model()),
      cpus_(end.host->cpus()),
      sender_(settings.algorithm, settings.mss_B),
      receiver_(settings.mss_B, settings.window_B, settings.algorithm == TcpAlgorithm::kDctcp),
      isn_(end.random_psn() << 8),
      window_scale_(scale_of(settings.window_B != 0 ? settings.window_B : 2 * TcpReceiver::kMostWindow_B)),
      headers_(settings.descriptors),
      lengths_(settings.descriptors),
      ring_(std::bit_ceil(cost_.rx_ring)) {
  cq_ = end.device->create_cq(1);
  qpn_ = end.device->create_qp(nic::kTcpTransport, cq_, cq_, settings.descriptors, 1, end.function);
}

TcpConnection::~TcpConnection() {
  end_.host->stop(interrupt_number_);
}

void TcpConnection::start_interrupt() {
  interrupt_cpu_ = tcp_.shares_interrupt ? cpus_.shared_interrupt(end_.guest) : cpus_.place_interrupt(end_.guest);
  interrupt_number_ = end_.host->start_thread(interrupt_, kNever_ps, end_.guest);
}

void TcpConnection::release_queues() {
  end_.device->destroy_qp(qpn_);
  end_.device->destroy_cq(cq_);
  if (!tcp_.shares_interrupt) cpus_.release(interrupt_cpu_);
}

bool TcpConnection::is_connected(Time_ps now_ps) {
  if (state_ == State::kClosed && tcp_.client) send_syn(now_ps);
  return state_ == State::kEstablished;
}

void TcpConnection::send_syn(Time_ps now_ps) {
  state_ = State::kSynSent;
  send_control(wire::kTcpSyn, now_ps);
}

void TcpConnection::answer_syn(Time_ps now_ps) {
  state_ = State::kSynReceived;
  send_control(wire::kTcpSyn | wire::kTcpAck, now_ps);
}

void TcpConnection::send_reset(Time_ps now_ps) {
  state_ = State::kDead;
  handshake_ps_ = fin_ps_ = kNever_ps;
  const std::uint32_t sequence = isn_ + 1 + static_cast<std::uint32_t>(sender_.next_offset());
  nic::TcpWords words = words_for(sequence, wire::kTcpRst | wire::kTcpAck, now_ps);
  words.sack_count = 0;
  post(words, 0, now_ps);
}

void TcpConnection::finish_sending(Time_ps now_ps) {
  sender_.finish();
  push(now_ps);
  if (fin_sent_) return;
  // Nothing was left to carry it, or not all may leave yet: then the last piece does.
  if (sender_.waits()) return;
  fin_sent_ = true;
  send_control(wire::kTcpFin | wire::kTcpAck, now_ps);
}

// tcp_sndbuf_expand: twice the window with the overhead of its buffers, up to tcp_wmem[2].
std::uint64_t TcpConnection::send_buffer_B() const {
  if (tcp_.send_buffer_B != 0) return tcp_.send_buffer_B;
  const std::uint64_t wanted_B = 4 * std::uint64_t{sender_.congestion.cwnd} * tcp_.mss_B;
  return std::clamp(wanted_B, kFirstBuffer_B, kMostBuffer_B);
}

void TcpConnection::connect_to(const Endpoint& peer, std::uint32_t peer_qpn) {
  nic::QpAttributes attributes;
  attributes.path_mtu_B = tcp_.mss_B;
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
                    {this, &TcpConnection::header_hook, &TcpConnection::sent_hook, &TcpConnection::receive_hook});
}

const nic::TcpWords& TcpConnection::header_hook(void* self, std::uint64_t wr_id) {
  return static_cast<TcpConnection*>(self)->headers_[wr_id];
}

// A place in the NIC's queue is free again: small queues wait for that.
void TcpConnection::sent_hook(void* self, std::uint64_t wr_id, Time_ps now_ps) {
  auto& own = *static_cast<TcpConnection*>(self);
  own.queued_B_ -= own.lengths_[wr_id];
  if (own.lengths_[wr_id] == 0 || own.sent_due_ || !own.sender_.waits()) return;
  own.sent_due_ = true;
  own.end_.host->wake(own.interrupt_number_, now_ps + own.cost_.rx_usecs_ps + 1);
}

bool TcpConnection::receive_hook(void* self, const engine::Packet& packet, const nic::TcpWords& words,
                                 std::uint32_t payload_B, Time_ps now_ps) {
  constexpr std::uint64_t kCe = 3;
  auto& own = *static_cast<TcpConnection*>(self);
  if (own.ring_tail_ - own.ring_head_ >= own.cost_.rx_ring - kRefill) {
    ++own.dropped_;
    return false;
  }
  ++own.segments_in_;
  own.ring_[own.ring_tail_++ & (own.ring_.size() - 1)] = {words, payload_B, (packet.tos & kCe) == kCe};
  if (!own.scheduled_) {
    own.scheduled_ = true;
    const Time_ps exit_ps = own.end_.guest > 0 ? own.cost_.vm_exit_ps : 0;
    own.end_.host->wake(own.interrupt_number_, now_ps + own.cost_.dma_write_ps + own.cost_.rx_usecs_ps + exit_ps);
  }
  return true;
}

void TcpConnection::post(nic::TcpWords words, std::uint32_t length_B, Time_ps doorbell_ps) {
  const std::uint64_t slot = posted_ % tcp_.descriptors;
  const std::uint8_t ecn = tcp_.algorithm == TcpAlgorithm::kDctcp ? kEct0 : 0;
  headers_[slot] = words;
  lengths_[slot] = length_B;
  const Time_ps fetch_ps = length_B > 0 ? cost_.dma_read_ps : 0;
  // A full queue drops it, as a full qdisc does.
  if (!end_.device->post_send(qpn_, nic::tcp_send_request(slot, length_B, tcp_.routed, ecn), doorbell_ps + fetch_ps))
    return;
  ++posted_;
  queued_B_ += length_B;
  segments_out_ += std::max<std::uint64_t>((length_B + tcp_.mss_B - 1) / tcp_.mss_B, 1);
}

nic::TcpWords TcpConnection::words_for(std::uint32_t sequence, std::uint8_t flags, Time_ps now_ps) {
  nic::TcpWords words;
  words.sequence = sequence;
  words.src_port = tcp_.port;
  words.dst_port = tcp_.peer_port;
  words.flags = flags;
  words.ts_value = isn_ + static_cast<std::uint32_t>(now_ps / kMillisecond_ps);
  words.ts_echo = peer_ts_;
  const TcpReceiver::Ack ack = receiver_.take_ack();
  const bool ended = receiver_.ended();
  if (flags & wire::kTcpAck)
    words.acknowledgment = peer_isn_ + 1 + static_cast<std::uint32_t>(ack.to) + (ended ? 1 : 0);
  words.window = static_cast<std::uint16_t>(std::min(ack.window_B >> window_scale_, kWindowField));
  if (ack.ece && tcp_.algorithm == TcpAlgorithm::kDctcp && (flags & wire::kTcpSyn) == 0) words.flags |= wire::kTcpEce;
  words.sack_count = ack.sack_count;
  for (std::size_t i = 0; i < ack.sack_count; ++i)
    words.sack[i] = {peer_isn_ + 1 + static_cast<std::uint32_t>(ack.sack[i].begin),
                     peer_isn_ + 1 + static_cast<std::uint32_t>(ack.sack[i].end)};
  return words;
}

// SYN, SYN-ACK and a FIN without data.
void TcpConnection::send_control(std::uint8_t flags, Time_ps now_ps) {
  const bool syn = (flags & wire::kTcpSyn) != 0;
  const std::uint32_t sequence = syn ? isn_ : isn_ + 1 + static_cast<std::uint32_t>(sender_.written());
  nic::TcpWords words = words_for(sequence, flags, now_ps);
  if (syn) {
    words.sack_count = 0;
    words.sack[0] = {tcp_.mss_B + 12, window_scale_};  // the MSS option leaves the timestamps out
    words.window = static_cast<std::uint16_t>(std::min(receiver_.window_B(), kWindowField));
    if (tcp_.algorithm == TcpAlgorithm::kDctcp)
      words.flags |= (flags & wire::kTcpAck) != 0 ? wire::kTcpEce : wire::kTcpEce | wire::kTcpCwr;
  }
  post(words, 0, now_ps);
  // A workload tries once a second; Linux waits twice as long each time.
  const auto backoff = [&](std::uint32_t& tries) { return tcp_.gives_up ? std::min(tries++, kMostBackoff) : 0; };
  if (syn) {
    handshake_ps_ = now_ps + (kSynTimeout_ps << backoff(handshake_tries_));
  } else {
    fin_ps_ = now_ps + (kFinTimeout_ps << backoff(fin_tries_));
  }
  plan_interrupt(now_ps);
}

void TcpConnection::send_ack(Time_ps now_ps, bool earlier) {
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

Time_ps TcpConnection::push(Time_ps now_ps) {
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
    if (piece->length_B > 0) receiver_.note_sent(now_ps);
  }
  plan_interrupt(now_ps + cost_ps);
  return cost_ps;
}

// Timers run on the interrupt's CPU.
void TcpConnection::plan_interrupt(Time_ps now_ps) {
  const Time_ps due_ps = timer_ps();
  if (due_ps != kNever_ps) end_.host->wake(interrupt_number_, std::max(due_ps, now_ps + 1));
}

std::uint64_t TcpConnection::offset_of(std::uint32_t sequence) const {
  const std::uint64_t next = receiver_.received();
  const auto distance = static_cast<std::int32_t>(sequence - (peer_isn_ + 1 + static_cast<std::uint32_t>(next)));
  return distance < 0 && next < static_cast<std::uint64_t>(-std::int64_t{distance}) ? 0 : next + distance;
}

}  // namespace weft::workload
