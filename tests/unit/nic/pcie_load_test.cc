#include <gtest/gtest.h>

#include "nic/pcie/load.h"

namespace weft::nic {
namespace {

double load_of(const std::vector<PcieLoad>& loads, const void* what) {
  double sum_ps = 0;
  for (const PcieLoad& load : loads) sum_ps += load.what == what ? load.busy_ps : 0;
  return sum_ps;
}

TEST(PcieLoad, LinkWithoutPath) {
  const PcieFunction function(PcieLink{4, 16, 256});
  const auto reads = read_load(function, 4096), writes = write_load(function, 4096);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].busy_ps, static_cast<double>(function.link_ps(4096)));
  EXPECT_NE(reads[0].what, writes[0].what);
}

TEST(PcieLoad, ChannelsAndWindowsOfPath) {
  PcieChannel up, down;
  up.set_rate(100'000'000'000);
  down.set_rate(100'000'000'000);
  PciePathSettings settings;
  settings.max_payload_B = settings.completion_B = 256;
  settings.max_read_request_B = 512;
  settings.read_tags = 4;
  settings.read_latency_ps = ns(800);
  settings.write_window_B = 1024;
  settings.write_latency_ps = ns(400);
  settings.reads = {&down};
  settings.writes = {&up};
  PciePath path(settings);
  PcieFunction function(PcieLink{4, 16, 256});
  function.set_path(path);
  const auto reads = read_load(function, 4096);
  // 80 ps a byte: 4096 B and 16 completions; 8 requests; 8 of 800 ns, four at a time.
  EXPECT_NEAR(load_of(reads, &down), (4096 + 16 * kCompletionOverhead_B) * 80.0, 16);
  EXPECT_NEAR(load_of(reads, &up), 8 * kTlpOverhead_B * 80.0, 8);
  EXPECT_EQ(reads.back().limit, PcieLimit::kReadRequests);
  EXPECT_NEAR(reads.back().busy_ps, 8 * 800e3 / 4, 1);
  const auto writes = write_load(function, 4096);
  EXPECT_NEAR(load_of(writes, &up), (4096 + 16 * kTlpOverhead_B) * 80.0, 16);
  EXPECT_NEAR(writes.back().busy_ps, 16 * 400e3 / 4, 1);
}

}  // namespace
}  // namespace weft::nic
