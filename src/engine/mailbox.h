// Packets from one domain to another: written by the thread of the first in one window, read by that of the second in
// the next. Two boxes for each pair of domains, used in turn, so that neither waits for the other. What a box holds can
// also travel as bytes, to a domain of another engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "engine/packet.h"
#include "spec/telemetry.h"

namespace weft::engine {

class Domain;
class Inlet;

struct alignas(128) Mailbox {  // written by one thread while another reads its twin
  struct Entry {
    std::uint32_t inlet;  // its number on the route
    Packet packet;
  };
  std::vector<Entry> entries;  // in the order in which they were sent
  std::vector<Cold> cold;      // of those that have one, in order; then their telemetry and payload
  std::vector<Telemetry> telemetry;
  std::vector<std::uint8_t> bytes;
  Time_ps first_ps = kNever_ps;  // when the first of them is due

  void clear() {
    entries.clear();
    cold.clear();
    telemetry.clear();
    bytes.clear();
    first_ps = kNever_ps;
  }
};

// Appends what the box holds; read_bytes() fills an empty box from it, or returns false when that cannot be.
void append_bytes(const Mailbox& box, std::vector<std::byte>& out);
bool read_bytes(std::span<const std::byte> bytes, Mailbox& box);

// The way from one domain to another. Both ends number its links alike: in the order in which they were connected.
struct MailRoute {
  std::array<Mailbox, 2> boxes;
  const std::uint32_t* turn = nullptr;  // which of the two is being written
  Domain* source = nullptr;             // null when it belongs to another engine
  std::vector<Inlet*> inlets;           // by number; null when they belong to another engine

  Mailbox& written() { return boxes[*turn]; }
  // Called by the thread of the sending domain.
  void post(std::uint32_t inlet, const Packet& packet);
  // Puts every packet of the box into its inlet. By the thread of the receiving domain.
  void deliver(Mailbox& box);
};

}  // namespace weft::engine
