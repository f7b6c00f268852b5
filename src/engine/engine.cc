#include "engine/engine.h"

#include "base/check.h"

namespace weft::engine {

namespace {
constexpr std::uint64_t kWindowsBetweenProgress = 4096;
}

Engine::Engine(std::uint32_t domain_count)
    : mail_(std::size_t{domain_count} * domain_count), next_events_(domain_count) {
  for (std::uint32_t i = 0; i < domain_count; ++i) domains_.push_back(std::make_unique<Domain>());
  for (MailRoute& route : mail_) route.turn = &mail_turn_;
}

Engine::~Engine() {
  dismiss_threads();
}

Channel& Engine::connect(std::uint32_t source_domain, std::uint32_t destination_domain, std::uint32_t destination_node,
                         Time_ps latency_ps, Inbox inbox) {
  WEFT_CHECK(latency_ps > 0, "a link needs a delay above zero");
  window_ps_ = std::min(window_ps_, latency_ps);
  channels_.push_back(std::make_unique<Channel>(domain(source_domain), domain(destination_domain), destination_node,
                                                inbox, &mail_[source_domain * domain_count() + destination_domain]));
  return *channels_.back();
}

RunEnd Engine::run(Time_ps deadline_ps, std::uint32_t threads, const std::atomic<bool>* cancel,
                   const std::function<void(Time_ps)>& progress) {
  call_ = {deadline_ps, cancel, &progress};
  if (threads > 1 && domain_count() > 1) {
    run_threads(std::min(threads, domain_count()));
  } else {
    run_serial();
  }
  call_ = {};
  return end_;
}

bool Engine::open_window(Time_ps start_ps) {
  const bool wanted = progress_wanted_ != nullptr && progress_wanted_->load(std::memory_order_relaxed);
  if (++windows_ % kWindowsBetweenProgress == 0 || wanted) {
    if (*call_.progress) (*call_.progress)(now_ps_);
    if (call_.cancel != nullptr && call_.cancel->load(std::memory_order_relaxed)) {
      end_ = RunEnd::kCancelled;
      return false;
    }
  }
  if (start_ps == kNever_ps) {
    end_ = RunEnd::kIdle;
    return false;
  }
  if (start_ps >= call_.deadline_ps) {
    end_ = RunEnd::kDeadline;
    return false;
  }
  now_ps_ = start_ps;
  check_context().time_ps = start_ps;
  Time_ps length_ps = window_ps_ == kNever_ps ? kMicrosecond_ps : std::max<Time_ps>(1, window_ps_ / window_divisor_);
  window_end_ps_ = std::min(start_ps + length_ps, call_.deadline_ps);
  return true;
}

void Engine::run_serial() {
  while (open_window(next_wake_ps())) {
    for (auto& each : domains_) each->run_window(window_end_ps_);
    if (domain_count() == 1) continue;
    for (std::uint32_t d = 0; d < domain_count(); ++d) deliver_mail(d, mail_turn_);
  }
}

void Engine::deliver_mail(std::uint32_t destination, std::uint32_t turn) {
  for (std::uint32_t source = 0; source < domain_count(); ++source) {
    Mailbox& box = mail_[source * domain_count() + destination].boxes[turn];
    if (!box.letters.empty()) deliver(box);
  }
}

// One window of one domain: first the mail of the window before, which nobody writes any more.
void Engine::run_domain(std::uint32_t d) {
  deliver_mail(d, 1 - mail_turn_);
  domains_[d]->run_window(window_end_ps_);
  Time_ps next_ps = domains_[d]->next_wake_ps();
  for (std::uint32_t to = 0; to < domain_count(); ++to)
    next_ps = std::min(next_ps, mail_[d * domain_count() + to].written().first_ps);
  next_events_[d].time_ps = next_ps;
}

void Engine::work(std::uint32_t t) {
  const auto threads = static_cast<std::uint32_t>(threads_.size() + 1);
  while (open_) {
    check_context() = {now_ps_, seed_};  // one for each thread
    for (std::uint32_t d = t; d < domain_count(); d += threads) run_domain(d);
    barrier_->arrive([this] {
      Time_ps next_ps = kNever_ps;
      for (const NextEvent& next : next_events_) next_ps = std::min(next_ps, next.time_ps);
      mail_turn_ = 1 - mail_turn_;
      open_ = open_window(next_ps);
    });
  }
}

void Engine::wait_for_runs(std::uint32_t t) {
  for (std::uint32_t seen = 0;;) {
    runs_.wait(seen, std::memory_order_acquire);
    seen = runs_.load(std::memory_order_acquire);
    if (dismissed_) return;
    work(t);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_one();
  }
}

void Engine::dismiss_threads() {
  if (threads_.empty()) return;
  dismissed_ = true;
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
  threads_.clear();
  dismissed_ = false;
  runs_.store(0, std::memory_order_relaxed);
}

void Engine::run_threads(std::uint32_t threads) {
  open_ = open_window(next_wake_ps());
  if (!open_) return;
  if (threads_.size() + 1 != threads) {
    dismiss_threads();
    barrier_ = std::make_unique<WindowBarrier>(threads, std::thread::hardware_concurrency() >= threads);
    threads_.resize(threads - 1);
    for (std::uint32_t t = 1; t < threads; ++t) threads_[t - 1] = std::jthread([this, t] { wait_for_runs(t); });
  }
  seed_ = check_context().seed;
  working_.store(threads - 1, std::memory_order_relaxed);
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
  work(0);
  for (std::uint32_t left = working_.load(std::memory_order_acquire); left != 0;
       left = working_.load(std::memory_order_acquire))
    working_.wait(left, std::memory_order_acquire);
  // The mail of the last window.
  for (std::uint32_t d = 0; d < domain_count(); ++d) deliver_mail(d, 1 - mail_turn_);
}

}  // namespace weft::engine
