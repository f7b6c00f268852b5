// A distribution of times, or of any numbers from 0 on, in little memory: 64 buckets for each power of two, so that a
// percentile is right to 1/128 of its value (0.8 %). Numbers below 128, the smallest, the largest, count and sum are
// exact. Memory is 64 B, and 256 B for each power of two between the smallest and the largest bucket in use: 10 KB for
// 1 ns to 1,000 s in picoseconds. Up to two numbers take no bucket: they are the smallest and the largest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

class LogHistogram {
 public:
  void add(std::int64_t value) {
    value = std::max<std::int64_t>(value, 0);
    if (count_ >= 2) [[likely]] {
      if (count_ == 2) fill_first();
      ++bucket(index_of(value));
    }
    note(value, value);
    ++count_;
    sum_ += static_cast<std::uint64_t>(value);
  }
  void add(const LogHistogram& other);

  std::uint64_t count() const { return count_; }
  // -1 without a number.
  std::int64_t least() const { return count_ == 0 ? -1 : least_; }
  std::int64_t most() const { return count_ == 0 ? -1 : most_; }
  std::int64_t mean() const { return count_ == 0 ? -1 : static_cast<std::int64_t>(sum_ / count_); }
  std::uint64_t sum() const { return sum_; }

  // Nearest rank, in parts of 10,000: the middle of the bucket in which it lies; -1 without a number.
  std::int64_t percentile(std::uint32_t per_10000) const;

  // Buckets that are not empty, in order: the largest number that it can hold, and how many it has.
  struct Bucket {
    std::int64_t upto = 0;
    std::uint64_t count = 0;
  };
  std::vector<Bucket> buckets() const;

 private:
  static constexpr unsigned kBits = 6;
  static constexpr std::uint32_t kSteps = 1U << kBits;  // of each power of two

  static std::uint32_t index_of(std::int64_t value) {
    const auto width = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(value)));
    const std::uint32_t shift = width > kBits + 1 ? width - kBits - 1 : 0;
    return shift * kSteps + static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> shift);
  }
  static std::uint32_t shift_of(std::uint32_t index) { return index < 2 * kSteps ? 0 : index / kSteps - 1; }
  static std::int64_t low(std::uint32_t index) {
    const std::uint32_t shift = shift_of(index);
    return static_cast<std::int64_t>(std::uint64_t{index - shift * kSteps} << shift);
  }
  static std::int64_t width(std::uint32_t index) { return std::int64_t{1} << shift_of(index); }

  std::uint32_t& bucket(std::uint32_t index) {
    if (index - first_ >= counts_.size()) [[unlikely]]  // also when it is below: unsigned
      widen(index);
    return counts_[index - first_];
  }
  void widen(std::uint32_t index);
  void fill_first();
  void note(std::int64_t from, std::int64_t to) {
    least_ = count_ == 0 ? from : std::min(least_, from);
    most_ = count_ == 0 ? to : std::max(most_, to);
  }

  std::uint64_t count_ = 0, sum_ = 0;
  std::int64_t least_ = 0, most_ = 0;
  std::vector<std::uint32_t> counts_;  // of the buckets from first_ on
  std::uint32_t first_ = 0;
};

}  // namespace weft
