// nccl-tests' loop on the engine of collectives: for each size, out of place and in place, all ranks enqueue their
// iterations at the same time and wait for the last. A row's time is the mean of its iterations. Those that repeat the
// one before are not simulated: a row stops after enough data has moved, and the last iteration stands for the others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "spec/nccl_result.h"
#include "workload/collective/engine.h"
#include "workload/collective/nccl_rows.h"
#include "workload/workload.h"

namespace weft::workload {

class NcclRun final : public Workload {
 public:
  NcclRun(NcclOptions options, CollectiveEngine::Setup setup, std::shared_ptr<const nccl::Communicator> communicator,
          std::vector<nccl::TestDevice> devices);
  NcclRun(const NcclRun&) = delete;
  NcclRun& operator=(const NcclRun&) = delete;

  bool start_phase(Time_ps at_ps) override;
  void finish_phase(bool interrupted) override;
  bool is_finished() const override { return next_ == rows_.all().size() * 2 || result_.stalled; }
  const NcclResult& result() const { return result_; }
  // In place of a run: what each row cannot beat. Empty where ranks cannot be connected.
  std::vector<Roofline> rooflines();

 private:
  using Row = NcclRows::Row;
  // What one rank did in a phase; only its machine's program writes it.
  struct RankTimes {
    std::uint32_t ended = 0;
    Time_ps first_ps = 0, last_ps = 0;  // ends of iterations
  };

  bool is_warm_up() const { return warmed_up_ < rows_.warm_ups().size(); }
  const Row& row_now() const { return rows_.all()[is_warm_up() ? rows_.warm_ups()[warmed_up_] : next_ / 2]; }
  bool is_in_place() const { return !is_warm_up() && next_ % 2 == 1; }
  double row_time_us(Time_ps& last_ps) const;
  double call_time_us() const;
  void enqueue_iteration(std::uint32_t rank);

  NcclOptions options_;
  std::shared_ptr<const nccl::Communicator> communicator_;
  CollectiveEngine engine_;
  std::uint32_t number_ = 0;  // of the communicator
  NcclRows rows_;
  std::size_t next_ = 0;  // phases: two for each row
  std::size_t warmed_up_ = 0;
  Time_ps started_ps_ = 0;
  std::uint32_t iterations_ = 0;  // of this phase
  std::vector<RankTimes> times_;  // by rank
  NcclResult result_;
};

}  // namespace weft::workload
