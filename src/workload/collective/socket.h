// One end of a connection by NCCL's socket transport: kernel TCP (workload/tcp/connection.h), and the thread of the
// proxy that copies messages into the socket or out of it. A message is a header with its size and the data.
#pragma once

#include <cstdint>
#include <deque>

#include "workload/collective/engine.h"
#include "workload/tcp/connection.h"

namespace weft::workload {

class CollectiveSocket final : public TcpConnection {
 public:
  // `cpu` is that of the proxy, which all sockets of its rank share.
  CollectiveSocket(const CollectiveNetSettings& settings, const Endpoint& end, bool sends, CollectiveHost& host,
                   std::uint32_t half, std::uint32_t cpu);
  ~CollectiveSocket() override;

  void start(Time_ps at_ps);
  void stop();
  // A message of so many bytes is in the sender's buffer.
  void send(std::uint32_t size_B, Time_ps now_ps);
  // The receiver will read one of that size, and has room for one more.
  void expect(std::uint64_t size_B) { sizes_.push_back(size_B); }
  void add_room(Time_ps now_ps);
  const CollectiveHost& machine() const { return host_; }
  std::uint32_t cpu() const { return cpu_; }
  Time_ps copied_ps() const { return copied_ps_; }  // CPU time
  std::uint32_t mss_B() const { return tcp_.mss_B; }
  // What these messages take of the proxy's CPU and of the line (collective_bounds.h).
  void add_loads(const MessageLoad& load, CollectiveLoads& loads) const;

 private:
  class Thread final : public host::Program {
   public:
    explicit Thread(CollectiveSocket& socket) : socket_(socket) {}
    Time_ps step(Time_ps now_ps) override { return socket_.step(now_ps); }

   private:
    CollectiveSocket& socket_;
  };

  void on_established(Time_ps now_ps) override { wake(now_ps); }
  void on_readable(Time_ps now_ps) override { wake(now_ps); }
  void on_writable(Time_ps now_ps) override { wake(now_ps); }
  void wake(Time_ps now_ps);
  Time_ps step(Time_ps now_ps);
  Time_ps write_more(Time_ps now_ps);
  Time_ps read_more(Time_ps now_ps);
  void end_copy(Time_ps now_ps);
  Time_ps copy_ps(std::uint64_t size_B) const;

  static constexpr std::uint64_t kChunk_B = 65536;  // copied at once
  CollectiveHost& host_;
  std::uint32_t half_;
  Thread thread_{*this};
  std::uint32_t thread_number_ = host::kNoProgram;
  std::uint32_t cpu_;
  bool running_ = false, asleep_ = true;
  std::deque<std::uint64_t> messages_;  // bytes that are still to be written, headers included
  std::uint32_t room_ = 0;              // messages that the receiver may take
  std::uint64_t left_B_ = 0;            // of the one that is being received, or sent
  std::deque<std::uint64_t> sizes_;     // that are to be received
  std::uint64_t copying_B_ = 0;
  Time_ps copy_end_ps_ = 0, debt_ps_ = 0, copied_ps_ = 0;
};

}  // namespace weft::workload
