// Reads the counters of a running world at regular times, between two steps of the engine. It changes nothing: a run
// with samples has the results of one without.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/series.h"
#include "world/workloads/active_workload.h"
#include "world/world.h"

namespace weft::lab {

class Sampler {
 public:
  // `workloads` may still grow; it is read when the first sample is taken. An interval of 0 is chosen here: it begins
  // with 1 us, and when there is no more room every second sample goes and the interval doubles, so that a run of any
  // length ends with between half of the room and all of it.
  Sampler(World& world, const std::vector<std::unique_ptr<ActiveWorkload>>& workloads, Time_ps interval_ps);

  Time_ps next_ps() const { return next_ps_; }
  // Everything before next_ps() has happened.
  void take();
  // All series that were ever non-zero. An idle world is sampled once more.
  store::SeriesSet finish(bool at_rest);

 private:
  static constexpr std::size_t kMostFlows = 64;  // whose rates are kept
  // Room where the interval is chosen: 4,096 samples, and in large labs fewer, at least 256, so that what is read stays
  // below 2^26 numbers a halving. A fabric of 1,024 hosts has 160,000 series: 256 samples, some 10 MB in the store.
  static constexpr std::uint64_t kMostChosen = 4096, kLeastChosen = 256, kMostNumbers = std::uint64_t{1} << 26;

  void add(const std::string& node, const std::string& port, int class_, const char* metric, const char* unit);
  void declare();
  // Priority groups, one bit each: those of a port that have headroom, those of a switch that stop their peers.
  std::uint8_t headroom_groups(std::uint32_t s, std::uint32_t cabled_port) const;
  std::uint8_t pausing_groups(std::uint32_t s) const;
  void add_flow(const std::string& workload, const std::string& number);
  // What is as it was costs a comparison; its encoder hears of it when it changes.
  void put(std::int64_t value) {
    const std::size_t at = cursor_++;
    if (value != last_[at]) put_change(at, value);
  }
  void put_change(std::size_t at, std::int64_t value);
  void put(std::uint64_t value) { put(static_cast<std::int64_t>(value)); }
  void halve();
  void read_switches();
  void read_nics();
  void read_flows();

  World& world_;
  const std::vector<std::unique_ptr<ActiveWorkload>>& workloads_;
  store::SeriesSet set_;
  std::uint64_t room_ = 0;  // samples; 0: the interval is given, and there is no end
  Time_ps next_ps_ = 0;
  std::size_t cursor_ = 0;          // series that is read next
  std::vector<std::int64_t> last_;  // by series: its last sample
  std::uint64_t events_ = 0;        // of the world at the last sample that was read
  bool stopped_ = false;            // some class was stopped: its time runs on without events
  bool with_flows_ = false;
  std::vector<std::uint8_t> headroom_groups_;  // by switch and cabled port, one after the other
  std::vector<std::uint8_t> pausing_groups_;   // by switch
  std::vector<bool> has_headroom_;             // by switch: any of its ports
};

}  // namespace weft::lab
