// The roofline of collectives that a lab asks for, from the lab alone: the world is built, nothing runs in it
// (workload/collective/bounds.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/nccl_job.h"
#include "workload/collective/engine.h"
#include "world/world.h"

namespace weft::lab {

// Of nccl-tests, row by row. `config` is of `lab`.
std::vector<workload::Roofline> nccl_rooflines(const Lab& lab, const WorkloadConfig& config);

// Of a job's collectives. Groups of one kind are taken to work at once: they share what their hosts have.
class JobRooflines {
 public:
  // Both outlive it.
  JobRooflines(const Lab& lab, const WorkloadConfig& config);
  ~JobRooflines();
  // As the job's table of collectives names them: the node's name, the kind of groups, members and bytes of each.
  // Empty: there is none.
  std::vector<workload::RooflineBound> bounds(std::string_view name, std::string_view kind, std::size_t members,
                                              std::uint64_t size_B);

 private:
  std::uint32_t communicator_of(std::uint32_t group);

  const workload::JobOptions& options_;
  World world_;
  NcclMachines machines_;
  workload::CollectiveEngine engine_;
  std::map<std::uint32_t, std::uint32_t> communicators_;  // by group
};

}  // namespace weft::lab
