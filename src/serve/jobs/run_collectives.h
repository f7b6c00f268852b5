// The collectives of a run from its lab: their rooflines and the ports of their ranks. Read again from the run's
// directory; nothing is known if that cannot be read any more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/runs/run_lab.h"
#include "world/workloads/collective_roofline.h"

namespace weft::serve {

class RunCollectives {
 public:
  explicit RunCollectives(OpenRun& run);

  // For a row of nccl-tests.
  std::vector<workload::RooflineBound> of_tests(const std::string& workload, std::uint64_t size_B);
  // For a row of a job's table.
  std::vector<workload::RooflineBound> of_job(const std::string& workload, const std::string& name,
                                              const std::string& kind, std::size_t members, std::uint64_t size_B);
  // "h0:p3" of GPU 3 if each GPU has its own port; otherwise, or if the lab is not known, all ports of the host.
  std::vector<std::string> ports_of(const std::string& host, std::size_t gpu) const;

 private:
  const lab::WorkloadConfig* config_of(const std::string& workload) const;

  std::optional<lab::Lab> lab_;
  std::map<std::string, std::vector<std::string>> ports_;         // with a cable, by node
  std::map<std::string, std::vector<workload::Roofline>> tests_;  // by workload
  std::map<std::string, std::unique_ptr<lab::JobRooflines>> jobs_;
};

}  // namespace weft::serve
