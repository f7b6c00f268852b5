// Streams that are counted and not looked into: what remains of a capture with more streams than the checks keep. 24
// bytes each, so that a million of them take about 40 MB. Beyond kMostCounted, frames are only counted.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/frames/addresses.h"
#include "analyze/frames/frame.h"

namespace weft::analyze {

class StreamCounts {
 public:
  static constexpr std::size_t kMostCounted = 1 << 20;

  void see(const Frame& frame);

  std::size_t size() const { return size_; }
  std::uint64_t frames() const { return frames_; }
  // Frames of streams beyond kMostCounted.
  std::uint64_t left_out() const { return left_out_; }
  // The streams with the most bytes, at most `most`, as conversations of one direction.
  std::vector<Conversation> largest(std::size_t most, const Addresses& addresses) const;

 private:
  struct Entry {
    AddressId src = 0, dst = 0;
    std::uint32_t dst_qp : 24 = 0, opcode : 8 = 0;
    std::uint32_t frames = 0;                       // 0: the place is free; counts up to 2^32 - 1
    std::uint64_t point : 20 = 0, wire_B : 44 = 0;  // up to 17 TB
  };
  static_assert(sizeof(Entry) == 24);
  // Many small tables in place of a large one: while one grows, the others do not need their room twice.
  struct Table {
    std::vector<Entry> entries;
    std::size_t used = 0;
  };
  static constexpr int kTableBits = 8;

  static std::uint64_t hash_of(AddressId src, AddressId dst, std::uint32_t point, std::uint32_t qp);
  static Entry& place_of(Table& table, const Entry& key, std::uint64_t hash);
  static void grow(Table& table);

  std::vector<Table> tables_;
  std::size_t size_ = 0;
  std::uint64_t frames_ = 0, left_out_ = 0;
};

}  // namespace weft::analyze
