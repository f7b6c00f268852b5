// Reads the counters of a running world at regular times, between two steps of the engine. It changes nothing: a run
// with samples has the results of one without.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "results/series.h"
#include "world/active_workload.h"
#include "world/world.h"

namespace weft::lab {

class Sampler {
 public:
  // `workloads` may still grow; it is read when the first sample is taken.
  Sampler(World& world, const std::vector<std::unique_ptr<ActiveWorkload>>& workloads, Time_ps interval_ps);

  Time_ps next_ps() const { return next_ps_; }
  // Everything before next_ps() has happened.
  void take();
  // All series that were ever non-zero. An idle world is sampled once more.
  SeriesSet finish(bool at_rest);

 private:
  static constexpr std::size_t kMostFlows = 64;  // whose rates are kept

  void add(const std::string& node, const std::string& port, int class_, const char* metric, const char* unit);
  void declare();
  void add_flow(const std::string& workload, const std::string& number);
  void put(std::int64_t value) { set_.series[cursor_++].encoder.add(value); }
  void put(std::uint64_t value) { put(static_cast<std::int64_t>(value)); }
  void read_switches();
  void read_nics();
  void read_flows();

  World& world_;
  const std::vector<std::unique_ptr<ActiveWorkload>>& workloads_;
  SeriesSet set_;
  Time_ps next_ps_ = 0;
  std::size_t cursor_ = 0;      // series that is read next
  std::uint64_t events_ = 0;    // of the world at the last sample that was read
  std::uint64_t repeated_ = 0;  // samples since in which nothing happened
  bool stopped_ = false;        // some class was stopped: its time runs on without events
  bool with_flows_ = false;
};

}  // namespace weft::lab
