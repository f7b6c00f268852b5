// Latencies in bounded memory: eight buckets for each power of two from 64 ns on, so a percentile is right to a
// sixteenth. Smallest and largest are exact.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace weft::analyze {

class LatencyHistogram {
 public:
  void add(std::int64_t ns) {
    ns = std::max<std::int64_t>(ns, 0);
    least_ns_ = count_ == 0 ? ns : std::min(least_ns_, ns);
    most_ns_ = std::max(most_ns_, ns);
    ++count_;
    ++buckets_[bucket_of(ns)];
  }

  std::uint64_t count() const { return count_; }
  std::int64_t least_ns() const { return count_ == 0 ? -1 : least_ns_; }
  std::int64_t most_ns() const { return count_ == 0 ? -1 : most_ns_; }

  // The middle of the bucket in which the percentile lies; -1 without a sample.
  std::int64_t percentile_ns(double percent) const {
    if (count_ == 0) return -1;
    const auto wanted = static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_)));
    if (wanted >= count_) return most_ns_;
    std::uint64_t before = 0;
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      before += buckets_[bucket];
      if (before >= wanted) return std::clamp(middle_ns(bucket), least_ns_, most_ns_);
    }
    return most_ns_;
  }

 private:
  static constexpr int kFirstBit = 6, kOctaves = 33;

  static std::size_t bucket_of(std::int64_t ns) {
    const auto value = static_cast<std::uint64_t>(ns);
    if (value < std::uint64_t{1} << kFirstBit) return 0;
    const int octave = static_cast<int>(std::bit_width(value)) - 1;
    const auto part = static_cast<std::size_t>(value >> (octave - 3) & 7);
    return std::min(static_cast<std::size_t>(octave - kFirstBit) * 8 + part + 1, std::size_t{kOctaves * 8});
  }
  static std::int64_t middle_ns(std::size_t bucket) {
    if (bucket == 0) return 1 << (kFirstBit - 1);
    const int octave = static_cast<int>((bucket - 1) / 8) + kFirstBit;
    const auto part = static_cast<std::int64_t>((bucket - 1) % 8);
    return (2 * (8 + part) + 1) << (octave - 4);
  }

  std::array<std::uint32_t, kOctaves * 8 + 1> buckets_{};
  std::uint64_t count_ = 0;
  std::int64_t least_ns_ = 0, most_ns_ = 0;
};

}  // namespace weft::analyze
