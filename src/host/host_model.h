// The parameters of one host: what a CPU pays to post and to poll, what PCIe and the root complex
// add, and how noisy it is. Values come from catalog/hosts.yaml, each with its source.
#pragma once

#include <string>

#include "base/time.h"

namespace weft::host {

struct HostModel {
  std::string name;
  std::string description;

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
};

}  // namespace weft::host
