// Published tables of nccl-tests and rccl-tests ([koordinator], [ml-engineering], [rccl-mi355x], [sendrecv-a100], and
// one of two nodes with NVLS) against what the labs measure. Large sizes are held to 15 %, small ones to 30 %; rows
// that are farther away have a tolerance of their own, and docs/mechanisms/collectives.md says why.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "labfile/reader.h"
#include "world/runner.h"

namespace {

using namespace weft;

struct CollectiveRow {
  const char* source;
  const char* lab;
  const char* workload;
  std::uint64_t size_B;
  bool bandwidth;  // busbw, or time
  double measured;
  double allowed_percent;
};
constexpr std::uint64_t kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024;
constexpr CollectiveRow kCollectiveRows[] = {
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 2 * kMi, true, 2.38, 15},
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 4 * kMi, true, 2.42, 15},
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 8 * kMi, true, 2.44, 15},
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 16 * kMi, true, 2.46, 15},
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 32 * kMi, true, 2.50, 15},
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 64 * kMi, true, 2.63, 15},
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 128 * kMi, true, 2.72, 15},
    {"[koordinator]", "measured/v10-nccl-25g", "all-reduce", 256 * kMi, true, 2.77, 15},
    {"[ml-engineering]", "ai/nvlink-8", "eight", 8 * kGi, true, 473.1, 2},
    {"[ml-engineering]", "ai/nvlink-8", "seven", 8 * kGi, true, 460.0, 5},
    {"[ml-engineering]", "ai/nvlink-8", "six", 8 * kGi, true, 435.6, 5},
    {"[ml-engineering]", "ai/nvlink-8", "five", 8 * kGi, true, 414.2, 5},
    {"[ml-engineering]", "ai/nvlink-8", "eight-ring", 8 * kGi, true, 365, 15},
    {"[ml-engineering]", "ai/nvlink-8", "four", 8 * kGi, true, 363.3, 15},
    {"[ml-engineering]", "measured/v23-nvls-b200", "eight", 8 * kGi, true, 838.0, 2},
    {"[ml-engineering]", "measured/v23-nvls-b200", "seven", 8 * kGi, true, 811.2, 5},
    {"[ml-engineering]", "measured/v23-nvls-b200", "six", 8 * kGi, true, 778.2, 5},
    {"[ml-engineering]", "measured/v23-nvls-b200", "ring", 8 * kGi, true, 682.2, 15},
    {"2 x 8 H200", "ai/nvls-tree-2x8", "nvls-tree", 8 * kMi, false, 149.76, 30},
    {"2 x 8 H200", "ai/nvls-tree-2x8", "nvls-tree", 32 * kMi, false, 276.88, 30},
    {"2 x 8 H200", "ai/nvls-tree-2x8", "nvls-tree", 128 * kMi, false, 742.13, 15},
    {"2 x 8 H200", "ai/nvls-tree-2x8", "nvls-tree", 512 * kMi, true, 432.57, 15},
    {"2 x 8 H200", "ai/nvls-tree-2x8", "nvls-tree", 2 * kGi, true, 473.86, 3},
    {"[ml-engineering]", "measured/v23-rccl-mi300x", "two", 8 * kGi, true, 47.7, 15},
    {"[ml-engineering]", "measured/v23-rccl-mi300x", "eight", 8 * kGi, true, 312.9, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 1 * kKi, false, 42.14, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 4 * kKi, false, 46.88, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 64 * kKi, false, 49.99, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 256 * kKi, false, 60.19, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 1 * kMi, false, 69.03, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 2 * kMi, false, 76.38, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 4 * kMi, false, 88.58, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 8 * kMi, false, 110.24, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 16 * kMi, false, 177.14, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 32 * kMi, false, 262.18, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 64 * kMi, false, 439.32, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 128 * kMi, false, 860.65, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 256 * kMi, false, 1355.74, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-reduce", 1 * kGi, false, 5302, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 1 * kKi, false, 37.45, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 64 * kKi, false, 36.97, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 256 * kKi, false, 40.67, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 1 * kMi, false, 54.99, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 4 * kMi, false, 87.84, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 16 * kMi, false, 223.32, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 64 * kMi, false, 750.95, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "all-to-all", 256 * kMi, false, 2884.99, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 4 * kKi, false, 32.97, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 64 * kKi, false, 33.44, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 1 * kMi, false, 37.37, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 4 * kMi, false, 47.95, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 16 * kMi, false, 116.74, 30},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 64 * kMi, false, 324.09, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 256 * kMi, false, 1188.45, 15},
    {"[rccl-mi355x]", "measured/m19-rccl-mi355x", "one-node", 1 * kGi, false, 4667.81, 15},
    {"[sendrecv-a100]", "measured/m23-sendrecv-a100", "sendrecv", 128 * kMi, true, 110.81, 15},
    {"[sendrecv-a100]", "measured/m23-sendrecv-a100", "sendrecv", 256 * kMi, true, 188.60, 15},
    {"[sendrecv-a100]", "measured/m23-sendrecv-a100", "sendrecv", 512 * kMi, true, 192.75, 15},
    {"[sendrecv-a100]", "measured/m23-sendrecv-a100", "sendrecv", 1 * kGi, true, 195.10, 15},
};

using Measured = std::map<std::pair<std::string, std::uint64_t>, nccl::TestMeasure>;
Measured measure(const std::string& name) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  auto lab = lab::read_lab(text.str(), path);
  EXPECT_TRUE(lab) << path;
  Measured found;
  if (!lab) return found;
  auto result = lab::run_lab(*lab, {});
  EXPECT_TRUE(result) << path;
  for (const auto& outcome : result->workloads) {
    for (const nccl::TestRow& row : outcome.as<workload::NcclResult>()->report.rows)
      if (row.places[0]) found[{outcome.config->name, row.size_B}] = *row.places[0];
  }
  return found;
}

TEST(CollectivesCalibration, RowsAreWithinTolerance) {
  std::map<std::string, Measured> labs;
  std::string table;
  for (const CollectiveRow& row : kCollectiveRows) {
    if (!labs.contains(row.lab)) labs[row.lab] = measure(row.lab);
    const auto found = labs[row.lab].find({row.workload, row.size_B});
    ASSERT_NE(found, labs[row.lab].end()) << row.lab << " " << row.workload << " " << row.size_B;
    const double weft = row.bandwidth ? found->second.busbw : found->second.time_us;
    const double percent = 100 * (weft / row.measured - 1);
    char line[200];
    std::snprintf(line, sizeof(line), "| %s | %s | %llu | %s | %g | %.4g | %+.1f |\n", row.source, row.workload,
                  static_cast<unsigned long long>(row.size_B), row.bandwidth ? "GB/s" : "us", row.measured, weft,
                  percent);
    table += line;
    EXPECT_LE(std::abs(percent), row.allowed_percent) << line;
  }
  RecordProperty("table", table);
  if (std::getenv("WEFT_PRINT_TABLE") != nullptr) std::fputs(table.c_str(), stdout);
}

}  // namespace
