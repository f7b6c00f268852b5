// Plays a list of flows: every flow has a queue pair of its own, every endpoint one program that posts its flows when
// they are due, message after message, and polls one completion queue. Posting and polling cost CPU time from the host
// model; a flow ends when its last completion is visible, polled or not. Buffers have no bytes. Endpoints that belong
// to another engine have their numbers here, so that both sides agree, and nothing else.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "workload/connection.h"
#include "workload/flow_options.h"
#include "workload/flow_result.h"
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
  // Payload of a full packet of this flow.
  std::uint32_t mtu_B(const FlowRow& row) const { return mtu_B(row.source, row.destination); }

 private:
  static constexpr std::uint32_t kNoFlow = 0xffffffff;

  // What a flow needs while it runs. Its sender's program changes all of it but `receives`, its receiver's only that.
  struct Progress {
    std::uint64_t messages = 0;
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t receives = 0;  // posted at the receiver
    std::uint32_t remote_qpn = 0;
    std::uint32_t message_B = 0;
    std::uint32_t next = kNoFlow;  // in the list of flows that may post
    bool may_post = false;
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

    std::vector<std::uint32_t> sends;  // flows, in order of start
    std::uint32_t flows = 0;           // in either direction
    std::uint32_t cq = 0, cq_entries = 0;
    std::uint32_t key = 0;
    std::uint64_t va = 0;

   private:
    void append(std::uint32_t flow);
    Time_ps post(Time_ps now_ps);
    Time_ps poll(Time_ps now_ps);
    void take(const nic::Completion& completion);
    void fail(FlowRow& row, const nic::Completion& completion);

    FlowRun& run_;
    const Endpoint& end_;
    std::uint32_t program_ = host::kNoProgram;
    std::size_t next_ = 0;                            // of `sends`
    std::uint32_t first_ = kNoFlow, last_ = kNoFlow;  // the flows that may post, in turn
  };

  std::uint32_t mtu_B(std::uint32_t source, std::uint32_t destination) const;
  void plan();
  void connect(std::uint32_t flow);

  FlowOptions options_;
  std::vector<Endpoint> endpoints_;
  std::vector<FlowRow> rows_;
  std::vector<Progress> progress_;
  std::deque<Player> players_;  // one for each endpoint
  std::uint64_t buffer_B_ = 0;
  Time_ps started_ps_ = 0;
  bool started_ = false;
};

}  // namespace weft::workload
