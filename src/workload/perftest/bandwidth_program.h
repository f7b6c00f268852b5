// The two loops of perftest's bandwidth tests: post until the send queue is full, poll up to 16 completions, start
// over; and for SEND the receiver that polls and posts again. Every call costs CPU time from the host model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nic/record/message_trace.h"
#include "spec/perftest_options.h"
#include "spec/perftest_result.h"
#include "workload/connection.h"

namespace weft::workload {

// One end's view of its queue pairs and buffers.
struct PerftestSide {
  Endpoint end;
  std::uint32_t send_cq = 0;
  std::uint32_t receive_cq = 0;
  std::vector<std::uint32_t> qps;
  std::vector<std::uint32_t> remote_qps;
  std::uint32_t remote_port = 0;
  std::uint32_t key = 0;  // of the local buffer
  std::uint64_t va = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote_va = 0;
  std::uint64_t stride_B = 0;  // buffer of one QP
};

// The work request of `options` for the n-th message of QP number `qp` of a side.
nic::SendRequest perftest_request(const PerftestOptions& options, const PerftestSide& side, std::size_t qp,
                                  std::uint64_t size_B, std::uint64_t message);
inline constexpr std::uint64_t kCycleBuffer_B = 4096;  // perftest's: a page
// "Completion with error at client …" in perftest's words.
std::string describe_failure(const nic::Completion& completion);

class BandwidthSender final : public host::Program {
 public:
  BandwidthSender(const PerftestOptions& options, const PerftestSide& side, std::uint64_t size_B);
  ~BandwidthSender() override { side_.end.host->stop(program_); }

  void start(Time_ps at_ps);
  // One of its messages.
  void follow(nic::MessageTrace& trace);
  const std::vector<nic::Span>& traced_spans() const { return traced_spans_; }
  Time_ps step(Time_ps now_ps) override;
  bool done() const { return done_; }
  const std::string& failure() const { return failure_; }
  BwMeasure measure() const;
  // Of its CPU: what posting and polling took, and how much of that others made of it.
  Time_ps cpu_ps() const { return cpu_ps_; }
  Time_ps contention_ps() const { return contention_ps_; }
  // Of its port: when the measured stretch began, and when it was over.
  const nic::Counters& counters_at_start() const { return counters_at_start_; }
  const nic::Counters& counters_at_end() const { return counters_at_end_; }
  // Bytes that left in the measured stretch of a test with -D; they are counted when their completion is polled.
  std::int64_t sent_B() const { return sent_at_end_B_ - sent_at_start_B_; }
  std::uint64_t posted() const { return total_posted_; }
  std::uint64_t iterations() const { return options_.duration_s > 0 ? counted_ : options_.iterations; }

 private:
  struct QpCount {
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
  };
  bool may_post(std::size_t qp) const;
  bool burst_goes_on(Time_ps now_ps);
  Time_ps post(std::size_t qp, Time_ps now_ps);
  Time_ps poll(Time_ps now_ps);
  // When the CPU has done that much; without others it would take `quiet_ps`.
  Time_ps spend(Time_ps now_ps, Time_ps cost_ps, Time_ps quiet_ps);
  bool all_posted(const QpCount& count, Time_ps now_ps) const;
  void watch_stretch(Time_ps now_ps);
  std::int64_t sent_so_far_B() const;
  void find_peak(BwMeasure& measure) const;

  const PerftestOptions& options_;
  const PerftestSide& side_;
  std::uint64_t size_B_;
  std::uint32_t program_ = host::kNoProgram;
  std::vector<QpCount> counts_;
  std::size_t turn_ = 0;
  std::uint64_t total_posted_ = 0;
  std::uint64_t total_completed_ = 0;
  std::vector<Time_ps> posted_ps_, completed_ps_;  // by message, as perftest keeps them
  Time_ps start_ps_ = 0, stop_ps_ = kNever_ps;     // -D
  std::uint64_t counted_ = 0;
  Time_ps burst_interval_ps_ = 0, next_burst_ps_ = 0;  // --rate_limit
  std::uint32_t burst_left_ = 0;
  Time_ps last_completed_ps_ = 0;
  Time_ps cpu_ps_ = 0, contention_ps_ = 0;
  nic::Counters counters_at_start_, counters_at_end_;
  std::int64_t sent_at_start_B_ = 0, sent_at_end_B_ = 0;  // -D
  enum class Stretch : std::uint8_t { kAhead, kOpen, kOver } stretch_ = Stretch::kAhead;
  nic::MessageTrace* trace_ = nullptr;  // null: nobody asked
  std::uint64_t traced_ = 0;            // the message, counted from 1, of the first queue pair
  std::vector<nic::Span> traced_spans_;
  bool done_ = false;
  std::string failure_;
};

class BandwidthReceiver final : public host::Program {
 public:
  BandwidthReceiver(const PerftestOptions& options, const PerftestSide& side);
  ~BandwidthReceiver() override { side_.end.host->stop(program_); }

  // Fills every receive queue and starts polling.
  void start(Time_ps at_ps);
  Time_ps step(Time_ps now_ps) override;

 private:
  void post(std::size_t qp);

  const PerftestSide& side_;
  std::uint32_t program_ = host::kNoProgram;
  std::vector<std::uint32_t> free_;  // receives to post again, by QP
};

}  // namespace weft::workload
