#include "workload/perftest/latency_program.h"

#include "base/check.h"

namespace weft::workload {

LatencyProgram::LatencyProgram(const PerftestOptions& options, const PerftestSide& side, std::uint64_t size_B,
                               bool client)
    : options_(options),
      side_(side),
      size_B_(size_B),
      client_(client),
      phase_(client ? Phase::kPost : Phase::kAwaitPeer) {
  posted_ps_.reserve(options.iterations);
}

void LatencyProgram::start(Time_ps at_ps) {
  start_ps_ = at_ps;
  if (options_.duration_s > 0) stop_ps_ = at_ps + options_.duration_s * kSecond_ps;
  program_ = side_.end.start(*this, at_ps);
  side_.end.host->slow_interrupts(program_, side_.end.interrupt_delay_ps);
  if (options_.verb == PerftestVerb::kWrite) side_.end.host->watch(program_, *side_.end.device, side_.key);
  if (options_.verb == PerftestVerb::kSend) {
    for (std::uint32_t i = 0; i < options_.rx_depth; ++i) post_receive();
  }
}

void LatencyProgram::post_receive() {
  nic::ReceiveRequest receive;
  receive.va = side_.va;
  receive.lkey = side_.key;
  receive.length_B = static_cast<std::uint32_t>(side_.stride_B);
  side_.end.device->post_receive(side_.qps[0], receive);  // full after an earlier size: enough are posted then
}

bool LatencyProgram::over(Time_ps now_ps) const {
  return options_.duration_s > 0 ? client_ && now_ps >= stop_ps_ : sent_ >= options_.iterations;
}

Time_ps LatencyProgram::step(Time_ps now_ps) {
  if (done_) return kNever_ps;
  switch (phase_) {
    case Phase::kAwaitPeer:
      return await_peer(now_ps);
    case Phase::kPost:
      return post(now_ps);
    case Phase::kAwaitCompletion:
      return await_completion(now_ps);
  }
  return kNever_ps;
}

void LatencyProgram::trace_post(Time_ps now_ps, Time_ps doorbell_ps) {
  trace_->add(nic::Stage::kAway, now_ps);
  if (client_) {
    if (!trace_->spans().empty() && chains_.size() < kMostChains) chains_.push_back(trace_->spans());
    trace_->begin(now_ps);
  }
  trace_->expect_post(client_);
  trace_->add(nic::Stage::kPost, doorbell_ps);
}

void LatencyProgram::trace_found(Time_ps visible_ps, Time_ps now_ps, Time_ps until_ps) {
  if (trace_->is_at_program()) {
    trace_->add(nic::Stage::kJitter, visible_ps);  // an entry is never seen before the one ahead of it
  } else {
    trace_->settle(visible_ps);
  }
  if (ping_pong() && awaits_from_ps_ > visible_ps) trace_->add(nic::Stage::kOwnCompletion, awaits_from_ps_);
  trace_->add(nic::Stage::kAway, now_ps);
  trace_->add(nic::Stage::kPoll, now_ps + side_.end.host->model().poll_hit_ps);
  trace_->add(nic::Stage::kPostReceive, until_ps);
}

bool LatencyProgram::reap(std::uint32_t cq_index, Time_ps now_ps) {
  nic::CompletionQueue& cq = side_.end.device->cq(cq_index);
  const nic::Completion* completion = cq.peek(now_ps);
  if (completion == nullptr) return false;
  reaped_visible_ps_ = completion->visible_ps;
  if (completion->status != nic::WcStatus::kSuccess) {
    failure_ = describe_failure(*completion);
    done_ = true;
  }
  cq.pop();
  return true;
}

Time_ps LatencyProgram::await_peer(Time_ps now_ps) {
  host::Host& host = *side_.end.host;
  if (options_.verb == PerftestVerb::kWrite) {
    if (written_ps_.size() <= heard_) return kNever_ps;
    if (written_ps_[heard_] > now_ps) return host.cpu_ps(written_ps_[heard_], program_);
  } else {
    if (!reap(side_.receive_cq, now_ps)) return host.wait(program_, *side_.end.device, side_.receive_cq);
    if (done_) return kNever_ps;
    post_receive();
  }
  Time_ps seen_ps = now_ps + host.model().poll_hit_ps;
  if (options_.verb == PerftestVerb::kSend) seen_ps += host.model().post_recv_ps;
  if (trace_ != nullptr)
    trace_found(options_.verb == PerftestVerb::kWrite ? written_ps_[heard_] : reaped_visible_ps_, now_ps, seen_ps);
  ++heard_;
  // The client's last answer ends its run; the server still has to give one.
  if (client_ && over(now_ps)) {
    done_ = true;
    return kNever_ps;
  }
  phase_ = Phase::kPost;
  return host.cpu_ps(seen_ps, program_);
}

Time_ps LatencyProgram::post(Time_ps now_ps) {
  const host::HostModel& cpu = side_.end.host->model();
  posted_ps_.push_back(now_ps);
  ++sent_;
  nic::SendRequest request = perftest_request(options_, side_, 0, size_B_, 0);
  Time_ps doorbell_ps = now_ps + cpu.post_wqe_ps + cpu.doorbell_ps;
  if (trace_ != nullptr) trace_post(now_ps, doorbell_ps);
  bool taken = side_.end.device->post_send(side_.qps[0], request, doorbell_ps);
  WEFT_CHECK(taken, "one request at a time always fits");
  phase_ = Phase::kAwaitCompletion;
  return side_.end.host->cpu_ps(doorbell_ps, program_);
}

Time_ps LatencyProgram::await_completion(Time_ps now_ps) {
  host::Host& host = *side_.end.host;
  if (!reap(side_.send_cq, now_ps)) return host.wait(program_, *side_.end.device, side_.send_cq);
  if (done_) return kNever_ps;
  ++reaped_;
  if (options_.duration_s > 0) {
    Time_ps margin_ps = options_.margin_s * kSecond_ps;
    if (now_ps >= start_ps_ + margin_ps && now_ps < stop_ps_ - margin_ps) ++counted_;
  }
  Time_ps next_ps = host.cpu_ps(now_ps + host.model().poll_hit_ps, program_);
  if (!ping_pong()) {
    if (trace_ != nullptr) trace_found(reaped_visible_ps_, now_ps, now_ps + host.model().poll_hit_ps);
    phase_ = Phase::kPost;
    done_ = over(now_ps);
  } else {
    phase_ = Phase::kAwaitPeer;
    awaits_from_ps_ = next_ps;
    done_ = !client_ && over(now_ps);
  }
  return done_ ? kNever_ps : next_ps;
}

std::vector<Time_ps> LatencyProgram::samples_ps() const {
  std::vector<Time_ps> samples;
  Time_ps divisor = ping_pong() ? 2 : 1;
  for (std::size_t i = 1; i < posted_ps_.size(); ++i) samples.push_back((posted_ps_[i] - posted_ps_[i - 1]) / divisor);
  return samples;
}

}  // namespace weft::workload
