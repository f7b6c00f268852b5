// nic::PciePath against the raw data of [pcie-bench] and [pcie-bench-iommu]: a Dell T430 with two E5-2630 v4 and an
// NFP-6000 on PCIe 3.0 x8, MPS 256. What belongs to that card and not to the host (requests in flight, a copy on the
// card, the time to issue a write) is fitted on one size each and stands here; all other rows are predictions.
#include <gtest/gtest.h>

#include <cmath>

#include "nic/pcie/path.h"

namespace weft::nic {
namespace {

constexpr std::uint32_t kNfpRequests = 33;  // fitted: 64 B reads, local, 31.906 Gb/s
constexpr Time_ps kNfpIssue_ps = ns(21);    // fitted: 64 B writes, 24.269 Gb/s
constexpr int kNfpCopies = 2;               // fitted: latency of 2048 B, local: the data move twice at link rate
constexpr Time_ps kLocal_ps = ns(546);      // [pcie-bench], 64 B, local, warm: dma_read of xeon-e5-2630v4
constexpr Time_ps kHop_ps = ns(50);         // the link of xeon-e5-2630v4, one way
constexpr PcieLink kLink{3, 8, 256};

struct Bench {
  PcieChannel up, down, hop;
  std::uint64_t window_B = 0;
  PciePathSettings settings;

