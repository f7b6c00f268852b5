// The packets of the message that a packet belongs to, as the capture shows them at the same port: from its First to
// its Last, by looking back and ahead in the capture a bounded way.
#pragma once

#include <cstdint>
#include <optional>

#include "serve/packets/capture_book.h"

namespace weft::serve {

struct MessageSpan {
  std::uint64_t first = 0, last = 0;  // numbers in the capture
};

// Nothing for what is no part of a message (an ACK, a pause), or where an end of it is not in reach.
std::optional<MessageSpan> message_of(const IndexedCapture& capture, std::uint64_t number);

}  // namespace weft::serve
