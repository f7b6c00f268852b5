#include "workload/perftest/bandwidth_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace weft::workload {

namespace {

constexpr std::uint32_t kPollBatch = 16;  // perftest's CTX_POLL_BATCH
constexpr std::uint64_t kCacheLine_B = 64;

nic::WrOpcode opcode_of(const PerftestOptions& options) {
  switch (options.verb) {
    case PerftestVerb::kWrite:
      return nic::WrOpcode::kWrite;
    case PerftestVerb::kRead:
      return nic::WrOpcode::kRead;
    case PerftestVerb::kSend:
      return nic::WrOpcode::kSend;
    case PerftestVerb::kAtomic:
      break;
  }
  return options.atomic == AtomicKind::kFetchAdd ? nic::WrOpcode::kFetchAdd : nic::WrOpcode::kCompareSwap;
}

}  // namespace

nic::SendRequest perftest_request(const PerftestOptions& options, const PerftestSide& side, std::size_t qp,
                                  std::uint64_t size_B, std::uint64_t message) {
  // Small messages of a bandwidth test walk through one page, a cache line at a time, as perftest's do.
  std::uint64_t step_B = (size_B + kCacheLine_B - 1) / kCacheLine_B * kCacheLine_B;
  std::uint64_t offset_B = 0;
  if (!options.latency && size_B > 0 && size_B <= kCycleBuffer_B / 2)
    offset_B = message % (kCycleBuffer_B / step_B) * step_B;
  nic::SendRequest request;
  request.wr_id = qp;
  request.opcode = opcode_of(options);
  request.length_B = static_cast<std::uint32_t>(size_B);
  request.inline_data = size_B <= options.inline_B && !nic::needs_response(request.opcode);
  request.local_va = side.va + qp * side.stride_B + offset_B;
  request.lkey = side.key;
  request.remote_va = side.remote_va + qp * side.stride_B + offset_B;
  request.rkey = side.remote_key;
  request.swap_add = 1;
  request.dest_port = side.remote_port;
  request.dest_qp = side.remote_qps[qp];
  request.qkey = kWorkloadQkey;
  return request;
}

std::string describe_failure(const nic::Completion& completion) {
  return fmt::format("Completion with error: status {} ({}), vendor syndrome 0x{:02x}",
                     static_cast<int>(completion.status), nic::name(completion.status), completion.vendor_error);
}

BandwidthSender::BandwidthSender(const PerftestOptions& options, const PerftestSide& side, std::uint64_t size_B)
    : options_(options), side_(side), size_B_(size_B), counts_(side.qps.size()) {
  if (options_.duration_s == 0) {
    posted_ps_.reserve(options_.iterations * side.qps.size());
    completed_ps_.resize(options_.iterations * side.qps.size());
  }
}

// One from the middle of the test, of those that have a completion of their own; with -D it is chosen then.
void BandwidthSender::follow(nic::MessageTrace& trace) {
  trace_ = &trace;
  if (options_.duration_s > 0) return;
  traced_ =
      std::min<std::uint64_t>((options_.iterations / 2 / options_.cq_mod + 1) * options_.cq_mod, options_.iterations);
}

void BandwidthSender::start(Time_ps at_ps) {
  start_ps_ = at_ps;
  if (options_.rate_limit > 0) burst_interval_ps_ = burst_interval_ps(options_, size_B_);
  if (options_.duration_s > 0) stop_ps_ = at_ps + options_.duration_s * kSecond_ps;
  program_ = side_.end.start(*this, at_ps);
}

bool BandwidthSender::all_posted(const QpCount& count, Time_ps now_ps) const {
  return options_.duration_s > 0 ? now_ps >= stop_ps_ : count.posted >= options_.iterations;
}

bool BandwidthSender::may_post(std::size_t qp) const {
  const QpCount& count = counts_[qp];
  bool room = count.posted + options_.post_list <= count.completed + options_.tx_depth;
  return room && (options_.duration_s > 0 || count.posted < options_.iterations);
}

// With a rate limit a burst is posted when its time has come.
bool BandwidthSender::burst_goes_on(Time_ps now_ps) {
  if (burst_interval_ps_ == 0) return true;
  if (burst_left_ == 0) {
    if (now_ps < next_burst_ps_) return false;
    next_burst_ps_ = now_ps + burst_interval_ps_;
    burst_left_ = options_.burst_size;
  }
  burst_left_ -= std::min(burst_left_, options_.post_list);
  return true;
}

Time_ps BandwidthSender::step(Time_ps now_ps) {
  if (done_) return kNever_ps;
  if (total_posted_ == 0) {
    nic::Bond::count_idle_from(*side_.end.device, now_ps);
    counters_at_start_ = nic::Bond::counters_of(*side_.end.device, side_.qps);
  }
  if (options_.duration_s > 0) watch_stretch(now_ps);
  for (; turn_ < counts_.size(); ++turn_) {
    if (may_post(turn_) && now_ps < stop_ps_ && burst_goes_on(now_ps)) return post(turn_, now_ps);
  }
  turn_ = 0;
  return poll(now_ps);
}

