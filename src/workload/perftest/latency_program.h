// perftest's latency loops. WRITE: both ends take turns; each spins on the last byte of its buffer, writes to the
// other's and reaps its own completion. SEND: the same with receives. READ and atomics: the client alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/perftest/bandwidth_program.h"

namespace weft::workload {

class LatencyProgram final : public host::Program {
 public:
  LatencyProgram(const PerftestOptions& options, const PerftestSide& side, std::uint64_t size_B, bool client);
  ~LatencyProgram() override { side_.end.host->stop(program_); }

  void start(Time_ps at_ps);
  // Its messages and those of its peer, which follows the same trace.
  void follow(nic::MessageTrace& trace) { trace_ = &trace; }
  // By iteration, all but the last; the first kMostChains of them.
  const std::vector<std::vector<nic::Span>>& chains() const { return chains_; }
  static constexpr std::size_t kMostChains = 20'000;
  Time_ps step(Time_ps now_ps) override;
  void memory_written(Time_ps visible_ps) override { written_ps_.push_back(visible_ps); }
  bool done() const { return done_; }
  const std::string& failure() const { return failure_; }
  // One sample for each iteration but the last, as perftest computes it.
  std::vector<Time_ps> samples_ps() const;
  std::uint64_t counted() const { return counted_; }

 private:
  enum class Phase : std::uint8_t { kAwaitPeer, kPost, kAwaitCompletion };
  bool ping_pong() const { return options_.verb == PerftestVerb::kWrite || options_.verb == PerftestVerb::kSend; }
  Time_ps await_peer(Time_ps now_ps);
  Time_ps post(Time_ps now_ps);
  Time_ps await_completion(Time_ps now_ps);
  // Pops a visible entry; false when there is none. A failed one ends the program.
  bool reap(std::uint32_t cq, Time_ps now_ps);
  bool over(Time_ps now_ps) const;
  void trace_post(Time_ps now_ps, Time_ps doorbell_ps);
  // It has found what was visible from then on, and is done with it at `until_ps`.
  void trace_found(Time_ps visible_ps, Time_ps now_ps, Time_ps until_ps);
  void post_receive();

  const PerftestOptions& options_;
  const PerftestSide& side_;
  std::uint64_t size_B_;
  bool client_;
  std::uint32_t program_ = host::kNoProgram;
  Phase phase_;
  std::uint64_t sent_ = 0, reaped_ = 0, heard_ = 0;
  std::vector<Time_ps> posted_ps_;
  std::vector<Time_ps> written_ps_;  // WRITEs that were seen arriving
  Time_ps start_ps_ = 0, stop_ps_ = kNever_ps;
  std::uint64_t counted_ = 0;
  nic::MessageTrace* trace_ = nullptr;  // null: nobody asked
  std::vector<std::vector<nic::Span>> chains_;
  Time_ps reaped_visible_ps_ = 0;  // of the last completion
  Time_ps awaits_from_ps_ = 0;     // its own completion is reaped, and it looks for the peer's message
  bool done_ = false;
  std::string failure_;
};

}  // namespace weft::workload
