// The packet ledger: every packet that enters a link ends in exactly one fate or is still in flight,
// and at the end of every run sent + copies + replicas == sum of fates + in flight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::fabric {

enum class Fate : std::uint8_t {
  // Reached the transport, whose receive function (nic/transports/transport.h) says which it is.
  kAccepted,       // moved the protocol forward
  kDuplicate,      // already received: answered or ignored, data not placed again
  kOutOfSequence,  // beyond what the transport can take now: discarded
  kStaleResponse,  // an ACK or response that acknowledges nothing new
  kNotReady,       // no receive posted: RNR NAK
  kRefused,        // NAK: invalid request, access or operational error
  kBadResponse,    // not what the request asks for: the request fails
  kUnknownQp,      // no such QP, one that cannot receive it, or a wrong Q_Key: silently discarded
  kWrongSource,    // a connected QP, and not its peer's address: silently discarded
  kNoMember,       // to a multicast group that nobody here has joined: the MAC filter discards it
  // Lost on the way.
  kFaultDrop,     // a drop fault of the lab
  kLinkDown,      // a cut or flapping link
  kFcsError,      // rx_crc_errors_phy
  kIcrcError,     // rx_icrc_encapsulated
  kRxBufferFull,  // rx_discards_phy
  // At a switch.
  kForwarded,     // left on another link, where it is counted again
  kPause,         // a pause frame: ends at the MAC
  kTailDrop,      // no shared buffer for a lossy class
  kWred,          // WRED: early, and not ECN-capable
  kNoHeadroom,    // a lossless class, headroom used up: it was sized too small
  kNoRoute,       // no route to the destination
  kTtlExpired,    // TTL too small
  kTooBig,        // larger than the MTU of the egress port
  kWatchdogDrop,  // a queue that the PFC watchdog took out of service
  kPortDown,      // waited for a port whose link went down
  kCpuDrop,       // would have to be forwarded by the switch's CPU, which is busy
  kRxRingFull,    // a software forwarder without a receive descriptor: rx_out_of_buffer
};
inline constexpr std::size_t kFateCount = 27;
inline constexpr std::array<std::string_view, kFateCount> kFateNames = {"accepted",
                                                                        "duplicate",
                                                                        "out of sequence",
                                                                        "stale response",
                                                                        "receiver not ready",
                                                                        "refused",
                                                                        "bad response",
                                                                        "unknown QP",
                                                                        "wrong source",
                                                                        "no group member",
                                                                        "fault drop",
                                                                        "link down",
                                                                        "FCS error",
                                                                        "ICRC error",
                                                                        "RX buffer full",
                                                                        "forwarded",
                                                                        "pause frame",
                                                                        "Tail drop",
                                                                        "WRED",
                                                                        "headroom exhausted",
                                                                        "no route",
                                                                        "TTL value is too small",
                                                                        "Packet larger than MTU",
                                                                        "PFC watchdog",
                                                                        "port down",
                                                                        "CPU path full",
                                                                        "RX ring full"};

// Kept at both ends of a direction: the sending end counts what it sent and what the link lost, the
// receiving end what became of the rest. Each end belongs to one node, so no counter has two writers.
struct Ledger {
  std::uint64_t sent = 0;
  std::uint64_t copies = 0;    // made by duplicate faults
  std::uint64_t replicas = 0;  // made by the receiving switch of packets to multicast groups, beyond the first
  std::array<std::uint64_t, kFateCount> fates{};

  void count(Fate fate) { ++fates[static_cast<std::size_t>(fate)]; }
  std::uint64_t of(Fate fate) const { return fates[static_cast<std::size_t>(fate)]; }
  std::uint64_t ended() const {
    std::uint64_t sum = 0;
    for (std::uint64_t n : fates) sum += n;
    return sum;
  }
};

}  // namespace weft::fabric
