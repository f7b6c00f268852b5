#include "world/captures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "support/labs.h"

namespace weft::lab {
namespace {

// 20 MB seen at two ports, in fewer windows than lie between two looks of a run: memory asks for more of them.
TEST(Captures, WorldWaitsForFullCapture) {
  Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::perftest("bw", support::write_bw(65536, 300)));
  const auto looks = [&](std::vector<PortRef> ports) {
    SessionOptions options;
    options.capture_ports = std::move(ports);
    options.capture_path =
        (std::filesystem::temp_directory_path() / ("weft-captures-" + std::to_string(getpid()))).string();
    int count = 0;
    const auto result = run_lab(lab, options, [&](const SessionProgress&) { ++count; });
    EXPECT_TRUE(result.has_value());
    std::filesystem::remove(options.capture_path);
    return count;
  };
  EXPECT_EQ(looks({}), 0);
  EXPECT_GE(looks({{0, 0, 0}, {1, 0, 0}}), 2);
}

}  // namespace
}  // namespace weft::lab
