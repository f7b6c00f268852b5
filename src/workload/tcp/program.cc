// iperf3's own thread at one end of a stream: it writes blocks into the socket, or reads them, and notes what it did in
// each interval.
#include <algorithm>

#include "workload/tcp/socket.h"

namespace weft::workload {

namespace {

constexpr Time_ps kSystemCall_ps = ns(500);

Time_ps copy_ps(Time_ps per_KiB_ps, std::uint64_t size_B) {
  return per_KiB_ps * static_cast<Time_ps>(size_B) / 1024;
}

}  // namespace

TcpSocket::TcpSocket(const TcpSocketSettings& settings, const Endpoint& end)
    : TcpConnection(settings.tcp, end), settings_(settings) {
  // A buffer that holds less than two of its copies is filled in parts, which are no multiples of a segment.
  if (settings.tcp.window_B == 0 || settings.tcp.window_B >= 2 * kChunk_B) return;
  fills_ = true;
  sender_.set_short(TcpSender::Short::kNagle);
  receiver_.ack_quickly();
}

TcpSocket::~TcpSocket() {
  stop();
  end_.host->stop(program_number_);
}

void TcpSocket::stop() {
  if (!running_) return;
  running_ = false;
  cpus_.release(program_cpu_);
  cpus_.release(interrupt_cpu_);
}

void TcpSocket::start(Time_ps at_ps) {
  start_ps_ = last_ps_ = at_ps;
  if (settings_.interval_ps > 0) next_interval_ps_ = settings_.interval_ps;
  running_ = true;
  program_cpu_ = cpus_.place(end_.cpu, end_.guest);
  start_interrupt();
  program_number_ = end_.host->start_thread(program_, tcp_.client ? at_ps : kNever_ps, end_.guest);
  asleep_ = !tcp_.client;
}

void TcpSocket::on_established(Time_ps now_ps) {
  established_ps_ = now_ps;
  if (settings_.duration_ps > 0) stop_ps_ = now_ps + settings_.duration_ps;
  if (tcp_.sends) wake_program(now_ps);
}

void TcpSocket::on_writable(Time_ps now_ps) {
  if (!finished_) wake_program(now_ps);
}

void TcpSocket::wake_program(Time_ps now_ps) {
  if (!asleep_) return;
  asleep_ = false;
  end_.host->wake(program_number_, now_ps + cost_.wakeup_ps);
}

Time_ps TcpSocket::step_program(Time_ps now_ps) {
  if (copying_B_ > 0) {
    if (now_ps < copy_end_ps_) return copy_end_ps_;
    end_copy(now_ps);
  }
  note_time(now_ps);
  if (!is_connected(now_ps)) {
    asleep_ = true;
    return kNever_ps;
  }
  return tcp_.sends ? send_more(now_ps) : read_more(now_ps);
}

void TcpSocket::end_copy(Time_ps now_ps) {
  const std::uint64_t size_B = copying_B_;
  copying_B_ = 0;
  bytes_ += size_B;
  last_ps_ = now_ps;
  if (tcp_.sends) {
    sender_.append(size_B);
    program_debt_ps_ += push(now_ps);
  } else if (receiver_.read(size_B, now_ps)) {
    send_ack(now_ps);
    program_debt_ps_ += cost_.tcp_ack_ps;
  }
}

Time_ps TcpSocket::send_more(Time_ps now_ps) {
  if (finished_) {
    asleep_ = true;
    return kNever_ps;
  }
  const bool all = settings_.total_B > 0 && bytes_ >= settings_.total_B;
  if (now_ps >= stop_ps_ || all) {
    end_stream(now_ps);
    return kNever_ps;
  }
  if (block_left_B_ == 0) {
    block_left_B_ = settings_.block_B;
    if (settings_.total_B > 0) block_left_B_ = std::min(block_left_B_, settings_.total_B - bytes_);
    program_debt_ps_ += kSystemCall_ps;
  }
  std::uint64_t size_B = std::min(block_left_B_, kChunk_B);
  if (fills_ && used_B() < send_buffer_B()) size_B = std::min(size_B, send_buffer_B() - used_B());
  if (used_B() + size_B > send_buffer_B() && used_B() > 0) {
    asleep_ = true;
    return std::max(stop_ps_, now_ps + 1);
  }
  block_left_B_ -= size_B;
  copying_B_ = size_B;
  const Time_ps work_ps = program_debt_ps_ + copy_ps(cost_.tcp_send_KiB_ps, size_B);
  program_debt_ps_ = 0;
  program_busy_ps_ += work_ps;
  copy_end_ps_ = cpus_.run(program_cpu_, host::CpuWork::kThread, now_ps, work_ps);
  return copy_end_ps_;
}

void TcpSocket::end_stream(Time_ps now_ps) {
  finished_ = true;
  asleep_ = true;
  last_ps_ = now_ps;
  add_last_interval(now_ps - start_ps_);
  finish_sending(now_ps);
}

Time_ps TcpSocket::read_more(Time_ps now_ps) {
  const std::uint64_t size_B = std::min(receiver_.unread_B(), kChunk_B);
  if (size_B == 0) {
    asleep_ = true;
    if (receiver_.ended() && !finished_) {
      finished_ = true;
      add_last_interval(last_ps_ - start_ps_);
      // The other direction has nothing to say.
      fin_sent_ = true;
      sender_.finish();
      send_control(wire::kTcpFin | wire::kTcpAck, now_ps);
    }
    return kNever_ps;
  }
  copying_B_ = size_B;
  // What another CPU received is not in this one's caches.
  const Time_ps remote_ps = program_cpu_ == interrupt_cpu_ ? 0 : cost_.tcp_remote_KiB_ps;
  const Time_ps work_ps = program_debt_ps_ + kSystemCall_ps / 2 + copy_ps(cost_.tcp_receive_KiB_ps + remote_ps, size_B);
  program_debt_ps_ = 0;
  program_busy_ps_ += work_ps;
  copy_end_ps_ = cpus_.run(program_cpu_, host::CpuWork::kThread, now_ps, work_ps);
  return copy_end_ps_;
}

void TcpSocket::note_time(Time_ps now_ps) {
  while (!finished_ && now_ps - start_ps_ >= next_interval_ps_) {
    add_interval(next_interval_ps_);
    next_interval_ps_ += settings_.interval_ps;
  }
}

// iperf3 leaves out a rest that is shorter than a tenth of an interval.
void TcpSocket::add_last_interval(Time_ps end_ps) {
  const Time_ps begun_ps = intervals_.empty() ? 0 : intervals_.back().end_ps;
  if (settings_.interval_ps > 0 && end_ps - begun_ps > settings_.interval_ps / 10) add_interval(end_ps);
}

void TcpSocket::add_interval(Time_ps end_ps) {
  TcpInterval interval;
  interval.start_ps = intervals_.empty() ? 0 : intervals_.back().end_ps;
  interval.end_ps = end_ps;
  interval.bytes = bytes_ - noted_B_;
  interval.retransmits = sender_.retransmits() - noted_retransmits_;
  interval.cwnd_B = std::uint64_t{sender_.congestion.cwnd} * tcp_.mss_B;
  interval.rtt_ps = sender_.srtt_ps();
  interval.rttvar_ps = sender_.rttvar_ps();
  noted_B_ = bytes_;
  noted_retransmits_ = sender_.retransmits();
  intervals_.push_back(interval);
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
