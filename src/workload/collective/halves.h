// The two ends of a connection between ranks, on a channel: what the sender's machine and the receiver's know of it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/time.h"
#include "nccl/schedule/operation.h"
#include "nccl/schedule/schedule.h"
#include "nic/device.h"

namespace weft::workload {

class CollectiveSocket;

// One item of a stream: a collective of a rank, or another kernel.
struct CollectiveItem {
  std::uint32_t communicator = 0, rank = 0;
  nccl::Operation operation;
  bool is_compute = false;
  bool on_cpu = false;
  Time_ps duration_ps = 0;
  Time_ps earliest_ps = 0;
  std::uint64_t tag = 0;
};

inline constexpr std::uint64_t kNoLane = ~std::uint64_t{0};
inline constexpr std::uint32_t kMostMessages = 2 * nccl::kBufferSteps;  // of a connection, under way
inline constexpr std::uint32_t kMostConnectionQps = 16;

// How the data leaves a block.
enum class CollectiveWay : std::uint8_t {
  kNvlink,
  kPcie,    // peer to peer
  kShared,  // through the host's memory
  kNet,     // RDMA
  kSocket
};

struct CollectiveSendHalf {
  CollectiveWay way = CollectiveWay::kNvlink;
  std::uint32_t communicator = 0, channel = 0, from = 0, to = 0;
  bool point_to_point = false;
  std::uint32_t gpu = 0;       // the block's
  std::uint32_t peer_gpu = 0;  // where it writes to: the receiver's, or of PXN the GPU of the proxy
  std::uint32_t peer = 0;      // receive half on this machine, if it is on this one
  std::uint32_t used = 0;      // steps that are not free
  std::uint64_t waiting = kNoLane;
  std::int64_t pair_Bps = 0;  // of a link between these two GPUs alone; 0: all of a GPU's links lead to all others

  // Network.
  bool staged = false;                            // in host memory, all protocols
  std::uint8_t function = nic::kQpFunction;       // where the NIC finds what is elsewhere
  std::uint32_t mtu_B = 0;                        // of its packets
  std::uint8_t host_function = nic::kQpFunction;  // where the NIC finds what is there
  std::int32_t nic_uplink = -1;                   // of the NIC's PCIe switch
  std::uint32_t proxy = 0;
  nic::Device* device = nullptr;
  std::uint32_t qps = 0;
  std::array<std::uint32_t, kMostConnectionQps> qpn{};
  bool split = false;
  std::uint64_t local_va = 0, remote_va = 0;
  std::uint32_t lkey = 0, rkey = 0;
  std::uint64_t slot_B = 0;
  std::uint32_t fifo_key = 0;  // where the receiver says what it has room for
  std::uint64_t fifo_va = 0;
  std::uint64_t written = 0, seen = 0, offered = 0, posted = 0, sent = 0;  // messages; `seen`: by the proxy
  std::uint64_t slots_posted = 0;                                          // steps
  struct Message {
    std::uint32_t size_B = 0;
    std::uint8_t steps = 0, parts = 0;
    nccl::Protocol protocol = nccl::Protocol::kSimple;
  };
  std::array<Message, kMostMessages> messages{};
  CollectiveSocket* socket = nullptr;

  // The sender's buffer of LL is in host memory with GPUDirect too: the proxy looks for its flags there. Those of LL128
  // and Simple, and all of a receiver, are where GPUDirect puts them.
  bool in_host_memory(nccl::Protocol protocol) const {
    return staged || (way == CollectiveWay::kNet && protocol == nccl::Protocol::kLl);
  }
};

struct CollectiveReceiveHalf {
  CollectiveWay way = CollectiveWay::kNvlink;
  std::uint32_t communicator = 0, channel = 0, from = 0, to = 0;
  bool point_to_point = false;
  std::uint32_t gpu = 0;   // the block's
  std::uint32_t peer = 0;  // send half on this machine
  std::uint32_t available = 0;
  std::uint64_t waiting = kNoLane;
  std::uint64_t consumed = 0, arrived = 0;           // messages
  std::array<Time_ps, kMostMessages> complete_ps{};  // when all of it is there

  // Network.
  bool staged = false, flush = false;
  std::uint8_t function = nic::kQpFunction;  // where the NIC puts what comes
  std::int32_t nic_uplink = -1;
  std::uint32_t proxy = 0;
  nic::Device* device = nullptr;
  std::uint32_t qps = 0;
  std::array<std::uint32_t, kMostConnectionQps> qpn{};
  bool split = false;
  std::uint8_t host_function = nic::kQpFunction;  // where the NIC finds elements of the FIFO
  std::uint64_t fifo_va = 0;                      // the sender's
  std::uint32_t fifo_rkey = 0, lkey = 0;
  struct Expected {
    std::uint64_t messages = 0;
    std::uint32_t steps = 0;
    nccl::Protocol protocol = nccl::Protocol::kSimple;
  };
  std::deque<Expected> expected;  // of kernels that were launched
  std::uint64_t offered = 0, received = 0;
  std::uint32_t steps_out = 0;                      // offered and not consumed
  std::array<std::uint8_t, kMostMessages> parts{};  // that have not come
  std::array<nccl::Protocol, kMostMessages> protocol{};
  std::array<std::uint32_t, kMostMessages> size_B{};  // that have come
  std::array<Time_ps, kMostMessages> first_ps{};      // when the first of it was there
  CollectiveSocket* socket = nullptr;
};

}  // namespace weft::workload
