#include "base/log_histogram.h"

namespace weft {

// Widens by whole powers of two, so that this happens a few times in the life of a histogram.
void LogHistogram::widen(std::uint32_t index) {
  const std::uint32_t begin = index / kSteps * kSteps, end = begin + kSteps;
  if (counts_.empty()) {
    first_ = begin;
    counts_.resize(kSteps);
  } else if (begin < first_) {
    counts_.insert(counts_.begin(), first_ - begin, 0);
    first_ = begin;
  } else {
    counts_.resize(end - first_);
  }
}

void LogHistogram::fill_first() {
  ++bucket(index_of(least_));
  ++bucket(index_of(most_));
}

void LogHistogram::add(const LogHistogram& other) {
  if (other.count_ == 0) return;
  if (other.count_ <= 2) {
    add(other.least_);
    if (other.count_ == 2) add(other.most_);
    return;
  }
  if (count_ == 1) ++bucket(index_of(least_));
  if (count_ == 2) fill_first();
  bucket(other.first_);
  bucket(other.first_ + static_cast<std::uint32_t>(other.counts_.size()) - 1);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[other.first_ - first_ + i] += other.counts_[i];
  note(other.least_, other.most_);
  count_ += other.count_;
  sum_ += other.sum_;
}

std::int64_t LogHistogram::percentile(std::uint32_t per_10000) const {
  if (count_ == 0) return -1;
  // Ceiling of count * per_10000 / 10,000 without overflow.
  const std::uint64_t whole = count_ / 10'000 * per_10000, rest = count_ % 10'000 * per_10000;
  const std::uint64_t rank = std::max<std::uint64_t>(1, whole + (rest + 9'999) / 10'000);
  if (rank == 1) return least_;
  if (rank >= count_) return most_;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (below < rank) continue;
    const std::uint32_t index = first_ + static_cast<std::uint32_t>(i);
    return std::clamp(low(index) + (width(index) - 1) / 2, least_, most_);
  }
  return most_;
}

std::vector<LogHistogram::Bucket> LogHistogram::buckets() const {
  std::vector<Bucket> out;
  if (count_ == 0) return out;
  if (count_ <= 2) {
    out.push_back({least_, count_ == 2 && least_ == most_ ? 2u : 1u});
    if (count_ == 2 && least_ != most_) out.push_back({most_, 1});
    return out;
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const std::uint32_t index = first_ + static_cast<std::uint32_t>(i);
    out.push_back({std::min(low(index) + (width(index) - 1), most_), counts_[i]});
  }
  return out;
}

}  // namespace weft