// With -D completions count between the margins, and so does what the port does.
void BandwidthSender::watch_stretch(Time_ps now_ps) {
  const Time_ps margin_ps = options_.margin_s * kSecond_ps;
  if (stretch_ == Stretch::kAhead && now_ps >= start_ps_ + margin_ps) {
    stretch_ = Stretch::kOpen;
    counters_at_start_ = nic::Bond::counters_of(*side_.end.device, side_.qps);
    sent_at_start_B_ = sent_so_far_B();
  }
  if (stretch_ == Stretch::kOpen && now_ps >= stop_ps_ - margin_ps) {
    stretch_ = Stretch::kOver;
    counters_at_end_ = nic::Bond::counters_of(*side_.end.device, side_.qps);
    sent_at_end_B_ = sent_so_far_B();
  }
}

// Whole messages and the packets of the present one.
std::int64_t BandwidthSender::sent_so_far_B() const {
  std::int64_t sent_B = 0;
  for (std::size_t qp = 0; qp < side_.qps.size(); ++qp) {
    const nic::QueuePair& pair = side_.end.device->qp(side_.qps[qp]);
    const std::uint64_t whole = counts_[qp].posted - (pair.req.tail - pair.req.tx);
    const std::uint64_t part_B = std::uint64_t{pair.req.tx_packet} * pair.attributes.path_mtu_B;
    sent_B += static_cast<std::int64_t>(whole * size_B_ + std::min(part_B, size_B_));
  }
  return sent_B;
}

Time_ps BandwidthSender::post(std::size_t qp, Time_ps now_ps) {
  const host::HostModel& cpu = side_.end.host->model();
  QpCount& count = counts_[qp];
  Time_ps doorbell_ps = now_ps + options_.post_list * cpu.post_wqe_ps + cpu.doorbell_ps;
  for (std::uint32_t i = 0; i < options_.post_list; ++i) {
    nic::SendRequest request = perftest_request(options_, side_, qp, size_B_, count.posted);
    ++count.posted;
    request.signaled =
        count.posted % options_.cq_mod == 0 || (options_.duration_s == 0 && count.posted == options_.iterations);
    if (options_.duration_s == 0) posted_ps_.push_back(now_ps);
    if (options_.duration_s > 0 && traced_ == 0 && qp == 0 && request.signaled && 2 * now_ps >= start_ps_ + stop_ps_)
      traced_ = count.posted;
    if (trace_ != nullptr && qp == 0 && count.posted == traced_) {
      trace_->begin(now_ps);
      trace_->add(nic::Stage::kPost, doorbell_ps);
      trace_->expect_post(true);
    }
    bool taken = side_.end.device->post_send(side_.qps[qp], request, doorbell_ps);
    WEFT_CHECK(taken, "the send queue has room for tx_depth");
  }
  total_posted_ += options_.post_list;
  const host::HostModel& quiet = side_.end.host->quiet_model();
  return spend(now_ps, doorbell_ps + cpu.post_loop_ps - now_ps,
               options_.post_list * quiet.post_wqe_ps + quiet.doorbell_ps + quiet.post_loop_ps);
}

Time_ps BandwidthSender::spend(Time_ps now_ps, Time_ps cost_ps, Time_ps quiet_ps) {
  const Time_ps end_ps = side_.end.host->cpu_ps(now_ps + cost_ps);
  cpu_ps_ += end_ps - now_ps;
  contention_ps_ += end_ps - now_ps - quiet_ps;
  return end_ps;
}

