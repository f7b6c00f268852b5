// One perftest between two ports: connects, runs each size, gathers the rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spec/perftest_result.h"
#include "workload/perftest/bandwidth_program.h"
#include "workload/perftest/latency_program.h"
#include "workload/perftest/port_account.h"
#include "workload/workload.h"

namespace weft::workload {

class PerftestRun final : public Workload {
 public:
  PerftestRun(PerftestOptions options, const Endpoint& client, const Endpoint& server);
  PerftestRun(const PerftestRun&) = delete;
  PerftestRun& operator=(const PerftestRun&) = delete;

  bool start_phase(Time_ps at_ps) override;
  void finish_phase(bool interrupted) override;
  // Messages are followed, for the budget of one of them. Ports by their ids. Taps on all links tell the trace.
  nic::MessageTrace& follow(std::vector<std::string> port_names);
  // Packets that were lost in the world so far; called between two windows.
  void count_losses(CountLosses losses) { losses_ = std::move(losses); }
  const PerftestOptions& options() const { return options_; }
  const PerftestResult& result() const { return result_; }

 private:
  PerftestSide side(const Endpoint& end, const Endpoint& peer, const Connection& connection, bool client) const;
  void start_bandwidth(Time_ps at_ps, std::uint64_t size_B);
  void start_latency(Time_ps at_ps, std::uint64_t size_B);
  const PerftestSide& payload_side() const { return options_.verb == PerftestVerb::kRead ? server_ : client_; }
  const PerftestSide& receiving_side() const { return options_.verb == PerftestVerb::kRead ? client_ : server_; }
  bool ping_pong() const { return options_.verb == PerftestVerb::kWrite || options_.verb == PerftestVerb::kSend; }
  AccountEnd receiving_end() const { return {receiving_side().end.device, receiving_side().qps.front()}; }
  PortAccount account_of(const BandwidthSender& sender) const;
  void fit_to_stretch(const BandwidthSender& sender, PortAccount& account) const;
  void set_trace(bool on);
  MessageBudget message_of(const PerftestRow& row) const;

  PerftestOptions options_;
  std::vector<std::uint64_t> sizes_B_;
  std::size_t next_size_ = 0;
  nic::Counters before_;  // of the port that sends the payload, when this size began
  Surroundings before_around_;
  CountLosses losses_;
  std::unique_ptr<nic::MessageTrace> trace_;  // null: nobody asked
  std::vector<std::string> port_names_;
  bool tracing_ = false;  // in this phase
  PerftestSide client_, server_;
  PerftestResult result_;
  // Programs of this phase, the client's first.
  std::vector<std::unique_ptr<BandwidthSender>> senders_;
  std::vector<std::unique_ptr<LatencyProgram>> latency_;
  std::unique_ptr<BandwidthReceiver> client_receiver_, server_receiver_;
};

}  // namespace weft::workload
