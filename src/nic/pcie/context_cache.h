// The NIC's cache of queue pair contexts. A context that is not in it is fetched from host memory over PCIe: the queue
// pair waits for a round trip, or for two when the NIC does not know where the context lies either, and only so many
// reads are under way at once. Least recently used of eight ways. While a card has no more queue pairs than entries
// nothing is looked up. Values: context_cache, context_map, context_fetches of the NIC model.
// docs/mechanisms/context-cache.md
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/time.h"

namespace weft::nic {

// Keys are not 0.
class LeastRecentlyUsed {
 public:
  struct Way {
    std::uint64_t key = 0;
    std::uint64_t used = 0;
    Time_ps there_ps = 0;
  };

  void resize(std::uint32_t entries) { ways_.assign(std::max(entries / kWays, 1u) * kWays, {}); }
  // The way of `key`; `hit` is false when it was another's until now.
  Way& use(std::uint64_t key, bool& hit) {
    Way* const first = &ways_[mix64(key) % (ways_.size() / kWays) * kWays];
    Way* oldest = first;
    for (Way* way = first; way < first + kWays; ++way) {
      if (way->key == key) {
        oldest = way;
        break;
      }
      if (way->used < oldest->used) oldest = way;
    }
    hit = oldest->key == key;
    oldest->key = key;
    oldest->used = ++clock_;
    return *oldest;
  }

 private:
  static constexpr std::uint32_t kWays = 8;
  std::vector<Way> ways_;
  std::uint64_t clock_ = 0;
};

class ContextCache {
 public:
  // Contexts of `entries` queue pairs, places of `map` contexts, and `fetches` reads at once, each of `latency_ps`; no
  // entries: nothing ever misses.
  void configure(std::uint32_t entries, std::uint32_t map, std::uint32_t fetches, Time_ps latency_ps) {
    entries_ = entries;
    latency_ps_ = latency_ps;
    interval_ps_ = latency_ps / std::max(fetches, 1u);
    if (entries == 0) return;
    contexts_.resize(entries);
    map_.resize(map);
  }
  void add_queue_pair() { binds_ = ++queue_pairs_ > entries_ && entries_ > 0; }
  void remove_queue_pair() {
    WEFT_CHECK(queue_pairs_ > 0, "more queue pairs are destroyed than created");
    binds_ = --queue_pairs_ > entries_ && entries_ > 0;
  }
  bool binds() const { return binds_; }
  std::uint64_t misses() const { return misses_; }

  // When the context of `key` is in the NIC: now, or after a fetch that begins now.
  Time_ps use(std::uint64_t key, Time_ps now_ps) {
    bool hit = false;
    LeastRecentlyUsed::Way& context = contexts_.use(key, hit);
    if (hit) return std::max(now_ps, context.there_ps);
    ++misses_;
    map_.use(key, hit);
    const int reads = hit ? 1 : 2;  // one after the other
    WEFT_DCHECK(interval_ps_ <= latency_ps_, "reads of contexts are further apart than one takes");
    fetch_free_ps_ = std::max(fetch_free_ps_, now_ps) + reads * interval_ps_;
    context.there_ps = fetch_free_ps_ + reads * (latency_ps_ - interval_ps_);
    return context.there_ps;
  }

 private:
  LeastRecentlyUsed contexts_, map_;
  std::uint32_t entries_ = 0;
  std::uint32_t queue_pairs_ = 0;
  bool binds_ = false;
  std::uint64_t misses_ = 0;
  Time_ps latency_ps_ = 0, interval_ps_ = 0;
  Time_ps fetch_free_ps_ = 0;
};

}  // namespace weft::nic
