// Which network devices NCCL finds on a machine: RoCE ports that NCCL_IB_HCA takes, the ports of one card merged, or
// interfaces for sockets when there is none.
#pragma once

#include <cstdint>
#include <vector>

#include "nccl/decide/topology.h"

namespace weft::nccl {

std::vector<NetDevice> find_net_devices(const Machine& machine, const Environment& environment);

// 0x1000: 0000:01:00.0. As Weft's hosts show their NICs, unless the NIC has a place of its own.
std::uint64_t nic_bus_id(const Machine& machine, std::uint32_t nic);

// The interface that bootstrap and sockets use first; nothing when NCCL_SOCKET_IFNAME takes none.
std::optional<std::uint32_t> bootstrap_nic(const Machine& machine, const Environment& environment);

}  // namespace weft::nccl
