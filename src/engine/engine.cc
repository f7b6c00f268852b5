#include "engine/engine.h"

#include <barrier>
#include <thread>

#include "base/check.h"

namespace weft::engine {

namespace {
constexpr std::uint64_t kWindowsBetweenProgress = 4096;
}

Engine::Engine(std::uint32_t domain_count) : post_(std::size_t{domain_count} * domain_count) {
  for (std::uint32_t i = 0; i < domain_count; ++i) domains_.push_back(std::make_unique<Domain>());
}

Channel& Engine::connect(std::uint32_t source_domain, std::uint32_t destination_domain, std::uint32_t destination_node,
                         Time_ps latency_ps, Inbox inbox) {
  WEFT_CHECK(latency_ps > 0, "a link needs a delay above zero");
  window_ps_ = std::min(window_ps_, latency_ps);
  channels_.push_back(std::make_unique<Channel>(domain(source_domain), domain(destination_domain), destination_node,
                                                inbox, &post_[source_domain * domain_count() + destination_domain]));
  return *channels_.back();
}

RunEnd Engine::run(Time_ps deadline_ps, std::uint32_t threads, const std::atomic<bool>* cancel,
                   const std::function<void(Time_ps)>& progress) {
  if (threads > 1 && domain_count() > 1) {
    run_threads(deadline_ps, std::min(threads, domain_count()), cancel, progress);
  } else {
    run_serial(deadline_ps, cancel, progress);
  }
  return end_;
}

bool Engine::open_window(Time_ps deadline_ps, const std::atomic<bool>* cancel,
                         const std::function<void(Time_ps)>& progress) {
  const bool wanted = progress_wanted_ != nullptr && progress_wanted_->load(std::memory_order_relaxed);
  if (++windows_ % kWindowsBetweenProgress == 0 || wanted) {
    if (progress) progress(now_ps_);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      end_ = RunEnd::kCancelled;
      return false;
    }
  }
  Time_ps start_ps = next_wake_ps();
  if (start_ps == kNever_ps) {
    end_ = RunEnd::kIdle;
    return false;
  }
  if (start_ps >= deadline_ps) {
    end_ = RunEnd::kDeadline;
    return false;
  }
  now_ps_ = start_ps;
  check_context().time_ps = start_ps;
  Time_ps length_ps = window_ps_ == kNever_ps ? kMicrosecond_ps : std::max<Time_ps>(1, window_ps_ / window_divisor_);
  window_end_ps_ = std::min(start_ps + length_ps, deadline_ps);
  return true;
}

void Engine::run_serial(Time_ps deadline_ps, const std::atomic<bool>* cancel,
                        const std::function<void(Time_ps)>& progress) {
  while (open_window(deadline_ps, cancel, progress)) {
    for (auto& each : domains_) each->run_window(window_end_ps_);
    for (std::uint32_t d = 0; d < domain_count(); ++d) deliver_mail(d);
  }
}

void Engine::deliver_mail(std::uint32_t destination) {
  for (std::uint32_t source = 0; source < domain_count(); ++source) {
    std::vector<Channel*>& post = post_[source * domain_count() + destination];
    for (Channel* channel : post) channel->empty_mailbox();
    post.clear();
  }
}

void Engine::run_threads(Time_ps deadline_ps, std::uint32_t threads, const std::atomic<bool>* cancel,
                         const std::function<void(Time_ps)>& progress) {
  bool open = open_window(deadline_ps, cancel, progress);
  if (!open) return;
  std::barrier after_run(threads);
  auto next_window = [&]() noexcept { open = open_window(deadline_ps, cancel, progress); };
  std::barrier after_mail(threads, next_window);
  const std::uint64_t seed = check_context().seed;
  auto work = [&, seed](std::uint32_t thread) {
    while (open) {
      check_context() = {now_ps_, seed};  // one for each thread
      for (std::uint32_t d = thread; d < domain_count(); d += threads) domains_[d]->run_window(window_end_ps_);
      after_run.arrive_and_wait();
      for (std::uint32_t d = thread; d < domain_count(); d += threads) deliver_mail(d);
      after_mail.arrive_and_wait();
    }
  };
  std::vector<std::jthread> workers;
  for (std::uint32_t t = 1; t < threads; ++t) workers.emplace_back(work, t);
  work(0);
}

}  // namespace weft::engine
