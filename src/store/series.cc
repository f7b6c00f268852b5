#include "store/series.h"

#include <algorithm>

namespace weft::store {

namespace {

std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
}

// Overflow wraps on both sides, so every pair of samples has a difference.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::optional<std::uint64_t> take_varint(std::span<const std::uint8_t>& data) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !data.empty(); shift += 7) {
    std::uint8_t byte = data.front();
    data = data.subspan(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

}  // namespace

void SeriesEncoder::put(std::uint64_t value) {
  while (value >= 0x80) {
    block_.data.push_back(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  block_.data.push_back(static_cast<std::uint8_t>(value));
}

void SeriesEncoder::end_run() {
  if (run_ == 0) return;
  block_.data.push_back(0);
  put(run_);
  run_ = 0;
}

void SeriesEncoder::end_block() {
  if (block_.count == 0) return;
  end_run();
  std::uint64_t next = block_.first_sample + block_.count;
  if (nonzero_) blocks_.push_back(std::move(block_));
  block_ = {};
  block_.first_sample = next;
  before_ = 0;
  nonzero_ = false;
}

void SeriesEncoder::add_repeated(std::int64_t value, std::uint64_t times) {
  samples_ += times;
  last_ = value;
  if (times > 0 && value > most_) most_ = value;
  while (times > 0) {
    if (block_.count == kBlockSamples) end_block();
    nonzero_ = nonzero_ || value != 0;
    if (value != before_) {
      end_run();
      put(zigzag(difference(value, before_)));
      before_ = value;
      ++block_.count;
      --times;
      continue;
    }
    auto fit = std::min<std::uint64_t>(times, kBlockSamples - block_.count);
    run_ += fit;
    block_.count += static_cast<std::uint32_t>(fit);
    times -= fit;
  }
}

std::optional<std::vector<std::int64_t>> decode_block(std::span<const std::uint8_t> data, std::uint32_t count) {
  if (count > kBlockSamples) return std::nullopt;
  std::vector<std::int64_t> values;
  std::int64_t value = 0;
  while (!data.empty()) {
    std::optional<std::uint64_t> word = take_varint(data);
    if (!word) return std::nullopt;
    std::uint64_t times = 1;
    if (*word == 0) {
      std::optional<std::uint64_t> run = take_varint(data);
      if (!run) return std::nullopt;
      times = *run;
    } else {
      value = difference(value, difference(0, unzigzag(*word)));
    }
    if (times > count - values.size()) return std::nullopt;
    values.insert(values.end(), times, value);
  }
  if (values.size() != count) return std::nullopt;
  return values;
}

}  // namespace weft::store
