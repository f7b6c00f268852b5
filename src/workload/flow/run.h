// Plays a list of flows: every flow has a queue pair of its own, every endpoint one program that posts its flows when
// they are due, message after message, and polls one completion queue. Posting and polling cost CPU time from the host
// model; a flow ends when its last completion is visible, polled or not. Buffers have no bytes. Endpoints that belong
// to another engine have their numbers here, so that both sides agree, and nothing else.
// A flow that waits for others (FlowOptions::dependencies) starts when the program at its host has seen the end of the
// last of them: the completion of one that it sent, the last receive of one that it received. The last message of a
// WRITE that a receiver waits for is a WRITE with immediate, as a plain WRITE gives the receiver no completion.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "spec/flow_options.h"
#include "spec/flow_result.h"
#include "workload/connection.h"
#include "workload/perftest/port_account.h"
#include "workload/workload.h"

namespace weft::workload {

class FlowRun final : public Workload {
 public:
  FlowRun(FlowOptions options, std::vector<Endpoint> endpoints);
  FlowRun(const FlowRun&) = delete;
  FlowRun& operator=(const FlowRun&) = delete;

  bool start_phase(Time_ps at_ps) override;
  void finish_phase(bool) override {}
  bool is_finished() const override;
  const FlowOptions& options() const { return options_; }
  // In the order of the flows in the options. Those that are sent by another engine stay as they are.
  const std::vector<FlowRow>& rows() const { return rows_; }
  // Of a graph, by flow: when the last that it waits for had ended, or kNever_ps. Empty without dependencies.
  std::vector<Time_ps> ready_ps() const;
  // Before it starts, in a world of one domain: each flow has an account of its sender's port from now on.
  void keep_accounts(CountLosses losses) {
    losses_ = std::move(losses);
    accounts_.resize(rows_.size());
  }
  // Of a flow that is done, where accounts are kept and it crosses a cable.
  std::optional<PerftestBudget> budget(std::size_t flow) const;
  // Payload of a full packet of this flow.
  std::uint32_t mtu_B(const FlowRow& row) const { return mtu_B(row.source, row.destination); }

 private:
  static constexpr std::uint32_t kNoFlow = 0xffffffff;

  // What a flow needs while it runs. Its sender's program changes all of it but `receives` and `receipts_left`, its
  // receiver's those.
  struct Progress {
    std::uint64_t messages = 0;
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t receives = 0;       // posted at the receiver
    std::uint64_t receipts_left = 0;  // receives that are still to complete
    std::uint32_t remote_qpn = 0;
    std::uint32_t message_B = 0;
    std::uint32_t next = kNoFlow;  // in the list of flows that may post
    bool may_post = false;
  };

  // Who waits for whom, seen from the flow that ends.
  class Dependents {
   public:
    Dependents() = default;
    Dependents(std::size_t flows, std::span<const FlowDependency> dependencies);
    std::span<const std::uint32_t> of(std::uint32_t flow) const {
      if (begin_.empty()) return {};
      return std::span(flows_).subspan(begin_[flow], begin_[flow + 1] - begin_[flow]);
    }

   private:
    std::vector<std::size_t> begin_;
    std::vector<std::uint32_t> flows_;
  };
  // What a flow waits for. The program at its sender's host changes it.
  struct Wait {
    std::uint32_t left = 0;  // flows that have not ended
    Time_ps ready_ps = 0;    // the end of the last that has, in the world's time
  };

  class Player final : public host::Program {
   public:
    Player(FlowRun& run, const Endpoint& end) : run_(run), end_(end) {}
    ~Player() override {
      if (end_.is_here()) end_.host->stop(program_);
    }
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;

    void start(Time_ps at_ps);
    Time_ps step(Time_ps now_ps) override;
    void post_receive(std::uint32_t flow);
    // A flow of this endpoint that waited for others starts then.
    void add_due(std::uint32_t flow, Time_ps due_ps) { due_.emplace(due_ps, flow); }
    void wake(Time_ps at_ps);

    std::vector<std::uint32_t> sends;  // flows, in order of start
    std::uint32_t flows = 0;           // in either direction
    std::uint32_t cq = 0, cq_entries = 0;
    std::uint32_t key = 0;
    std::uint64_t va = 0;

   private:
    void append(std::uint32_t flow);
    Time_ps post(Time_ps now_ps);
    Time_ps poll(Time_ps now_ps);
    Time_ps next_due_ps() const;
    void take(const nic::Completion& completion, Time_ps now_ps);
    bool take_receive(const nic::Completion& completion, Time_ps now_ps);
    void fail(FlowRow& row, const nic::Completion& completion);

    FlowRun& run_;
    const Endpoint& end_;
    std::uint32_t program_ = host::kNoProgram;
    std::size_t next_ = 0;  // of `sends`
    // Flows that waited for others and are due, by time.
    using Due = std::pair<Time_ps, std::uint32_t>;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    Time_ps busy_ps_ = 0;                             // the CPU is with this program until then
    std::uint32_t first_ = kNoFlow, last_ = kNoFlow;  // the flows that may post, in turn
  };

  std::uint32_t mtu_B(std::uint32_t source, std::uint32_t destination) const;
  void plan();
  void plan_dependencies();
  void connect(std::uint32_t flow);
  std::uint32_t receives_of(std::uint32_t flow) const;  // posted before it starts
  // What the dependents wait for has ended at their host, and one of its players has seen it.
  void release(std::span<const std::uint32_t> dependents, Time_ps ended_ps, Time_ps now_ps, const Player& seen_by);

  void start_account(std::uint32_t flow);

  FlowOptions options_;
  std::vector<Endpoint> endpoints_;
  std::vector<FlowRow> rows_;
  std::vector<Progress> progress_;
  std::deque<Player> players_;  // one for each endpoint
  Dependents at_sender_, at_receiver_;
  std::vector<Wait> waits_;                           // by flow; empty without dependencies
  std::vector<std::optional<FlowAccount>> accounts_;  // by flow; empty: nobody asked
  CountLosses losses_;
  std::uint64_t buffer_B_ = 0;
  Time_ps started_ps_ = 0;
  bool started_ = false;
};

}  // namespace weft::workload
