// Flow sizes and arrival gaps as random variables in whole numbers, so that they are the same on every machine: sizes
// from a table with linear interpolation, gaps from an exponential distribution with a logarithm of our own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/random.h"
#include "base/time.h"

namespace weft::workload {

// `cumulative_ppm` of all flows are of at most `size_B`. A table begins at 0 ppm and ends at 1'000'000.
struct SizePoint {
  std::uint64_t size_B;
  std::uint32_t cumulative_ppm;
};

enum class SizeDistribution : std::uint8_t { kWebSearch, kHadoop, kAliStorage };

std::span<const SizePoint> size_points(SizeDistribution distribution);
// "websearch", "hadoop", "alistorage".
std::string_view name(SizeDistribution distribution);
std::optional<SizeDistribution> size_distribution(std::string_view name);

double mean_size_B(std::span<const SizePoint> points);
// At least 1.
std::uint64_t draw_size_B(std::span<const SizePoint> points, RandomStream& random);

// -ln((bits + 1) / 2^64) in units of 2^-32; off by less than two of them.
std::uint64_t negative_log(std::uint64_t bits);
Time_ps draw_gap_ps(Time_ps mean_ps, RandomStream& random);

}  // namespace weft::workload
