// Inside the lab reader: what `job` reads beside the lab (job_traces.cc).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "labfile/sections.h"
#include "spec/job_graph.h"

namespace weft::lab {

struct JobTraceReading {
  const MapReader& map;
  const YamlNode& file;
  const std::string& name;  // as the lab says it, from the lab file
  double flops_per_s;
  std::size_t ranks;  // GPUs that there are
  LabContext& context;
};

// <name>.<rank>.et for each rank. Nothing: it was reported.
std::optional<workload::JobGraph> read_chakra_files(const JobTraceReading& reading);
std::optional<workload::JobGraph> read_simai_file(const JobTraceReading& reading);

}  // namespace weft::lab
