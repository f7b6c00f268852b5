// Packets from one domain to another: written by the thread of the first in one window, read by that of the second in
// the next. Two of each, used in turn, so that neither waits for the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/packet.h"
#include "engine/telemetry.h"

namespace weft::engine {

class Channel;

struct Mailbox {
  struct Letter {
    Channel* channel;
    Packet packet;
  };
  std::vector<Letter> letters;  // in the order in which they were sent
  std::vector<Cold> cold;       // of those that have one, in order; then their telemetry and payload
  std::vector<Telemetry> telemetry;
  std::vector<std::uint8_t> bytes;
  Time_ps first_ps = kNever_ps;  // when the first of them is due

  void clear() {
    letters.clear();
    cold.clear();
    telemetry.clear();
    bytes.clear();
    first_ps = kNever_ps;
  }
};

// The mail of one pair of domains; `turn` says which of the two is being written.
struct alignas(64) MailRoute {
  std::array<Mailbox, 2> boxes;
  const std::uint32_t* turn = nullptr;

  Mailbox& written() { return boxes[*turn]; }
};

// Puts every packet of the box into its channel. By the thread of the receiving domain.
void deliver(Mailbox& box);

}  // namespace weft::engine
