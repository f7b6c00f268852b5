// The packets of the message of a packet, as captured at the same port: from its First to its Last, by a bounded search
// backwards and forwards in the capture.
#pragma once

#include <cstdint>
#include <optional>

#include "serve/packets/capture_book.h"

namespace weft::serve {

struct MessageSpan {
  std::uint64_t first = 0, last = 0;  // numbers in the capture
};

// Nothing for packets that are not part of a message (an ACK, a pause), or if an end of it is not found.
std::optional<MessageSpan> message_of(const IndexedCapture& capture, std::uint64_t number);

}  // namespace weft::serve
