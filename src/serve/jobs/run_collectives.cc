#include "serve/jobs/run_collectives.h"

#include <algorithm>

#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::serve {

RunCollectives::RunCollectives(OpenRun& run) {
  for (const store::PortRow& row : store::Reader<store::PortRow>(run.file())) {
    if (!row.peer.empty()) ports_[row.node].push_back(row.node + ":" + row.name);
  }
  auto lab = lab_of_run(run);
  if (lab) lab_ = std::move(*lab);
}

const lab::WorkloadConfig* RunCollectives::config_of(const std::string& workload) const {
  if (!lab_) return nullptr;
  const auto it = std::find_if(lab_->workloads.begin(), lab_->workloads.end(),
                               [&](const lab::WorkloadConfig& config) { return config.name == workload; });
  return it == lab_->workloads.end() ? nullptr : &*it;
}

std::vector<workload::RooflineBound> RunCollectives::of_tests(const std::string& workload, std::uint64_t size_B) {
  const lab::WorkloadConfig* config = config_of(workload);
  if (config == nullptr || config->as<workload::NcclOptions>() == nullptr) return {};
  auto known = tests_.find(workload);
  if (known == tests_.end()) known = tests_.emplace(workload, lab::nccl_rooflines(*lab_, *config)).first;
  for (const workload::Roofline& roofline : known->second) {
    if (roofline.size_B == size_B) return roofline.bounds;
  }
  return {};
}

std::vector<workload::RooflineBound> RunCollectives::of_job(const std::string& workload, const std::string& name,
                                                            const std::string& kind, std::size_t members,
                                                            std::uint64_t size_B) {
  const lab::WorkloadConfig* config = config_of(workload);
  if (config == nullptr || config->as<workload::JobOptions>() == nullptr) return {};
  std::unique_ptr<lab::JobRooflines>& known = jobs_[workload];
  if (known == nullptr) known = std::make_unique<lab::JobRooflines>(*lab_, *config);
  return known->bounds(name, kind, members, size_B);
}

std::vector<std::string> RunCollectives::ports_of(const std::string& host, std::size_t gpu) const {
  const auto known = ports_.find(host);
  if (known == ports_.end()) return {};
  const std::vector<std::string>& ports = known->second;
  if (!lab_ || gpu >= ports.size()) return ports;
  const auto config = std::find_if(lab_->hosts.begin(), lab_->hosts.end(),
                                   [&](const lab::HostConfig& each) { return each.name == host; });
  const bool rails = config != lab_->hosts.end() && config->places.gpus.size() == ports.size();
  return rails ? std::vector<std::string>{ports[gpu]} : ports;
}

}  // namespace weft::serve
