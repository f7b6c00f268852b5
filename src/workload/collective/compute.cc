// Kernels of others beside collectives. Each channel of a collective has a block, each block an SM for as long as the
// kernel runs; what computes at the same time has those that are left and goes on at their share of the rate. A GPU
// that waits in a collective takes as many as one that moves data.
#include <algorithm>

#include "workload/collective/host.h"

namespace weft::workload {

void CollectiveHost::start_compute(std::uint32_t index) {
  Item& item = items_[index];
  item.left_ps = item.what.duration_ps;
  item.since_ps = now_ps_;
  if (item.what.on_cpu) return add_event(now_ps_ + item.left_ps, EventKind::kEnd, index, ++item.plan);
  gpus_[streams_[item.stream].place.gpu].computing.push_back(index);
  plan_compute(index);
}

void CollectiveHost::plan_compute(std::uint32_t index) {
  Item& item = items_[index];
  const Gpu& gpu = gpus_[streams_[item.stream].place.gpu];
  Time_ps takes_ps = item.left_ps;
  if (gpu.taken_sms > 0 && gpu.sms > 0) {
    // The last SM is left to it: NCCL's blocks would wait for one, too.
    const std::uint32_t own = gpu.sms > gpu.taken_sms ? gpu.sms - gpu.taken_sms : 1;
    takes_ps = item.left_ps / own * gpu.sms + item.left_ps % own * gpu.sms / own;
  }
  add_event(now_ps_ + takes_ps, EventKind::kEnd, index, ++item.plan);
}

void CollectiveHost::end_compute(std::uint32_t index, std::int64_t plan) {
  if (items_[index].plan != plan) return;
  std::erase(gpus_[streams_[items_[index].stream].place.gpu].computing, index);
  end_item(index);
}

// A collective has started, or ended (below 0).
void CollectiveHost::take_sms(Gpu& gpu, std::int64_t blocks) {
  const std::uint32_t own = gpu.sms > gpu.taken_sms ? gpu.sms - gpu.taken_sms : 1;
  for (std::uint32_t index : gpu.computing) {
    Item& item = items_[index];
    const Time_ps passed_ps = now_ps_ - item.since_ps;
    const Time_ps done_ps = gpu.sms == 0 ? passed_ps : passed_ps / gpu.sms * own + passed_ps % gpu.sms * own / gpu.sms;
    item.left_ps = std::max<Time_ps>(item.left_ps - done_ps, 0);
    item.since_ps = now_ps_;
  }
  gpu.taken_sms = static_cast<std::uint32_t>(gpu.taken_sms + blocks);
  for (std::uint32_t index : gpu.computing) plan_compute(index);
}

}  // namespace weft::workload
