// The collectives of a run as its lab says them: what they cannot beat, and which ports their ranks have. Read again
// from the run's directory; where that cannot be read any more nothing is known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/runs/run_lab.h"
#include "world/collective_roofline.h"

namespace weft::serve {

class RunCollectives {
 public:
  explicit RunCollectives(OpenRun& run);

  // Of a row of nccl-tests.
  std::vector<workload::RooflineBound> of_tests(const std::string& workload, std::uint64_t size_B);
  // Of a row of a job's table.
  std::vector<workload::RooflineBound> of_job(const std::string& workload, const std::string& name,
                                              const std::string& kind, std::size_t members, std::uint64_t size_B);
  // "h0:p3" of GPU 3 where each GPU has its own; otherwise, or when the lab is not known, all of the host.
  std::vector<std::string> ports_of(const std::string& host, std::size_t gpu) const;

 private:
  const lab::WorkloadConfig* config_of(const std::string& workload) const;

  std::optional<lab::Lab> lab_;
  std::map<std::string, std::vector<std::string>> ports_;         // with a cable, by node
  std::map<std::string, std::vector<workload::Roofline>> tests_;  // by workload
  std::map<std::string, std::unique_ptr<lab::JobRooflines>> jobs_;
};

}  // namespace weft::serve
