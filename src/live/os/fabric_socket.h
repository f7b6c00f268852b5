// One end of a program's TCP connection over the simulated fabric: the kernel's socket of workload/tcp/connection.h
// with a thread of the program above it. The socket decides when bytes leave, arrive and are acknowledged; the bytes
// themselves are in a pipe that both ends have. A thread that copies pays for it on a CPU of its node, as iperf3's does
// in a workload, and has its call's reply when the copy is done.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "live/os/node.h"
#include "verbs/stream_protocol.h"
#include "workload/tcp/connection.h"

namespace weft::live {

class FabricSocket;
struct Stream;

// One direction of a connection: what was written and is not read yet, and a part of what is, for captures.
class BytePipe {
 public:
  void append(std::span<const std::byte> bytes);
  // Copies unread bytes, from the first on.
  void peek(std::span<std::byte> out) const { copy(read_, out); }
  void read(std::span<std::byte> out);
  // From an offset of the stream on; returns how many bytes there are.
  std::size_t copy(std::uint64_t from, std::span<std::byte> out) const;

 private:
  static constexpr std::size_t kChunk_B = 64 << 10;  // short writes are put together up to this
  static constexpr std::uint64_t kKept_B = 1 << 20;  // behind the reader

  std::deque<std::vector<std::byte>> chunks_;
  std::uint64_t begin_ = 0, read_ = 0;  // offsets of the first byte that is here, and of the first that was not read
};

// Owner of the sockets, which is told what becomes of them.
class FabricSocketOwner {
 public:
  virtual ~FabricSocketOwner() = default;
  enum class Syn : std::uint8_t { kAccept, kRefuse, kIgnore };
  virtual Syn syn_arrived(FabricSocket& socket, Time_ps now_ps) = 0;
  virtual void established(FabricSocket& socket, Time_ps now_ps) = 0;
  // Bytes, room or an end: threads that wait look again.
  virtual void changed(FabricSocket& socket, Time_ps now_ps) = 0;
  virtual void died(FabricSocket& socket, int error, Time_ps now_ps) = 0;
  virtual void over(FabricSocket& socket, Time_ps now_ps) = 0;  // nothing is left to do at this end
};

class FabricSocket final : public workload::TcpConnection, public std::enable_shared_from_this<FabricSocket> {
 public:
  FabricSocket(FabricSocketOwner& owner, Node& node, const workload::TcpSettings& settings,
               const workload::Endpoint& end);
  ~FabricSocket() override;

  std::weak_ptr<Stream> stream;      // the program's; empty: it has closed it
  std::shared_ptr<Stream> embryo;    // of a server, until the connection is there
  std::weak_ptr<Stream> listener;    // likewise
  std::weak_ptr<FabricSocket> peer;  // for its owner

  void join(FabricSocket& other);
  void open(Time_ps now_ps) { send_syn(now_ps); }
  void accept_syn(Time_ps now_ps) { answer_syn(now_ps); }
  void refuse_syn(Time_ps now_ps);
  bool awaits_syn() const { return state_ == State::kClosed; }
  bool is_done() const;
  Node* node() { return &node_; }
  Time_ps wakeup_ps() const { return cost_.wakeup_ps; }  // of a thread that sleeps

  std::size_t readable_B() const { return static_cast<std::size_t>(receiver_.unread_B()) - reading_B_; }
  bool has_ended() const { return receiver_.ended(); }
  std::size_t room_B() const;
  bool is_writable() const;  // a third of the send buffer is free
  std::size_t unsent_B() const { return static_cast<std::size_t>(used_B()) + writing_B_; }
  void peek(std::span<std::byte> out) const { in_->peek(out); }
  // Both return when the thread has copied.
  Time_ps read(std::span<std::byte> out, const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  Time_ps write(std::span<const std::byte> bytes, const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  void finish(Time_ps now_ps);  // no more is sent
  void close(bool reset, Time_ps now_ps);

  // Options.
  void set_no_delay(bool on);
  void set_algorithm(workload::TcpAlgorithm algorithm);
  void set_receive_buffer(std::uint64_t window_B);
  void set_send_buffer(std::uint64_t size_B) { tcp_.send_buffer_B = size_B; }
  const workload::TcpSettings& settings() const { return tcp_; }
  void describe(verbs::StreamTcp& info) const;
  // For captures: whether this end sent the segment, and its bytes.
  bool sent(std::uint32_t from_port, const nic::TcpWords& words) const;
  std::size_t bytes_of(const nic::TcpWords& words, std::span<std::byte> out) const;

 private:
  Syn on_syn(Time_ps now_ps) override;
  void on_established(Time_ps now_ps) override { owner_.established(*this, now_ps); }
  void on_readable(Time_ps now_ps) override;
  void on_writable(Time_ps now_ps) override { tell(now_ps); }
  void on_fin_acked(Time_ps now_ps) override;
  void on_death(Death why, Time_ps now_ps) override;
  Time_ps run(Thread& thread, Time_ps now_ps, Time_ps work_ps);
  void tell(Time_ps now_ps);

  FabricSocketOwner& owner_;
  Node& node_;
  std::shared_ptr<BytePipe> in_ = std::make_shared<BytePipe>(), out_ = in_;
  std::size_t reading_B_ = 0, writing_B_ = 0;  // that threads copy now
  bool closed_ = false, finishes_ = false, telling_ = false;
};

}  // namespace weft::live
