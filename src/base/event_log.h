// A node's memory of the events of a whole run, bounded. Events of one key (a queue, a queue pair) that
// follow each other closely are one record. When there is no more room, so are those that begin in the same slot of
// time, and the slot doubles until half of the room is free again: records cover the run from its start to its end, and
// their counts add up to all events. A key that finds no room at all, because there are more keys than records, is
// counted only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/time.h"

namespace weft {

// `Record` has first_ps, last_ps, count, and merge(later), which adds a later record of the same key to it.
// An event that comes kQuiet_ps after the one before it, or later, begins another record.
template <typename Record, std::size_t kLimit, Time_ps kQuiet_ps = us(100)>
class EventLog {
 public:
  const std::vector<Record>& records() const { return records_; }
  std::uint64_t left_out() const { return left_out_; }
  std::uint64_t total() const {
    return std::accumulate(records_.begin(), records_.end(), left_out_,
                           [](std::uint64_t sum, const Record& each) { return sum + each.count; });
  }

  // Events come in order of time. Keys are small numbers.
  // The record that an event belongs to; null where it needs one of its own.
  Record* open(std::uint32_t key, Time_ps now_ps) {
    if (key >= last_.size() || last_[key] == 0) return nullptr;
    Record& record = records_[last_[key] - 1];
    return now_ps - record.last_ps < kQuiet_ps || is_one_slot(now_ps, record.first_ps) ? &record : nullptr;
  }
  void add(std::uint32_t key, const Record& event) {
    if (Record* record = open(key, event.first_ps)) return record->merge(event);
    if (records_.size() == kLimit) {
      thin();
      if (Record* record = open(key, event.first_ps)) return record->merge(event);
    }
    if (records_.size() == kLimit) {
      left_out_ += event.count;
      return;
    }
    if (key >= last_.size()) last_.resize(key + 1);
    records_.push_back(event);
    keys_.push_back(key);
    last_[key] = static_cast<std::uint32_t>(records_.size());
  }

 private:
  static constexpr Time_ps kLongest_ps = kNever_ps / 4;

  bool is_one_slot(Time_ps a_ps, Time_ps b_ps) const { return slot_ps_ > 0 && a_ps / slot_ps_ == b_ps / slot_ps_; }
  void thin() {
    while (records_.size() > kLimit / 2 && slot_ps_ < kLongest_ps) {
      slot_ps_ = std::max(2 * slot_ps_, us(1));
      std::fill(last_.begin(), last_.end(), 0);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < records_.size(); ++i) {
        std::uint32_t& last = last_[keys_[i]];
        if (last != 0 && is_one_slot(records_[last - 1].first_ps, records_[i].first_ps)) {
          records_[last - 1].merge(records_[i]);
          continue;
        }
        records_[kept] = records_[i];
        keys_[kept] = keys_[i];
        last = static_cast<std::uint32_t>(++kept);
      }
      records_.resize(kept);
      keys_.resize(kept);
    }
  }

  std::vector<Record> records_;      // in order of their start
  std::vector<std::uint32_t> keys_;  // of the records
  std::vector<std::uint32_t> last_;  // by key: the number of its last record + 1; 0: none
  Time_ps slot_ps_ = 0;              // 0: there was always room
  std::uint64_t left_out_ = 0;
};

}  // namespace weft
