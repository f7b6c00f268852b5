// Inside the generator of training steps: the program of one pipeline stage.
#pragma once

#include <cstdint>
#include <optional>

#include "model/workloads/job_training.h"

namespace weft::workload {

// Where each kind of group is in the list of a rank; nothing: it has one member.
struct StageSlots {
  std::optional<std::uint32_t> tensor, context, data, expert, expert_data;
};

// Its peers are the previous stage and the next, those that there are, in this order.
JobProgram make_stage(const TrainingOptions& options, const StageSlots& slots, std::uint32_t stage, JobGraph& names);

}  // namespace weft::workload
