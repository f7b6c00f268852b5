// Time series as sparse compressed columns. Samples are integers; a block holds up to kBlockSamples of them as
// differences, zigzag varints (as in Protocol Buffers), where a 0 byte is followed by the length, a varint, of a run of
// zeros: nothing changed. The first difference of a block is against 0, so blocks can be read alone; a block of nothing
// but zeros is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"

namespace weft::store {

// What a flow did with its time from its start, in the order of nic::SenderRecord::times; the last is all of PCIe.
inline constexpr const char* kSenderMetrics[] = {"sending_ps", "port_busy_ps",  "start_ps",        "no_work_ps",
                                                 "cpu_ps",     "round_trip_ps", "message_rate_ps", "paced_ps",
                                                 "paused_ps",  "recovery_ps",   "context_ps",      "pcie_ps"};

inline constexpr std::uint32_t kBlockSamples = 4096;
// That a reader takes: a series of so many is a gigabyte.
inline constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 27;

struct SeriesBlock {
  std::uint64_t first_sample = 0;
  std::uint32_t count = 0;
  std::vector<std::uint8_t> data;
};

class SeriesEncoder {
 public:
  void add(std::int64_t value) { add_repeated(value, 1); }
  void add_repeated(std::int64_t value, std::uint64_t times);
  // Repeats the last one.
  void repeat(std::uint64_t times) { add_repeated(last_, times); }
  // Ends the last block. Nothing may be added afterwards.
  void finish() { end_block(); }
  const std::vector<SeriesBlock>& blocks() const { return blocks_; }
  std::uint64_t samples() const { return samples_; }
  // The largest, at least 0, and the last.
  std::int64_t most() const { return most_; }
  std::int64_t last() const { return last_; }

 private:
  void end_block();
  void end_run();
  void put(std::uint64_t value);

  std::vector<SeriesBlock> blocks_;
  SeriesBlock block_;
  std::uint64_t run_ = 0;    // zeros not written yet
  std::int64_t before_ = 0;  // the last in this block
  std::int64_t last_ = 0;
  std::int64_t most_ = 0;
  bool nonzero_ = false;  // in this block
  std::uint64_t samples_ = 0;
};

// Nothing when the bytes are not a block of `count` samples.
std::optional<std::vector<std::int64_t>> decode_block(std::span<const std::uint8_t> data, std::uint32_t count);

struct Series {
  std::string node;    // "leaf0"; of a flow: its workload
  std::string port;    // "swp1"; empty: of the whole node; of a flow: its number, from 0
  int class_ = -1;     // -1: of all
  std::string metric;  // "queue_B"
  std::string unit;    // "B", "ps", "1", "b/s"
  SeriesEncoder encoder;
};

// Sample k is what was there at k * interval_ps.
struct SeriesSet {
  Time_ps interval_ps = 0;
  std::uint64_t samples = 0;
  std::vector<Series> series;  // without those that are zero throughout
};

}  // namespace weft::store
