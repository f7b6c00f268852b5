// Where each picosecond of one message went, for `--why`: devices, taps on the links and the program each add what they
// know, in the order in which it happens to that message, and the spans are one chain from its post to what its program
// measures. Ends are compared with the times that the model itself uses: what nobody explains is a span of its own,
// kUnexplained. A device has none unless somebody asked; then the world runs in one domain. Not followed: what a port
// sends to itself.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/packet.h"
#include "nic/pcie/path.h"
#include "spec/message_span.h"
#include "spec/wait.h"

namespace weft::nic {

class Device;
struct QueuePair;
struct SendWqe;

class MessageTrace {
 public:
  struct End {
    const Device* device = nullptr;
    std::uint32_t qpn = 0;
  };
  // `until_completion`: it ends when its sender sees it complete; otherwise when its receiver sees it.
  MessageTrace(End client, End server, bool until_completion)
      : ends_{client, server}, until_completion_(until_completion) {}

  // The program: the chain begins, the next post of that end is part of it, and what the CPU does.
  void begin(Time_ps now_ps);
  void expect_post(bool client);
  void add(Stage stage, Time_ps until_ps, std::uint32_t from = 0, std::uint32_t to = 0);
  // The model has come here. What the chain lacks nobody has explained.
  void settle(Time_ps at_ps) { add(Stage::kUnexplained, at_ps); }
  bool is_at_program() const { return phase_ == Phase::kSeen; }
  Time_ps begin_ps() const { return begin_ps_; }
  Time_ps until_ps() const { return until_ps_; }
  const std::vector<Span>& spans() const { return spans_; }

  // Devices, each for all its queue pairs.
  struct Post {
    Time_ps doorbell_ps, mmio_ps, transmit_ps, read_ps, burst_ps;
  };
  void posted(const Device& device, const QueuePair& qp, const SendWqe& wqe, const Post& post);
  // A READ or an atomic: the unit begins it, is occupied, and the answer is ready.
  struct Answer {
    Time_ps now_ps, start_ps, occupied_ps, response_ps, read_ps, burst_ps, ready_ps;
  };
  void answered(const Device& device, const QueuePair& qp, std::uint32_t psn, const Answer& answer);
  // Times of a write from leaving the NIC to being seen; then whose it was.
  void seen_after(Time_ps left_ps, Time_ps memory_ps, Time_ps jitter_ps, Time_ps visible_ps);
  // `link_ps`: what the packet's payload takes on the card's link alone.
  void delivered(const Device& device, const QueuePair& qp, std::uint32_t psn, Time_ps now_ps, Time_ps placed_ps,
                 Time_ps link_ps);
  void completed(const Device& device, const QueuePair& qp, const SendWqe& wqe, Time_ps now_ps, Time_ps data_left_ps,
                 const PcieFunction& function);

  // Taps on every link: a frame leaves one port, and the node at the other handles it.
  struct Hop {
    std::uint32_t from, to;
    Time_ps ps_per_byte;
    Time_ps propagation_ps, fec_ps, flight_ps;  // the last one is all of it
    std::uint32_t cut_through_B;                // 0: none
    bool to_switch, from_forwarder;
  };
  void sent(const Hop& hop, const engine::Packet& packet, Time_ps start_ps);
  void arrived(const Hop& hop, const engine::Packet& packet, Time_ps first_bit_ps);

  PathDelays* delays() { return &delays_; }

 private:
  enum class Phase : std::uint8_t { kIdle, kExpected, kRequest, kReply, kSeen };
  struct Seen {
    Time_ps left_ps, memory_ps, jitter_ps, visible_ps;
    PathDelays delays;
  };
  bool is_from(std::size_t end, const Device& device, const QueuePair& qp) const;
  // Part of the message itself or of its answer: its place in it, and whether it is the packet that the chain follows.
  enum class Part : std::uint8_t { kNone, kEarlier, kLast };
  Part part_of(const engine::Packet& packet);
  void add_delays(PathDelays delays);
  PathDelays take_delays();
  void add_wait(const Device& device, std::uint32_t qpn, Time_ps start_ps);
  void add_write(Time_ps now_ps, Time_ps left_ps, Time_ps link_ps);
  void add_seen();

  End ends_[2];
  bool until_completion_;
  Phase phase_ = Phase::kIdle;
  std::size_t sender_ = 0;  // of ends_
  std::uint32_t first_psn_ = 0, last_psn_ = 0, ack_psn_ = 0;
  bool needs_response_ = false, has_ack_ = false;
  bool all_sent_ = false;  // its last packet, or that of the answer, has left the first port
  Time_ps begin_ps_ = 0, until_ps_ = 0;
  Time_ps port_free_ps_ = 0;  // of the port that sends the message, then of the one that answers
  std::uint8_t way_ = 0;
  std::vector<Span> spans_;
  PathDelays delays_;
  Seen seen_{};
};

}  // namespace weft::nic
