#include "live/os/fabric_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs/stream_protocol.h"

namespace weft::live {

namespace {

// A write of 128 KiB, the most that programs make at once, costs a system call of 0.5 us and comes in two parts.
constexpr Time_ps kCall_ps = ns(250);
constexpr std::uint32_t kTimestamps_B = 12;
constexpr Time_ps kLongestStretch_ps = us(50);  // without a call: longer ones have slept somewhere

Time_ps copy_ps(Time_ps per_KiB_ps, std::size_t size_B) {
  return per_KiB_ps * static_cast<Time_ps>(size_B) / 1024;
}

std::uint32_t in_us(Time_ps time_ps) {
  return static_cast<std::uint32_t>(time_ps / kMicrosecond_ps);
}

}  // namespace

void BytePipe::append(std::span<const std::byte> bytes) {
  if (chunks_.empty() || chunks_.back().size() + bytes.size() > kChunk_B) {
    chunks_.emplace_back(bytes.begin(), bytes.end());
  } else {
    chunks_.back().insert(chunks_.back().end(), bytes.begin(), bytes.end());
  }
}

std::size_t BytePipe::copy(std::uint64_t from, std::span<std::byte> out) const {
  if (from < begin_) return 0;
  std::size_t done_B = 0;
  std::uint64_t at = begin_;
  for (auto chunk = chunks_.begin(); done_B < out.size() && chunk != chunks_.end(); at += chunk->size(), ++chunk) {
    if (at + chunk->size() <= from) continue;
    const std::size_t skip_B = from > at ? static_cast<std::size_t>(from - at) : 0;
    const std::size_t size_B = std::min(chunk->size() - skip_B, out.size() - done_B);
    std::memcpy(out.data() + done_B, chunk->data() + skip_B, size_B);
    done_B += size_B;
  }
  return done_B;
}

void BytePipe::read(std::span<std::byte> out) {
  copy(read_, out);
  read_ += out.size();
  while (!chunks_.empty() && begin_ + chunks_.front().size() + kKept_B <= read_) {
    begin_ += chunks_.front().size();
    chunks_.pop_front();
  }
}

FabricSocket::FabricSocket(FabricSocketOwner& owner, Node& node, const workload::TcpSettings& settings,
                           const workload::Endpoint& end)
    : TcpConnection(settings, end), owner_(owner), node_(node) {
  sender_.set_short(workload::TcpSender::Short::kNagle);
  receiver_.ack_quickly();
  start_interrupt();
}

FabricSocket::~FabricSocket() {
  release_queues();
}

void FabricSocket::join(FabricSocket& other) {
  out_ = std::make_shared<BytePipe>();
  other.in_ = out_;
  other.out_ = in_;
  peer = other.weak_from_this();
  other.peer = weak_from_this();
}

bool FabricSocket::is_done() const {
  if (state_ == State::kDead || (state_ == State::kClosed && !tcp_.client)) return true;
  return closed_ && fin_acked_ && receiver_.ended();
}

void FabricSocket::refuse_syn(Time_ps now_ps) {
  send_reset(now_ps);
}

FabricSocket::Syn FabricSocket::on_syn(Time_ps now_ps) {
  switch (owner_.syn_arrived(*this, now_ps)) {
    case FabricSocketOwner::Syn::kAccept:
      return Syn::kAccept;
    case FabricSocketOwner::Syn::kRefuse:
      return Syn::kRefuse;
    case FabricSocketOwner::Syn::kIgnore:
      break;
  }
  return Syn::kIgnore;
}

void FabricSocket::on_readable(Time_ps now_ps) {
  if (!closed_) {
    tell(now_ps);
    return;
  }
  // Segments for a socket that nobody has are answered with a reset.
  if (receiver_.unread_B() > 0) send_reset(now_ps);
  if (is_done()) owner_.over(*this, now_ps);
}

void FabricSocket::on_fin_acked(Time_ps now_ps) {
  if (is_done()) owner_.over(*this, now_ps);
}

void FabricSocket::on_death(Death why, Time_ps now_ps) {
  owner_.died(*this,
              why == Death::kRefused ? ECONNREFUSED
              : why == Death::kReset ? ECONNRESET
                                     : ETIMEDOUT,
              now_ps + cost_.wakeup_ps);
  owner_.over(*this, now_ps);
}

// A thread that sleeps runs when it has been woken; one look is planned at a time.
void FabricSocket::tell(Time_ps now_ps) {
  if (std::exchange(telling_, true)) return;
  node_.at(now_ps + cost_.wakeup_ps, 0, [self = shared_from_this()](Time_ps at_ps) {
    self->telling_ = false;
    self->owner_.changed(*self, at_ps);
  });
}

Time_ps FabricSocket::run(Thread& thread, Time_ps now_ps, Time_ps work_ps) {
  if (thread.cpu == host::kNoCpu) thread.cpu = cpus_.place(std::nullopt, end_.guest);
  work_ps += std::exchange(thread.cpu_debt_ps, 0);
  thread.process->cpu_used_ps += work_ps;
  // A thread that has not waited since its last copy has had its CPU all the time, for what the program did.
  Time_ps since_ps = now_ps;
  if (!std::exchange(thread.slept, false) && now_ps - thread.cpu_end_ps < kLongestStretch_ps) {
    since_ps = std::min(now_ps, thread.cpu_end_ps);
    work_ps += now_ps - since_ps;
  }
  thread.cpu_end_ps = cpus_.run(thread.cpu, host::CpuWork::kThread, since_ps, work_ps);
  return thread.cpu_end_ps;
}

std::size_t FabricSocket::room_B() const {
  const std::uint64_t most_B = send_buffer_B(), held_B = unsent_B();
  return most_B > held_B ? static_cast<std::size_t>(most_B - held_B) : 0;
}

bool FabricSocket::is_writable() const {
  return room_B() >= send_buffer_B() / 3;
}

Time_ps FabricSocket::read(std::span<std::byte> out, const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  in_->read(out);
  reading_B_ += out.size();
  // Data that another CPU received is not in this one's caches.
  const Time_ps remote_ps = thread->cpu == interrupt_cpu_ ? 0 : cost_.tcp_remote_KiB_ps;
  const Time_ps end_ps = run(*thread, now_ps, kCall_ps + copy_ps(cost_.tcp_receive_KiB_ps + remote_ps, out.size()));
  node_.at(end_ps, 0, [self = shared_from_this(), thread, size_B = out.size()](Time_ps at_ps) {
    self->reading_B_ -= size_B;
    if (!self->receiver_.read(size_B, at_ps) || self->state_ == State::kDead) return;
    self->send_ack(at_ps);
    thread->cpu_debt_ps += self->cost_.tcp_ack_ps;
  });
  return end_ps;
}

Time_ps FabricSocket::write(std::span<const std::byte> bytes, const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  out_->append(bytes);
  writing_B_ += bytes.size();
  const Time_ps end_ps = run(*thread, now_ps, kCall_ps + copy_ps(cost_.tcp_send_KiB_ps, bytes.size()));
  node_.at(end_ps, 0, [self = shared_from_this(), thread, size_B = bytes.size()](Time_ps at_ps) {
    self->writing_B_ -= size_B;
    if (self->state_ == State::kDead) return;
    self->sender_.append(size_B);
    thread->cpu_debt_ps += self->push(at_ps);
    if (self->finishes_) self->finish(at_ps);
  });
  return end_ps;
}

void FabricSocket::finish(Time_ps now_ps) {
  // Another thread still writes: then after that.
  finishes_ = writing_B_ > 0;
  if (finishes_ || fin_sent_ || state_ != State::kEstablished) return;
  finish_sending(now_ps);
}

void FabricSocket::close(bool reset, Time_ps now_ps) {
  closed_ = true;
  if (state_ == State::kEstablished && (reset || receiver_.unread_B() > 0)) {
    send_reset(now_ps);
  } else if (state_ == State::kEstablished) {
    finish(now_ps);
  } else if (state_ == State::kSynReceived) {
    send_reset(now_ps);
  } else {
    state_ = State::kDead;  // nobody knows of it yet
  }
  if (is_done()) owner_.over(*this, now_ps);
}

void FabricSocket::set_no_delay(bool on) {
  sender_.set_short(on ? workload::TcpSender::Short::kAtOnce : workload::TcpSender::Short::kNagle);
}

void FabricSocket::set_algorithm(workload::TcpAlgorithm algorithm) {
  sender_.congestion.set_algorithm(algorithm);
}

void FabricSocket::set_receive_buffer(std::uint64_t window_B) {
  receiver_.set_window(window_B);
}

void FabricSocket::describe(verbs::StreamTcp& info) const {
  enum LinuxState : std::uint32_t {
    kEstablished = 1,
    kSynSent = 2,
    kSynReceived = 3,
    kFinWait1 = 4,
    kFinWait2 = 5,
    kClose = 7,
    kCloseWait = 8,
    kLastAck = 9
  };
  info.fabric = 1;
  const bool ended = receiver_.ended();
  info.state = state_ == State::kSynSent       ? kSynSent
               : state_ == State::kSynReceived ? kSynReceived
               : state_ != State::kEstablished ? kClose
               : fin_sent_ && ended            ? kLastAck
               : fin_sent_                     ? (fin_acked_ ? kFinWait2 : kFinWait1)
               : ended                         ? kCloseWait
                                               : kEstablished;
  const auto state = sender_.state();
  info.ca_state = state == workload::TcpSender::State::kOpen       ? 0
                  : state == workload::TcpSender::State::kCwr      ? 2
                  : state == workload::TcpSender::State::kRecovery ? 3
                                                                   : 4;
  info.algorithm = static_cast<std::uint32_t>(sender_.congestion.algorithm());
  info.ecn = tcp_.algorithm == workload::TcpAlgorithm::kDctcp;
  info.snd_mss_B = info.rcv_mss_B = tcp_.mss_B;
  info.advmss_B = tcp_.mss_B + kTimestamps_B;
  info.rto_us = in_us(sender_.rto_ps());
  info.rtt_us = in_us(sender_.srtt_ps());
  info.rttvar_us = in_us(sender_.rttvar_ps());
  info.min_rtt_us = in_us(sender_.min_rtt_ps());
  info.snd_cwnd = sender_.congestion.cwnd;
  info.snd_ssthresh = sender_.congestion.ssthresh;
  info.rcv_space_B = static_cast<std::uint32_t>(receiver_.window_B());
  info.snd_wnd_B = static_cast<std::uint32_t>(sender_.window_B());
  info.unacked = sender_.out();
  info.sacked = sender_.sacked();
  info.lost = sender_.lost();
  info.retrans = sender_.retransmitted();
  info.total_retrans = static_cast<std::uint32_t>(sender_.retransmits());
  info.backoff = sender_.backoff();
  info.notsent_B = static_cast<std::uint32_t>(sender_.written() - sender_.next_offset());
  info.bytes_acked = sender_.acked();
  info.bytes_sent = sender_.next_offset();
  info.bytes_received = receiver_.received();
  info.segments_in = segments_in_;
  info.segments_out = segments_out_;
}

bool FabricSocket::sent(std::uint32_t from_port, const nic::TcpWords& words) const {
  return end_.port_id() == from_port && tcp_.port == words.src_port && tcp_.peer_port == words.dst_port;
}

std::size_t FabricSocket::bytes_of(const nic::TcpWords& words, std::span<std::byte> out) const {
  return out_->copy(sent_offset(words.sequence), out);
}

}  // namespace weft::live
