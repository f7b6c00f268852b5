// What one message waited for on its way, stage by stage; nic/message_trace.h records it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::nic {

enum class Stage : std::uint8_t {
  kPost,           // CPU: WQE and doorbell
  kDoorbell,       // MMIO write until the NIC has it, with the WQE (BlueFlame)
  kTransmit,       // NIC: from the doorbell to the first bit
  kPayloadRead,    // DMA read, until its first bytes are in the NIC
  kPayloadBurst,   // and what the NIC has of it before it sends, by PCIe
  kSendQueue,      // behind earlier messages, of its own or of other queue pairs
  kMessageRate,    // of the NIC
  kPace,           // congestion control
  kPaused,         // by the peer
  kRecovery,       // after a loss
  kPcie,           // for payload that is not in the NIC
  kSerialisation,  // on a link
  kPropagation,    // in a cable
  kFec,            // its encoder and decoder
  kPhy,            // PHY and MAC of both ports
  kHeldBack,       // by a fault or an impairment of the cable
  kSwitch,         // its pipeline
  kQueue,          // in a switch
  kForwarder,      // interrupt, CPU, ring and qdisc of a software forwarder
  kReceive,        // NIC: its pipeline
  kUnitBusy,       // the responder's READ or atomic unit has others first
  kResponse,       // NIC: until an answer can be sent
  kReplyPort,      // an answer waits for its port
  kPayloadWrite,   // payload leaves the NIC by PCIe
  kWriteBacklog,   // more than its time on the card's link: behind others, or over a slower one
  kEntry,          // and so does the CQE
  kMemory,         // root complex and memory, until the CPU can see it
  kJitter,         // of memory
  kNumaHops,
  kNumaBusy,  // others on the links between nodes
  kPcieSwitches,
  kGpuMemory,
  kIommu,
  kCopy,           // between GPU and host memory: no GPUDirect
  kOwnCompletion,  // the program still waits for the completion of what it sent before
  kPolled,         // visible, and the program has not looked yet
  kAway,           // the CPU does something else: interrupts, other threads
  kPoll,           // the look that finds it
  kPostReceive,
  kUnexplained,
};
inline constexpr std::size_t kStages = 40;

struct Span {
  Stage stage;
  std::uint8_t way;                // 0: there, 1: back
  std::uint32_t from = 0, to = 0;  // ports of the link, where it is one; both the PcieLimit, of kPcie
  Time_ps time_ps;
};

}  // namespace weft::nic
