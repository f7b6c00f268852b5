// The parameters of one host: what a CPU pays to post and to poll, what PCIe and the root complex
// add, and how noisy it is. Values come from catalog/hosts.yaml, each with its source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "spec/layout.h"

namespace weft::host {

struct HostModel {
  std::string name;
  std::string description;
  std::string cpu_kind;    // as NCCL tells them apart: "intel-broadwell", "intel-skylake", "amd", "arm", …
  std::string gpu_fabric;  // "nvswitch", "mesh", "pairs", "none", or "as-gpu": as its GPUs usually are

  // One ibv_post_send. The doorbell leaves the CPU after wqe + doorbell; the rest of the call and the
  // benchmark's loop around it take `loop`. A list of n WQEs pays n * wqe + doorbell + loop.
  Time_ps post_wqe_ps = 0;
  Time_ps doorbell_ps = 0;
  Time_ps post_loop_ps = 0;
  Time_ps post_recv_ps = 0;
  Time_ps poll_hit_ps = 0;    // ibv_poll_cq that finds a CQE, or a load that sees the awaited byte
  Time_ps poll_empty_ps = 0;  // ibv_poll_cq that finds nothing

  Time_ps mmio_write_ps = 0;        // CPU store to the NIC's doorbell page, until the NIC has it
  Time_ps dma_read_ps = 0;          // NIC read request until the first completion is back in the NIC
  Time_ps dma_write_ps = 0;         // NIC posted write until the CPU can see it
  Time_ps memory_jitter_ps = 0;     // uniform 0..j added to each DMA write that the CPU waits for
  Time_ps interrupt_period_ps = 0;  // timer tick or VM exit that steals the polling CPU; 0 = never
  Time_ps interrupt_cost_ps = 0;

  // Distance and limits of the root complex (docs/mechanisms/host.md). 0: never the limit.
  std::uint32_t interrupt_misses = 0;       // memory accesses of that interrupt to the NIC's node
  std::int64_t write_window_B = 0;          // posted writes in flight with relaxed ordering
  std::int64_t ordered_write_window_B = 0;  // and without
  std::int64_t peer_rate_bps = 0;           // peer to peer through the root complex, both ways together
  Time_ps peer_latency_ps = 0;              // added to a peer's access that goes through it
  std::uint32_t iotlb_entries = 0;
  Time_ps iotlb_miss_ps = 0;
  Time_ps iotlb_walk_ps = 0;
  std::shared_ptr<const Layout> layout;  // never null in a checked lab; set by use_layout()
  // CPUs and their scheduler (host/cpu_cores.h, docs/mechanisms/cpu.md).
  std::uint32_t cpus = 1;                  // of the machine, as Linux counts them: those of the layout
  std::uint32_t smt_slowdown_percent = 0;  // instructions take so much longer while the sibling is busy
  bool virtual_machine = false;            // its CPUs are threads of another machine: interrupts wait for them too
  Time_ps sched_slice_ps = ms(3);          // a thread keeps its CPU so long while others wait
  Time_ps sched_balance_ps = 0;            // an idle CPU looks for waiting threads so often, a busy one 16 times less
  Time_ps halt_poll_ps = 0;                // a VM's CPU that goes idle keeps its own so long, at most
  Time_ps vm_exit_ps = 0;                  // from a guest to the host and back: its timer's tick takes two of them
  Time_ps wakeup_ps = 0;                   // from the wake-up of a thread to its first instruction

  // Kernel TCP (workload/tcp/socket.h): on the CPU of the program, and on that of the NIC's interrupt.
  Time_ps tcp_send_KiB_ps = 0;        // copy of 1 KiB from the program
  Time_ps tcp_receive_KiB_ps = 0;     // copy of 1 KiB to the program
  Time_ps tcp_remote_KiB_ps = 0;      // more for each KiB that the interrupt of another CPU received: caches
  Time_ps tcp_send_skb_ps = 0;        // one aggregate of up to 64 KB through TCP, qdisc and driver (TSO)
  Time_ps tcp_receive_packet_ps = 0;  // one packet through driver and GRO
  Time_ps tcp_receive_skb_ps = 0;     // one aggregate through IP and TCP, the wake-up of its reader included
  Time_ps tcp_ack_ps = 0;             // an ACK that is sent, or one that is processed
  std::uint32_t rx_ring = 1024;       // receive descriptors of a queue: ethtool -G rx
  Time_ps rx_usecs_ps = 0;            // interrupt moderation: ethtool -C rx-usecs

  void use_layout(std::shared_ptr<const Layout> nodes_and_slots) {
    layout = std::move(nodes_and_slots);
    cpus = 1;
    for (const NumaNode& node : layout->nodes) {
      for (const std::vector<std::uint32_t>& range : node.cpus) cpus = std::max(cpus, range.back() + 1);
    }
  }
};

inline constexpr int kTickExits = 2;  // the timer's interrupt, and the write that sets it again

}  // namespace weft::host
