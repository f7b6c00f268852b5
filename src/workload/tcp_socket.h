// One end of a TCP connection of iperf3: a socket of the kernel with its two users of CPU time. The interrupt takes
// packets from the receive ring, joins them (GRO), runs TCP, answers and sends what ACKs allow; the program copies
// between its buffer and the socket's and sleeps when there is nothing to copy. Each pays for its work on its CPU
// (host/cpu_cores.h), and what it does happens when that work is done. Segments go through the port as everything else
// (nic/tcp_segment.h). Not modelled: the control connection of iperf3, sendfile (-Z), receive flow steering.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nic/tcp_segment.h"
#include "workload/connection.h"
#include "workload/tcp_receiver.h"
#include "workload/tcp_result.h"
#include "workload/tcp_sender.h"

namespace weft::workload {

struct TcpSocketSettings {
  bool client = false;  // opens the connection
  bool sends = false;
  TcpAlgorithm algorithm = TcpAlgorithm::kCubic;
  std::uint32_t mss_B = 1448;
  std::uint32_t block_B = 131072;  // -l
  std::uint64_t window_B = 0;      // -w; 0: automatic
  std::uint64_t total_B = 0;       // -n; 0: by time
  Time_ps duration_ps = 0;         // -t
  Time_ps interval_ps = kSecond_ps;
  std::uint16_t port = 0, peer_port = 0;
  bool routed = false;
};

class TcpSocket {
 public:
  TcpSocket(const TcpSocketSettings& settings, const Endpoint& end);
  ~TcpSocket();
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  std::uint32_t qpn() const { return qpn_; }
  void connect_to(const Endpoint& peer, std::uint32_t peer_qpn);
  void start(Time_ps at_ps);
  void stop();  // its threads give their CPUs back
  // Its rows so far, up to the last byte that was written or read.
  TcpStreamEnd result() const;
  bool finished() const { return finished_; }

 private:
  enum class State : std::uint8_t { kClosed, kSynSent, kSynReceived, kEstablished };
  enum class Item : std::uint8_t { kNone, kPackets, kSent, kTimer };
  struct Received {
    nic::TcpWords words;
    std::uint32_t payload_B = 0;
    bool marked = false;
  };
  class Interrupt final : public host::Program {
   public:
    explicit Interrupt(TcpSocket& socket) : socket_(socket) {}
    Time_ps step(Time_ps now_ps) override { return socket_.step_interrupt(now_ps); }

   private:
    TcpSocket& socket_;
  };
  class Program final : public host::Program {
   public:
    explicit Program(TcpSocket& socket) : socket_(socket) {}
    Time_ps step(Time_ps now_ps) override { return socket_.step_program(now_ps); }

   private:
    TcpSocket& socket_;
  };

  static const nic::TcpWords& header_hook(void* self, std::uint64_t wr_id);
  static void sent_hook(void* self, std::uint64_t wr_id, Time_ps now_ps);
  static bool receive_hook(void* self, const engine::Packet& packet, const nic::TcpWords& words,
                           std::uint32_t payload_B, Time_ps now_ps);

  // tcp_interrupt.cc
  Time_ps step_interrupt(Time_ps now_ps);
  Time_ps begin_item(Time_ps now_ps);
  Time_ps take_aggregate();
  void end_item(Time_ps now_ps);
  void deliver(const Received& received, Time_ps now_ps);
  void deliver_handshake(const nic::TcpWords& words, Time_ps now_ps);
  void deliver_ack(const nic::TcpWords& words, Time_ps now_ps);
  void on_timers(Time_ps now_ps);
  Time_ps timer_ps() const;

  // tcp_program.cc
  Time_ps step_program(Time_ps now_ps);
  Time_ps send_more(Time_ps now_ps);
  Time_ps read_more(Time_ps now_ps);
  void end_copy(Time_ps now_ps);
  void end_stream(Time_ps now_ps);
  std::uint64_t send_buffer_B() const;
  void note_time(Time_ps now_ps);
  void add_interval(Time_ps end_ps);
  void add_last_interval(Time_ps end_ps);

  // tcp_socket.cc
  void post(nic::TcpWords words, std::uint32_t length_B, Time_ps doorbell_ps);
  nic::TcpWords words_for(std::uint32_t sequence, std::uint8_t flags, Time_ps now_ps);
  void send_control(std::uint8_t flags, Time_ps now_ps);
  void send_ack(Time_ps now_ps, bool earlier = false);
  // Sends what it may; returns the CPU time of it.
  Time_ps push(Time_ps now_ps);
  void wake_program(Time_ps now_ps);
  void plan_interrupt(Time_ps now_ps);
  std::uint64_t offset_of(std::uint32_t sequence) const;

  TcpSocketSettings settings_;
  Endpoint end_;
  const host::HostModel& cost_;
  host::CpuCores& cpus_;
  std::uint32_t program_cpu_ = 0, interrupt_cpu_ = 0;
  bool running_ = false;  // its threads have CPUs
  std::uint32_t qpn_ = 0;
  TcpSender sender_;
  TcpReceiver receiver_;
  State state_ = State::kClosed;
  std::uint32_t isn_ = 0, peer_isn_ = 0, peer_ts_ = 0;
  std::uint8_t window_scale_ = 0, peer_scale_ = 0;
  std::vector<nic::TcpWords> headers_;  // of work requests that the NIC has
  std::vector<std::uint32_t> lengths_;
  std::uint64_t posted_ = 0, queued_B_ = 0;

  Interrupt interrupt_{*this};
  std::uint32_t interrupt_number_ = host::kNoProgram;
  std::vector<Received> ring_;
  std::uint64_t ring_head_ = 0, ring_tail_ = 0;
  bool scheduled_ = false, sent_due_ = false;
  Item item_ = Item::kNone;
  Time_ps item_end_ps_ = 0;
  Received aggregate_;
  Time_ps interrupt_debt_ps_ = 0;  // work that was done at the end of an item and is paid with the next
  Time_ps handshake_ps_ = kNever_ps, fin_ps_ = kNever_ps;

  Program program_{*this};
  std::uint32_t program_number_ = host::kNoProgram;
  bool asleep_ = false;
  std::uint64_t copying_B_ = 0;
  Time_ps copy_end_ps_ = 0;
  Time_ps program_debt_ps_ = 0;
  std::uint64_t block_left_B_ = 0;
  bool finished_ = false, fin_sent_ = false, eof_ = false;

  Time_ps start_ps_ = 0, established_ps_ = kNever_ps, stop_ps_ = kNever_ps, last_ps_ = 0, next_interval_ps_ = kNever_ps;
  std::uint64_t bytes_ = 0, noted_B_ = 0, noted_retransmits_ = 0, dropped_ = 0;
  Time_ps program_busy_ps_ = 0, interrupt_busy_ps_ = 0;
  std::vector<TcpInterval> intervals_;
  std::uint64_t max_cwnd_B_ = 0;
  Time_ps min_rtt_ps_ = kNever_ps, max_rtt_ps_ = 0;
};

}  // namespace weft::workload
