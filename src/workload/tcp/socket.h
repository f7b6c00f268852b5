// One end of a TCP connection of iperf3: the kernel's socket (workload/tcp/connection.h) and iperf3's thread, which
// copies between its buffer and the socket's and sleeps when there is nothing to copy. It pays for its work on its CPU.
// Not modelled: the control connection of iperf3, sendfile (-Z).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/tcp_result.h"
#include "workload/tcp/connection.h"

namespace weft::workload {

struct TcpSocketSettings {
  TcpSettings tcp;
  std::uint32_t block_B = 131072;  // -l
  std::uint64_t total_B = 0;       // -n; 0: by time
  Time_ps duration_ps = 0;         // -t
  Time_ps interval_ps = kSecond_ps;
};

class TcpSocket final : public TcpConnection {
 public:
  TcpSocket(const TcpSocketSettings& settings, const Endpoint& end);
  ~TcpSocket() override;

  void start(Time_ps at_ps);
  void stop();  // its threads give their CPUs back
  // Its rows so far, up to the last byte that was written or read.
  TcpStreamEnd result() const;
  bool finished() const { return finished_; }

 private:
  class Program final : public host::Program {
   public:
    explicit Program(TcpSocket& socket) : socket_(socket) {}
    Time_ps step(Time_ps now_ps) override { return socket_.step_program(now_ps); }

   private:
    TcpSocket& socket_;
  };

  void on_established(Time_ps now_ps) override;
  void on_readable(Time_ps now_ps) override { wake_program(now_ps); }
  void on_writable(Time_ps now_ps) override;
  void on_work_done(Time_ps now_ps) override { note_time(now_ps); }
  void wake_program(Time_ps now_ps);

  Time_ps step_program(Time_ps now_ps);
  Time_ps send_more(Time_ps now_ps);
  Time_ps read_more(Time_ps now_ps);
  void end_copy(Time_ps now_ps);
  void end_stream(Time_ps now_ps);
  void note_time(Time_ps now_ps);
  void add_interval(Time_ps end_ps);
  void add_last_interval(Time_ps end_ps);

  TcpSocketSettings settings_;
  std::uint32_t program_cpu_ = 0;
  bool running_ = false;  // its threads have CPUs
  Program program_{*this};
  std::uint32_t program_number_ = host::kNoProgram;
  static constexpr std::uint64_t kChunk_B = 65536;  // copied at once
  bool fills_ = false;                              // a small buffer
  bool asleep_ = false;
  std::uint64_t copying_B_ = 0;
  Time_ps copy_end_ps_ = 0;
  Time_ps program_debt_ps_ = 0;
  std::uint64_t block_left_B_ = 0;
  bool finished_ = false;

  Time_ps start_ps_ = 0, established_ps_ = kNever_ps, stop_ps_ = kNever_ps, last_ps_ = 0, next_interval_ps_ = kNever_ps;
  std::uint64_t bytes_ = 0, noted_B_ = 0, noted_retransmits_ = 0;
  Time_ps program_busy_ps_ = 0;
  std::vector<TcpInterval> intervals_;
};

}  // namespace weft::workload