Time_ps BandwidthSender::poll(Time_ps now_ps) {
  const host::HostModel& cpu = side_.end.host->model();
  nic::CompletionQueue& cq = side_.end.device->cq(side_.send_cq);
  std::uint32_t found = 0;
  while (found < kPollBatch) {
    const nic::Completion* completion = cq.peek(now_ps);
    if (completion == nullptr) break;
    ++found;
    if (completion->status != nic::WcStatus::kSuccess) {
      failure_ = describe_failure(*completion);
      done_ = true;
      return kNever_ps;
    }
    QpCount& count = counts_[completion->wr_id];
    const Time_ps visible_ps = completion->visible_ps;
    const bool on_traced_qp = completion->wr_id == 0;
    cq.pop();
    std::uint64_t fresh = std::min<std::uint64_t>(options_.cq_mod, count.posted - count.completed);
    count.completed += fresh;
    if (trace_ != nullptr && on_traced_qp && count.completed == traced_ && trace_->is_at_program()) {
      trace_->add(nic::Stage::kJitter, visible_ps);  // an entry is never seen before the one ahead of it
      trace_->add(nic::Stage::kPolled, now_ps);
      trace_->add(nic::Stage::kPoll, now_ps + found * cpu.poll_hit_ps);
      traced_spans_ = trace_->spans();
    }
    total_completed_ += fresh;
    last_completed_ps_ = now_ps;
    if (options_.duration_s == 0) {
      completed_ps_[total_completed_ - 1] = now_ps;
    } else {
      Time_ps margin_ps = options_.margin_s * kSecond_ps;
      if (now_ps >= start_ps_ + margin_ps && now_ps < stop_ps_ - margin_ps) counted_ += fresh;
    }
  }
  bool posting = false;
  bool finished = true;
  for (std::size_t qp = 0; qp < counts_.size(); ++qp) {
    posting = posting || (may_post(qp) && now_ps < stop_ps_);
    finished = finished && all_posted(counts_[qp], now_ps) &&
               (options_.duration_s > 0 || counts_[qp].completed >= counts_[qp].posted);
  }
  if (finished) {
    done_ = true;
    if (options_.duration_s == 0) counters_at_end_ = nic::Bond::counters_of(*side_.end.device, side_.qps);
    return kNever_ps;
  }
  const host::HostModel& quiet = side_.end.host->quiet_model();
  if (found > 0) return spend(now_ps, found * cpu.poll_hit_ps, found * quiet.poll_hit_ps);
  // A burst that is not due yet is waited for with empty polls: the next completion or its time ends them.
  const bool limited = burst_interval_ps_ > 0 && burst_left_ == 0;
  if (posting && limited) {
    const Time_ps due_ps = side_.end.host->cpu_ps(std::max(now_ps + cpu.poll_empty_ps, next_burst_ps_));
    return std::min(due_ps, side_.end.host->wait(program_, *side_.end.device, side_.send_cq));
  }
  if (posting) return spend(now_ps, cpu.poll_empty_ps, quiet.poll_empty_ps);
  return side_.end.host->wait(program_, *side_.end.device, side_.send_cq);
}

BwMeasure BandwidthSender::measure() const {
  BwMeasure measure;
  if (options_.duration_s > 0) {
    measure.messages = counted_;
    measure.elapsed_ps = (options_.duration_s - 2 * options_.margin_s) * kSecond_ps;
    return measure;
  }
  measure.messages = total_completed_;
  measure.elapsed_ps = posted_ps_.empty() ? 0 : last_completed_ps_ - posted_ps_.front();
  if (!options_.no_peak && failure_.empty()) find_peak(measure);
  return measure;
}

// perftest's peak: the stretch of messages i..j with the least time per message from post to completion.
void BandwidthSender::find_peak(BwMeasure& measure) const {
  using Wide = __int128;
  std::uint64_t total = posted_ps_.size();
  for (std::uint64_t i = 0; i < total; i += options_.post_list) {
    for (std::uint64_t j = (i / options_.cq_mod + 1) * options_.cq_mod - 1; j < total; j += options_.cq_mod) {
      if (completed_ps_[j] == 0) continue;
      Time_ps took_ps = completed_ps_[j] - posted_ps_[i];
      std::uint64_t messages = j - i + 1;
      // took / messages < peak, without a division.
      bool better =
          measure.peak_messages == 0 || Wide{took_ps} * measure.peak_messages < Wide{measure.peak_ps} * messages;
      if (better) {
        measure.peak_messages = messages;
        measure.peak_ps = took_ps;
      }
    }
  }
}

BandwidthReceiver::BandwidthReceiver(const PerftestOptions& options, const PerftestSide& side)
    : side_(side), free_(side.qps.size(), options.rx_depth) {}

void BandwidthReceiver::post(std::size_t qp) {
  nic::ReceiveRequest receive;
  receive.wr_id = qp;
  receive.va = side_.va + qp * side_.stride_B;
  receive.lkey = side_.key;
  receive.length_B = static_cast<std::uint32_t>(side_.stride_B);
  bool taken = side_.end.device->post_receive(side_.qps[qp], receive);
  WEFT_CHECK(taken, "the receive queue has room for rx_depth");
}

void BandwidthReceiver::start(Time_ps at_ps) {
  for (std::size_t qp = 0; qp < free_.size(); ++qp) {
    for (; free_[qp] > 0; --free_[qp]) post(qp);
  }
  if (program_ == host::kNoProgram) {
    program_ = side_.end.start(*this, at_ps);
  } else {
    side_.end.host->wake(program_, at_ps);
  }
}

Time_ps BandwidthReceiver::step(Time_ps now_ps) {
  const host::HostModel& cpu = side_.end.host->model();
  nic::CompletionQueue& cq = side_.end.device->cq(side_.receive_cq);
  std::uint32_t found = 0;
  while (found < kPollBatch) {
    const nic::Completion* completion = cq.peek(now_ps);
    if (completion == nullptr) break;
    if (completion->status != nic::WcStatus::kSuccess) return kNever_ps;
    ++found;
    std::size_t qp = completion->wr_id;
    cq.pop();
    post(qp);
  }
  if (found > 0) return side_.end.host->cpu_ps(now_ps + found * (cpu.poll_hit_ps + cpu.post_recv_ps));
  return side_.end.host->wait(program_, *side_.end.device, side_.receive_cq);
}

}  // namespace weft::workload
