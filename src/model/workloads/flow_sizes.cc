#include "model/workloads/flow_sizes.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft::workload {

namespace {

constexpr std::uint32_t kAll_ppm = 1'000'000;

// The tables that HPCC (SIGCOMM 2019) published with its simulator: github.com/alibaba-edu/
// High-Precision-Congestion-Control, traffic_gen/. Web search is the workload of DCTCP (SIGCOMM 2010, figure 4), Hadoop
// that of Facebook (Roy et al., SIGCOMM 2015), AliStorage a storage cluster of Alibaba in 2019.
constexpr SizePoint kWebSearch[] = {{0, 0},
                                    {10'000, 150'000},
                                    {20'000, 200'000},
                                    {30'000, 300'000},
                                    {50'000, 400'000},
                                    {80'000, 530'000},
                                    {200'000, 600'000},
                                    {1'000'000, 700'000},
                                    {2'000'000, 800'000},
                                    {5'000'000, 900'000},
                                    {10'000'000, 970'000},
                                    {30'000'000, kAll_ppm}};

constexpr SizePoint kHadoop[] = {{0, 0},
                                 {100, 10'000},
                                 {200, 20'000},
                                 {300, 50'000},
                                 {350, 150'000},
                                 {400, 200'000},
                                 {500, 300'000},
                                 {600, 400'000},
                                 {700, 500'000},
                                 {1'000, 600'000},
                                 {2'000, 670'000},
                                 {7'000, 700'000},
                                 {30'000, 720'000},
                                 {50'000, 820'000},
                                 {80'000, 870'000},
                                 {120'000, 900'000},
                                 {300'000, 950'000},
                                 {1'000'000, 975'000},
                                 {2'000'000, 990'000},
                                 {10'000'000, kAll_ppm}};

constexpr SizePoint kAliStorage[] = {{0, 0},
                                     {4'000, 229'300},
                                     {8'000, 692'100},
                                     {16'000, 806'100},
                                     {32'000, 904'700},
                                     {64'000, 935'300},
                                     {128'000, 967'700},
                                     {256'000, 975'300},
                                     {2'000'000, kAll_ppm}};

constexpr std::string_view kNames[] = {"websearch", "hadoop", "alistorage"};

}  // namespace

std::span<const SizePoint> size_points(SizeDistribution distribution) {
  switch (distribution) {
    case SizeDistribution::kWebSearch:
      return kWebSearch;
    case SizeDistribution::kHadoop:
      return kHadoop;
    case SizeDistribution::kAliStorage:
      return kAliStorage;
  }
  return {};
}

std::string_view name(SizeDistribution distribution) {
  return kNames[static_cast<std::size_t>(distribution)];
}

std::optional<SizeDistribution> size_distribution(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<SizeDistribution>(i);
  }
  return std::nullopt;
}

double mean_size_B(std::span<const SizePoint> points) {
  double twice = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    double weight = points[i].cumulative_ppm - points[i - 1].cumulative_ppm;
    twice += weight * (static_cast<double>(points[i - 1].size_B) + static_cast<double>(points[i].size_B));
  }
  return twice / 2 / kAll_ppm;
}

std::uint64_t draw_size_B(std::span<const SizePoint> points, RandomStream& random) {
  WEFT_CHECK(points.size() > 1 && points.front().cumulative_ppm == 0 && points.back().cumulative_ppm == kAll_ppm,
             "sizes run from 0 to 1");
  // 32 more bits than a part per million, so that sizes inside a step are not all multiples of something.
  std::uint64_t at = random.below(std::uint64_t{kAll_ppm} << 32);
  auto above = std::upper_bound(points.begin() + 1, points.end(), at, [](std::uint64_t value, const SizePoint& point) {
    return value < std::uint64_t{point.cumulative_ppm} << 32;
  });
  const SizePoint& low = *(above - 1);
  unsigned __int128 into = at - (std::uint64_t{low.cumulative_ppm} << 32);
  std::uint64_t step = std::uint64_t{above->cumulative_ppm - low.cumulative_ppm} << 32;
  std::uint64_t size_B = low.size_B + static_cast<std::uint64_t>(into * (above->size_B - low.size_B) / step);
  return std::max<std::uint64_t>(size_B, 1);
}

// The logarithm to base 2 digit by digit: squaring m in [1, 2) doubles its logarithm, and the next digit is whether the
// square has reached 2.
std::uint64_t negative_log(std::uint64_t bits) {
  if (bits == UINT64_MAX) return 0;
  std::uint64_t u = bits + 1;
  auto shift = static_cast<unsigned>(std::countl_zero(u));
  std::uint64_t m = u << shift;  // 1.63
  std::uint64_t fraction = 0;
  for (unsigned digit = 0; digit < 32; ++digit) {
    unsigned __int128 square = static_cast<unsigned __int128>(m) * m;  // 2.126
    bool two = (square >> 127) != 0;
    m = static_cast<std::uint64_t>(square >> (two ? 64 : 63));
    fraction = fraction << 1 | (two ? 1 : 0);
  }
  std::uint64_t log2 = (std::uint64_t{shift + 1} << 32) - fraction;
  constexpr std::uint64_t kLn2 = 0xb17217f7d1cf79ab;  // ln 2 in units of 2^-64
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(log2) * kLn2) >> 64);
}

Time_ps draw_gap_ps(Time_ps mean_ps, RandomStream& random) {
  auto product = static_cast<unsigned __int128>(negative_log(random.next())) * static_cast<std::uint64_t>(mean_ps);
  return static_cast<Time_ps>(product >> 32);
}

}  // namespace weft::workload
