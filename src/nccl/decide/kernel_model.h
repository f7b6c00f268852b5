// How long a GPU takes for the work of NCCL's kernels: launches, blocks, what one hop adds. From the GPU's catalog
// entry and by its generation, as NCCL's own tuning tables are (docs/mechanisms/collectives.md has sources and tags).
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "nccl/decide/communicator.h"
#include "spec/gpu_model.h"

namespace weft::nccl {

using PerProtocol = std::array<std::int64_t, 3>;  // by Protocol: LL, LL128, Simple

struct KernelModel {
  Time_ps call_ps = 0;          // the CPU in ncclAllReduce, cudaLaunchKernel included
  Time_ps launch_ps = 0;        // then until the first instruction
  Time_ps gap_ps = 0;           // from the end of a kernel to the start of the next of its stream
  PerProtocol end_ps{};         // from the last primitive to the end of the kernel
  PerProtocol block_Bps{};      // payload that one block moves, the flags of LL and LL128 left out
  std::int64_t net_ll_Bps = 0;  // the same of LL, where no NVLink or PCIe to another GPU is in between
  std::int64_t warp_Bps = 0;    // of a block of NVLS, which divides its warps among scatter, reduction and gather
  PerProtocol slice_ps{};       // of a block, for each slice: barriers and polls
  PerProtocol nvlink_ps{};      // from a block's post to when its peer sees it
  PerProtocol pcie_ps{};
  // More time of a block's slice for data that it writes to host memory, and for data that it reads from there, in
  // thousandths of what it takes within the GPU's own memory. LL is slower than either.
  std::int64_t host_write_permille = 0, host_read_permille = 0;
  // NVSwitch that reduces and multicasts: from a block's post to when all others, or the one head, see it; and the room
  // that the switch's read requests take in the ports, of each 1,000 bytes read.
  Time_ps switch_ps = 0;
  std::int64_t switch_request_permille = 0;
  Time_ps to_host_ps = 0;      // a block's post until a CPU can see it
  Time_ps from_host_ps = 0;    // what a CPU writes until a block sees it
  Time_ps fence_ps = 0;        // until what a block wrote may be posted, LL128 and Simple: flags of LL need none
  Time_ps poll_ps = 0;         // what a NIC writes into GPU memory until a block that polls there sees it
  Time_ps proxy_ps = 0;        // a turn of the proxy's loop
  std::int64_t flags_Bps = 0;  // buffers whose flags the proxy looks through before it sends them
  std::int64_t memory_Bps = 0;
  std::int64_t link_Bps = 0;  // all links to other GPUs, one way, as NCCL counts them; 0: none
  std::int64_t pcie_Bps = 0;  // one way
};
KernelModel kernel_model(const host::GpuModel& gpu);

}  // namespace weft::nccl
