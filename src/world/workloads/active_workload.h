// A workload of the lab while the world runs. What is different from kind to kind (workload/kinds.h) is behind this;
// each kind has a file of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "model/lab.h"
#include "workload/workload.h"
#include "world/workloads/program_session.h"
#include "world/world.h"

namespace weft::lab {

class ActiveWorkload {
 public:
  explicit ActiveWorkload(const WorkloadConfig& config) : config_(config) {}
  virtual ~ActiveWorkload() = default;
  ActiveWorkload(const ActiveWorkload&) = delete;
  ActiveWorkload& operator=(const ActiveWorkload&) = delete;

  const WorkloadConfig& config() const { return config_; }
  virtual workload::Workload& run() = 0;
  // What it leaves behind if the run ends now.
  virtual workload::Outcome outcome(World& world) = 0;
  // Its senders, for the time series: how many, and what congestion control lets one of them send.
  virtual std::size_t sender_count() const { return 0; }
  virtual std::int64_t sender_rate_bps(World&, std::size_t) const { return 0; }
  // What it did with its time so far, where the world records.
  virtual std::array<Time_ps, nic::kSenderStates> sender_times(World&, std::size_t, Time_ps) const { return {}; }

 private:
  const WorkloadConfig& config_;
};

// What the world must have for a workload.
struct WorkloadNeeds {
  bool bytes = false;     // packets carry their payload
  bool programs = false;  // a session of programs, which runs in one domain
};
struct WorkloadSetup {
  World& world;
  const WorkloadConfig& config;
  std::size_t number;        // of the workload in its lab
  ProgramSession* programs;  // null unless some workload needs it
  bool why = false;          // messages are followed
};
#define WEFT_DECLARE(Options, Outcome)                      \
  WorkloadNeeds needs_of(const workload::Options& options); \
  std::unique_ptr<ActiveWorkload> activate(const workload::Options& options, const WorkloadSetup& setup);
WEFT_WORKLOAD_KINDS(WEFT_DECLARE)
#undef WEFT_DECLARE

}  // namespace weft::lab
