// A transport: what the queue pairs of one kind put on the wire, and what they do with what comes in. A table of
// functions over a queue pair; the device calls it once for each packet that a queue pair sends, answers or receives,
// and when its timer is due. What a sequence number or an opcode is, only the transport knows; fabric and observers ask
// its format (engine/packet_format.h). RC is in responder.cc, requester.cc, reply.cc and recovery.cc, UC in
// unreliable.cc, UD in datagram.cc, XRC in extended.cc. Where to add one: docs/ARCHITECTURE.md, "Seams".
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/time.h"
#include "engine/packet_format.h"
#include "fabric/link.h"
#include "nic/queues/queue_pair.h"

namespace weft::nic {

struct Port;

struct Transport {
  std::string_view name;
  std::uint8_t number = 0;       // Packet::transport of its packets
  bool connected = true;         // a queue pair has one peer; otherwise each work request names its own
  bool reliable = true;          // a work request that fails ends the queue pair; otherwise only its send queue
  bool one_packet = false;       // a message is one packet
  std::uint32_t operations = 0;  // bit n: WrOpcode n; work that needs no packet is not among them
  std::size_t state_B = 0;       // of own_state()
  const engine::PacketFormat* format = nullptr;
  // The next packet of `wqe`, which the device has let through. False: nothing was sent, and the queue pair is queued
  // for when something can be, or whatever it waits for will queue it.
  bool (*send)(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) = nullptr;
  // The next packet of `reply`, which is ready; left_B is 0 after its last. False: as above. Null: nothing comes back.
  bool (*send_reply)(Port& port, QueuePair& qp, Reply& reply, Time_ps now_ps) = nullptr;
  // A packet of this transport for this queue pair, from its peer if it has one. Says what became of it.
  fabric::Fate (*receive)(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps) = nullptr;
  // The entry that arm_timer() made comes up: Requester::deadline_ps may have moved meanwhile. Null: no timer.
  void (*on_timer)(Port& port, QueuePair& qp, Time_ps now_ps) = nullptr;
};

// For Transport::operations, in the order of WrOpcode.
constexpr std::uint32_t operation_bits(WrOpcode first, WrOpcode last) {
  return (2u << static_cast<unsigned>(last)) - (1u << static_cast<unsigned>(first));
}

// Those that put packets on the wire.
inline constexpr std::uint32_t kReliableOperations =
    operation_bits(WrOpcode::kWrite, WrOpcode::kSendInv) | operation_bits(WrOpcode::kRead, WrOpcode::kCompareSwap);

extern const Transport kRcTransport;
extern const Transport kUcTransport;
extern const Transport kUdTransport;
extern const Transport kXrcTransport;
const Transport& transport_of(QpType type);

// Packet formats of these four, of CNPs and of link control, for a world's engine.
const engine::PacketFormats& packet_formats();

// State that a transport keeps for a queue pair beside Requester and Responder: zeros at first and after RESET.
template <class Own>
Own& own_state(QueuePair& qp) {
  static_assert(std::is_trivially_copyable_v<Own> && alignof(Own) <= alignof(std::max_align_t));
  return *std::launder(reinterpret_cast<Own*>(qp.own.get()));
}

}  // namespace weft::nic
