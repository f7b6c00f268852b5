// The configuration of a device: its model, its port, its faults, and the host and card around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/packet.h"
#include "nic/async.h"
#include "nic/pcie/context_cache.h"
#include "nic/pcie/function.h"
#include "spec/nic_model.h"
#include "spec/port_qos.h"
#include "spec/work.h"

namespace weft::nic {

class Device;
class MessageTrace;

inline constexpr std::size_t kGrh_B = 40;  // a UD receive begins with the peer's GRH

// Host around the device: what it adds to its timing, and whom to notify.
struct HostSide {
  Time_ps mmio_write_ps = 0;
  Time_ps dma_read_ps = 0;
  Time_ps dma_write_ps = 0;
  Time_ps memory_jitter_ps = 0;
  void* self = nullptr;
  void (*on_completion)(void* self, std::uint32_t cq, Time_ps visible_ps) = nullptr;  // armed CQs only
  void (*on_write)(void* self, std::uint32_t key, Time_ps visible_ps) = nullptr;      // watched regions only
  // Rare things. To be noted and acted upon later: the device is in the middle of one.
  void (*on_async)(void* self, AsyncKind kind, std::uint32_t number, Time_ps now_ps) = nullptr;
  // Writes the GRH that a UD receive begins with; `group` is null where the packet is for this port alone. Null: those
  // bytes stay as they are.
  void (*make_grh)(void* self, const engine::Packet& packet, const GroupGid* group,
                   std::span<std::uint8_t, kGrh_B> out) = nullptr;
  MessageTrace* trace = nullptr;  // of one message; null: nobody asked
};

inline constexpr std::size_t kMostFunctions = 255;

// State that the ports of one card share.
struct Card {
  // One for each PCIe function, then those that reach memory by a path of their own (Host::place): queue pairs name
  // their place in it.
  std::vector<PcieFunction> functions;
  std::uint64_t registered_B = 0;  // memory regions of its ports
  Time_ps message_free_ps = 0;
  Time_ps atomic_free_ps = 0;
  Time_ps read_free_ps = 0;
  ContextCache contexts;
};

struct DeviceConfig {
  NicModel model;
  std::string name;           // "mlx5_0"
  std::uint32_t port_id = 0;  // in the world
  std::uint64_t seed = 0;
  PortQos qos;
  std::uint8_t extra_words = 0;                         // of IPv6 and a VLAN tag, for Packet::header_words
  const std::vector<std::uint32_t>* subnets = nullptr;  // by port id: who needs a router; null: nobody
  // Index: port id. The port whose NIC it is a virtual function of, or itself. Null: no port is one.
  const std::vector<std::uint32_t>* carriers = nullptr;
  bool carry_payload = false;  // payload bytes are needed
  bool record = false;         // what senders waited for, and rare events (nic/record/port_record.h)
  // Faults of this port: a receiver that is slow, and one that pauses its peer for nothing.
  Time_ps slow_ps_per_byte = 0;
  Time_ps slow_from_ps = kNever_ps, slow_until_ps = kNever_ps;
  std::uint8_t storm_classes = 0;
  Time_ps storm_from_ps = kNever_ps, storm_until_ps = kNever_ps;
  Device* bond = nullptr;             // the first port of the bond that this is the second of
  std::vector<Time_ps> link_down_ps;  // when the cable loses its signal, in order: pauses end
  HostSide host;

  // Packets to there do not leave the NIC: another of its functions.
  bool turns_round(std::uint32_t port) const { return carriers != nullptr && (*carriers)[port] == port_id; }
};

}  // namespace weft::nic
