// Makes the capture of a row and lets weft analyze read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze/planted_case.h"
#include "interop/interop_support.h"

namespace weft::planted {

struct PlantedRun {
  interop::TempDir dir;
  std::string capture_path;
  nlohmann::json results;  // results.json; null where no lab was run
};
// Fails the test where the lab cannot be run. A copy of the capture stays in the directory that WEFT_KEEP_CAPTURES
// names, if it is set.
void make_capture(const PlantedCase& row, PlantedRun& run);

struct AnalyzeRun {
  int status = -1;
  nlohmann::json json;
  std::string output;
};
AnalyzeRun analyze(const std::string& files, const std::string& options = "");
AnalyzeRun analyze(const PlantedCase& row, const PlantedRun& run);
// The page that a person reads.
std::string analyze_text(const PlantedCase& row, const PlantedRun& run);

// CHECK.KIND of the findings, worst first; notes apart.
struct Named {
  std::vector<std::string> findings, notes;
};
Named named(const AnalyzeRun& run);
std::string joined(const std::vector<std::string>& words);

}  // namespace weft::planted
