// One end of a TCP connection in the kernel: the socket with its half of the CPU time. The interrupt takes packets from
// the receive ring, joins them (GRO), runs TCP, answers and sends what ACKs allow; it pays for its work on its CPU
// (host/cpu_cores.h), and what it does happens when that work is done. Segments go through the port as everything else
// (nic/transports/tcp_segment.h). Who reads and writes is a class above: iperf3's thread of a workload
// (workload/tcp/socket.h) or a program on a world (live/os/fabric_socket.h). Not modelled: receive flow steering,
// urgent data, keep-alive.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/transports/tcp_segment.h"
#include "workload/connection.h"
#include "workload/tcp/receiver.h"
#include "workload/tcp/sender.h"

namespace weft::workload {

struct TcpSettings {
  bool client = false;  // opens the connection
  bool sends = false;
  TcpAlgorithm algorithm = TcpAlgorithm::kCubic;
  std::uint32_t mss_B = 1448;
  std::uint64_t window_B = 0;       // of the receive buffer; 0: automatic
  std::uint64_t send_buffer_B = 0;  // 0: automatic
  std::uint16_t port = 0, peer_port = 0;
  bool routed = false;
  std::uint32_t descriptors = 4096;  // of the transmit queue
  bool gives_up = false;             // after as many tries as Linux makes; a workload ends by its time
  bool shares_interrupt = false;     // has the CPU of its interrupt for itself only when it has been busy
};

class TcpConnection {
 public:
  static constexpr std::uint64_t kFirstBuffer_B = 87040, kMostBuffer_B = 4 << 20;  // tcp_wmem

  TcpConnection(const TcpSettings& settings, const Endpoint& end);
  virtual ~TcpConnection();
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  std::uint32_t qpn() const { return qpn_; }
  void connect_to(const Endpoint& peer, std::uint32_t peer_qpn);

 protected:
  enum class State : std::uint8_t { kClosed, kSynSent, kSynReceived, kEstablished, kDead };
  enum class Syn : std::uint8_t { kAccept, kRefuse, kIgnore };

  // What the class above hears of.
  virtual Syn on_syn(Time_ps /*now_ps*/) { return Syn::kAccept; }
  virtual void on_established(Time_ps now_ps) = 0;
  virtual void on_readable(Time_ps now_ps) = 0;  // bytes, or the end of the stream
  virtual void on_writable(Time_ps now_ps) = 0;  // a third of the send buffer is free
  virtual void on_work_done(Time_ps /*now_ps*/) {}
  virtual void on_fin_acked(Time_ps /*now_ps*/) {}
  // The connection is dead: by the peer's RST (refused, while it was being opened), or because nobody answers.
  enum class Death : std::uint8_t { kRefused, kReset, kTimedOut };
  virtual void on_death(Death /*why*/, Time_ps /*now_ps*/) {}

  // Of a connection that is over, while its world goes on. Before it is destroyed.
  void release_queues();
  void start_interrupt();  // its CPU is the interrupt's from now on
  void send_syn(Time_ps now_ps);
  // For a thread above it: whether it can copy. A client that asks for the first time sends its SYN.
  bool is_connected(Time_ps now_ps);
  void answer_syn(Time_ps now_ps);  // of a peer whose SYN was ignored at first, or now
  void send_reset(Time_ps now_ps);
  // This end sends no more. The FIN goes with the last bytes, or by itself.
  void finish_sending(Time_ps now_ps);

  // tcp_connection.cc
  void post(nic::TcpWords words, std::uint32_t length_B, Time_ps doorbell_ps);
  nic::TcpWords words_for(std::uint32_t sequence, std::uint8_t flags, Time_ps now_ps);
  void send_control(std::uint8_t flags, Time_ps now_ps);
  void send_ack(Time_ps now_ps, bool earlier = false);
  // Sends what it may; returns the CPU time of it.
  Time_ps push(Time_ps now_ps);
  void plan_interrupt(Time_ps now_ps);
  std::uint64_t send_buffer_B() const;
  // Of a sequence number of what this end sends.
  std::uint64_t sent_offset(std::uint32_t sequence) const {
    const std::uint64_t una = sender_.acked();
    return una + static_cast<std::int32_t>(sequence - (isn_ + 1 + static_cast<std::uint32_t>(una)));
  }
  std::uint64_t used_B() const { return sender_.written() - sender_.acked(); }

  TcpSettings tcp_;
  Endpoint end_;
  const host::HostModel& cost_;
  host::CpuCores& cpus_;
  std::uint32_t interrupt_cpu_ = 0;
  TcpSender sender_;
  TcpReceiver receiver_;
  State state_ = State::kClosed;
  bool fin_sent_ = false, fin_acked_ = false;
  std::uint64_t dropped_ = 0;  // no receive descriptor was free
  Time_ps interrupt_busy_ps_ = 0;
  std::uint64_t max_cwnd_B_ = 0;
  Time_ps min_rtt_ps_ = kNever_ps, max_rtt_ps_ = 0;
  std::uint64_t segments_in_ = 0, segments_out_ = 0;

 private:
  enum class Item : std::uint8_t { kNone, kPackets, kSent, kTimer };
  struct Received {
    nic::TcpWords words;
    std::uint32_t payload_B = 0;
    bool marked = false;
  };
  class Interrupt final : public host::Program {
   public:
    explicit Interrupt(TcpConnection& connection) : connection_(connection) {}
    Time_ps step(Time_ps now_ps) override { return connection_.step_interrupt(now_ps); }

   private:
    TcpConnection& connection_;
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
  bool gives_up() const;
  void die(Death why, Time_ps now_ps);
  std::uint64_t offset_of(std::uint32_t sequence) const;

  std::uint32_t qpn_ = 0, cq_ = 0;
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
  std::uint32_t handshake_tries_ = 0, fin_tries_ = 0;
};

}  // namespace weft::workload
