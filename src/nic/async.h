// Asynchronous events that a device tells its host outside any completion queue: ibv_event_type, same numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::nic {

enum class AsyncKind : std::uint8_t {
  kCqError = 0,                   // a completion queue was overrun; its number
  kQpFatal = 1,                   // a queue pair failed with nothing to complete; its number, as of all below
  kQpRequestError = 2,            // its responder got a request that is not valid …
  kQpAccessError = 3,             // … or that may not touch the memory it names
  kCommunicationEstablished = 4,  // the first packet came in RTR
  kSendQueueDrained = 5,          // in SQD, and everything that had begun is done
  kPortActive = 9,                // the port has a signal again; its number, 1, as of the next
  kPortError = 10,                // the port has lost its signal
  kSrqLimitReached = 15,          // fewer receives are left than asked for; the number of the SRQ
  kLastWqeReached = 16,           // in ERR, and takes no more receives from its SRQ
  // Not of verbs: for traces.
  kEnteredSqe = 128,
  kEnteredError = 129,
};
constexpr bool is_internal(AsyncKind kind) {
  return kind >= AsyncKind::kEnteredSqe;
}
// As ibv_event_type_str prints it.
std::string_view name(AsyncKind kind);

}  // namespace weft::nic