  explicit Bench(bool remote = false, bool iommu = false) {
    for (PcieChannel* channel : {&up, &down}) channel->set_rate(kLink.tlp_bps());
    hop.set_rate(48'000'000'000);
    settings.max_read_request_B = 4096;
    settings.read_tags = kNfpRequests;
    settings.read_latency_ps = kLocal_ps;
    settings.writes = {&up};
    settings.reads = {&down};
    if (remote) settings.payload = settings.entry = {{&hop, kHop_ps}};
    if (!iommu) return;
    settings.iotlb_entries = 96;
    settings.iotlb_miss_ps = ns(280);
    settings.iotlb_walk_ps = ns(49);
    settings.random_pages = true;
    settings.working_set_B = &window_B;
  }

  double read_Gbps(std::uint32_t size_B, std::uint64_t in_B = 0) {
    window_B = in_B;
    PciePath path(settings);
    constexpr int kOperations = 40000;
    Time_ps now_ps = us(10), start_ps = now_ps;
    for (int i = 0; i < kOperations; ++i) {
      Time_ps there_ps = path.read(size_B, now_ps);
      if (there_ps <= now_ps) continue;
      now_ps = there_ps;
      path.read(size_B, now_ps);
    }
    return kOperations * 8.0 * size_B * 1000 / static_cast<double>(now_ps - start_ps);
  }
  double write_Gbps(std::uint32_t size_B, std::uint64_t in_B = 0) {
    window_B = in_B;
    PciePath path(settings);
    constexpr int kOperations = 40000;
    Time_ps now_ps = 0, end_ps = 0;
    for (int i = 0; i < kOperations; ++i, now_ps += kNfpIssue_ps)
      end_ps = path.write(size_B, std::max(end_ps, now_ps), false);
    return kOperations * 8.0 * size_B * 1000 / static_cast<double>(end_ps);
  }
  // Of one read on an idle bus.
  double latency_ns(std::uint32_t size_B, std::uint64_t in_B = 0) {
    window_B = in_B;
    PciePath path(settings);
    Time_ps delay_ps = path.read_delay_ps();
    Time_ps data_ps = (size_B > 64 ? down.occupied_ps(size_B, 256, kCompletionOverhead_B) -
                                         down.occupied_ps(64, 256, kCompletionOverhead_B)
                                   : 0) *
                      kNfpCopies;
    return static_cast<double>(kLocal_ps + delay_ps + data_ps) / 1000;
  }
};

void expect_near(double modelled, double measured, double tolerance_pct, const std::string& what) {
  double distance_pct = 100 * (modelled / measured - 1);
  EXPECT_LE(std::abs(distance_pct), tolerance_pct) << what << ": measured " << measured << ", modelled " << modelled;
  std::printf("%-34s measured %8.3f  modelled %8.3f  %+6.1f %%\n", what.c_str(), measured, modelled, distance_pct);
}

TEST(PciePathTest, ReadLatencyBySizeAndNode) {
  const std::uint32_t sizes_B[] = {64, 128, 256, 512, 1024, 2048};
  const double local[] = {546, 573, 626, 706, 853, 1133}, remote[] = {653, 680, 720, 800, 946, 1240};
  for (int i = 0; i < 6; ++i) {
    expect_near(Bench().latency_ns(sizes_B[i]), local[i], 5, "latency local " + std::to_string(sizes_B[i]));
    expect_near(Bench(true).latency_ns(sizes_B[i]), remote[i], 5, "latency remote " + std::to_string(sizes_B[i]));
  }
}

TEST(PciePathTest, ReadBandwidthBySizeAndNode) {
  const std::uint32_t sizes_B[] = {64, 128, 256, 512, 1024, 2048};
  const double local[] = {31.906, 43.766, 47.670, 55.034, 55.413, 55.579};
  const double remote[] = {24.384, 40.295, 45.027, 54.826, 55.318, 55.515};
  for (int i = 0; i < 6; ++i) {
    // The card itself is slower than the bus at 128 and 256 B, where the table has a step that no size around it has.
    double tolerance_pct = sizes_B[i] == 128 || sizes_B[i] == 256 ? 25 : 10;
    expect_near(Bench().read_Gbps(sizes_B[i]), local[i], tolerance_pct, "read local " + std::to_string(sizes_B[i]));
    expect_near(Bench(true).read_Gbps(sizes_B[i]), remote[i], tolerance_pct,
                "read remote " + std::to_string(sizes_B[i]));
  }
}

TEST(PciePathTest, WriteBandwidth) {
  const std::uint32_t sizes_B[] = {64, 128, 256, 512, 1024, 2048};
  const double measured[] = {24.269, 42.355, 50.488, 53.013, 53.013, 53.013};
  for (int i = 0; i < 6; ++i)
    expect_near(Bench().write_Gbps(sizes_B[i]), measured[i], sizes_B[i] == 128 ? 16 : 10,
                "write " + std::to_string(sizes_B[i]));
}

TEST(PciePathTest, IommuByWindowAndPageSize) {
  struct Row {
    std::uint64_t window_kB;
    double read, write;
  };
  // Fitted: entries on the windows of 1 MiB, the walk on those of 64 MiB. Predicted: all others.
  const Row rows[] = {{4, 31.375, 24.269},    {256, 32.431, 24.269},   {512, 22.342, 24.269}, {1024, 15.193, 19.392},
                      {4096, 10.921, 12.026}, {16384, 10.149, 11.181}, {65536, 9.829, 11.064}};
  for (const Row& row : rows) {
    double tolerance_pct = row.window_kB == 1024 ? 15 : 10;
    std::string window = std::to_string(row.window_kB) + "K";
    expect_near(Bench(false, true).read_Gbps(64, row.window_kB << 10), row.read, tolerance_pct, "IOMMU read " + window);
    expect_near(Bench(false, true).write_Gbps(64, row.window_kB << 10), row.write, tolerance_pct,
                "IOMMU write " + window);
  }
  expect_near(Bench(false, true).read_Gbps(512, 65536 << 10), 53.64, 10, "IOMMU read 512 B, 64M");
  // Haswell, E5-2620 v3, with the numbers of Broadwell: predictions.
  const std::pair<std::uint64_t, double> haswell[] = {
      {256, 32.632}, {512, 24.405}, {1024, 15.993}, {4096, 11.246}, {65536, 10.059}};
  for (const auto& [window_kB, read] : haswell)
    expect_near(Bench(false, true).read_Gbps(64, window_kB << 10), read, window_kB == 512 ? 15 : 10,
                "IOMMU read, Haswell, " + std::to_string(window_kB) + "K");
  // 2 MiB pages reach 192 MiB.
  Bench huge(false, true);
  huge.settings.page_B = 2 << 20;
  EXPECT_NEAR(huge.read_Gbps(64, 65536 << 10), Bench().read_Gbps(64), 0.01);
}

TEST(PciePathTest, WriteWindowLimitsRate) {
  Bench bench;
  bench.settings.write_window_B = 4096;
  bench.settings.write_latency_ps = us(1);
  // 4 KiB each microsecond and the time of the last TLP.
  EXPECT_NEAR(bench.write_Gbps(2048), 4096 * 8 / 1000.0 / 1.037, 0.5);
}

TEST(PciePathTest, FunctionsOnOneLinkShareIt) {
  Bench bench;
  PciePath one(bench.settings), other(bench.settings);
  Time_ps end_ps = 0;
  for (int i = 0; i < 100; ++i) end_ps = std::max(one.write(4096, 0, false), other.write(4096, 0, false));
  EXPECT_NEAR(static_cast<double>(end_ps), 200.0 * static_cast<double>(bench.up.occupied_ps(4096, 256, kTlpOverhead_B)),
              2.0);
}

// A receive buffer is full of bytes, wherever they go: near memory takes them at once, far memory ten times later.
TEST(PciePathTest, BacklogIsBytesOfAllFunctions) {
  Bench bench;
  PcieChannel slow = bench.up;
  slow.ps_per_byte_q16 *= 10;
  PciePathSettings far = bench.settings;
  far.writes = {&slow};
  PciePath near_path(bench.settings), far_path(far);
  std::vector<PcieFunction> functions(2, PcieFunction(PcieLink{4, 16, 256}));
  functions[0].set_path(near_path);
  functions[1].set_path(far_path);
  const Time_ps each_ps = functions[0].link_ps(4096);
  Time_ps far_end_ps = 0;
  for (int i = 0; i < 500; ++i) {
    functions[0].write(4096, 0);
    far_end_ps = functions[1].write(4096, 0);
  }
  EXPECT_EQ(pending_ps(functions, 0), 1000 * each_ps);
  // Half of the far bytes are left, and none of the near ones.
  EXPECT_NEAR(static_cast<double>(pending_ps(functions, far_end_ps / 2)), 250.0 * static_cast<double>(each_ps),
              static_cast<double>(each_ps));
  functions[1].slow_writes(2 * PcieFunction::kUnslowed, far_end_ps / 2);
  EXPECT_GT(pending_ps(functions, far_end_ps), 100 * each_ps) << "a fault slows what waits";
  EXPECT_EQ(pending_ps(functions, 2 * far_end_ps), 0);
  EXPECT_EQ(far_path.pending().next_end_ps(), kNever_ps);
}

TEST(PciePathTest, ReadersOfDifferentSizesGetTheirBytes) {
  Bench bench;
  PciePath path(bench.settings);
  Time_ps now_ps = us(10);
  std::int64_t read_B = 0;
  for (int i = 0; i < 1000; ++i) {
    std::uint32_t size_B = i % 2 == 0 ? 4096 : 256;
    Time_ps there_ps = path.read(size_B, now_ps);
    if (there_ps > now_ps) {
      now_ps = there_ps;
      ASSERT_EQ(path.read(size_B, now_ps), now_ps);
    }
    read_B += size_B;
  }
  // No byte faster than the link.
  EXPECT_GE(now_ps - us(10) + us(3),
            bench.down.occupied_ps(static_cast<std::uint32_t>(read_B), 256, kCompletionOverhead_B));
}

// What holds back is named, and so is what made it hold back.
TEST(PciePath, NamesLimitAndCauses) {
  PcieChannel link, numa;
  link.set_rate(200'000'000'000);
  numa.set_rate(50'000'000'000);
  numa.carries_tlps = false;
  numa.limit = PcieLimit::kNuma;
  PciePathSettings settings;
  settings.read_latency_ps = settings.write_latency_ps = ns(500);
  settings.reads = {&link, &numa};
  settings.writes = {&link, &numa};
  PciePath path(settings);
  Time_ps at_ps = us(10);
  for (int i = 0; i < 100; ++i) at_ps = std::max(at_ps, path.read(4096, at_ps));
  EXPECT_EQ(path.read_limit(), PcieLimit::kNuma);
  EXPECT_EQ(path.held_until_ps(), at_ps);
  for (int i = 0; i < 100; ++i) at_ps = path.write(4096, at_ps, false);
  EXPECT_EQ(path.write_times()[static_cast<std::size_t>(PcieLimit::kNuma)], 100 * (4096 * 8'000 / 50));
  EXPECT_EQ(path.write_times()[static_cast<std::size_t>(PcieLimit::kLink)], 0);

  // 8 requests of 512 B over 1000 ns: a line that wants 4096 B in 400 ns waits 600, 100 of them for the host and the
  // rest for two hops of 250 ns.
  settings.read_tags = 8;
  settings.payload = {{&numa, ns(250)}};
  settings.reads = {&link};
  PciePath far(settings);
  at_ps = us(10);
  for (int i = 0; i < 100; ++i) at_ps = std::max(at_ps, far.read(4096, at_ps));
  EXPECT_EQ(far.read_limit(), PcieLimit::kReadRequests);
  const auto causes = far.causes_of(PcieLimit::kReadRequests, 400'000.0 / 4096, false);
  EXPECT_NEAR(causes[static_cast<std::size_t>(PcieLimit::kReadRequests)], 1.0 / 6, 1e-9);
  EXPECT_NEAR(causes[static_cast<std::size_t>(PcieLimit::kNuma)], 5.0 / 6, 1e-9);

  settings.ordered = true;
  settings.write_window_B = 4096;
  settings.writes = {&link};
  link.until_ps = 0;
  PciePath ordered(settings);
  at_ps = us(10);
  for (int i = 0; i < 100; ++i) at_ps = ordered.write(4096, at_ps, false);
  const PcieTimes& waited = ordered.write_times();
  EXPECT_GT(waited[static_cast<std::size_t>(PcieLimit::kOrderedWrites)],
            waited[static_cast<std::size_t>(PcieLimit::kLink)]);
}

}  // namespace
}  // namespace weft::nic
