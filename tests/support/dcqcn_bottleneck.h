// A packet simulation of the smallest network that has a DCQCN fixed point: N senders that run src/nic/congestion.h as
// the NIC does, one FIFO that marks like RED, a notification point that spaces CNPs, and a feedback delay. Shares
// nothing with the fabric, so that it can judge it.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "nic/congestion.h"
#include "support/dcqcn_fluid.h"

namespace weft::support {

struct BottleneckRun {
  int flows = 2;
  bool mark_at_enqueue = false;  // else when the packet leaves the queue
  Time_ps settle_ps = ms(300);
  Time_ps measure_ps = ms(1500);
  std::uint64_t seed = 1;
};

struct BottleneckResult {
  double queue_B = 0;  // time average
  double deviation_B = 0;
  double marked = 0;  // mean marking probability
  double lowest_bps = 0;
  double highest_bps = 0;
  double total_bps = 0;
  double cnp_per_s = 0;  // of one flow
  double beyond_kmax = 0;
};

BottleneckResult run_bottleneck(const DcqcnLink& link, const nic::DcqcnParameters& dcqcn, const BottleneckRun& run);

}  // namespace weft::support
