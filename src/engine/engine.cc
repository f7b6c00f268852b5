#include "engine/engine.h"

#include "base/check.h"

namespace weft::engine {

namespace {
constexpr std::uint64_t kWindowsBetweenProgress = 4096;
constexpr Time_ps kCancelled_ps = -1;  // in place of the time of the next event, so that all engines stop
}  // namespace

Engine::Engine(std::uint32_t domain_count, Part part)
    : domains_(domain_count),
      first_(part.first),
      end_domain_(part.first + std::min(part.count, domain_count - part.first)),
      mail_(std::size_t{domain_count} * domain_count),
      next_events_(domain_count) {
  WEFT_CHECK(first_ < end_domain_, "an engine has at least one domain");
  for (std::uint32_t d = first_; d < end_domain_; ++d) domains_[d] = std::make_unique<Domain>();
  for (std::uint32_t source = 0; source < domain_count; ++source) {
    for (std::uint32_t destination = 0; destination < domain_count; ++destination) {
      MailRoute& route = mail_[source * domain_count + destination];
      route.turn = &mail_turn_;
      route.source = domains_[source].get();
    }
  }
}

Engine::~Engine() {
  dismiss_threads();
}

LinkEnds Engine::connect(std::uint32_t source_domain, std::uint32_t destination_domain, std::uint32_t destination_node,
                         Time_ps latency_ps, Inbox inbox) {
  WEFT_CHECK(latency_ps > 0, "a link needs a delay above zero");
  window_ps_ = std::min(window_ps_, latency_ps);
  LinkEnds ends;
  if (has_domain(destination_domain)) {
    inlets_.push_back(std::make_unique<Inlet>(domain(destination_domain), destination_node, inbox));
    ends.inlet = inlets_.back().get();
  }
  if (source_domain == destination_domain) {
    if (ends.inlet != nullptr) ends.outlet = Outlet(*ends.inlet);
    return ends;
  }
  MailRoute& route = mail_[source_domain * domain_count() + destination_domain];
  route.inlets.push_back(ends.inlet);
  if (has_domain(source_domain)) ends.outlet = Outlet(route, static_cast<std::uint32_t>(route.inlets.size() - 1));
  return ends;
}

RunEnd Engine::run(Time_ps deadline_ps, std::uint32_t threads, const std::atomic<bool>* cancel,
                   const std::function<void(Time_ps)>& progress) {
  call_ = {deadline_ps, cancel, &progress};
  const std::uint32_t domains = end_domain_ - first_;
  if (threads > 1 && domains > 1) {
    run_threads(std::min(threads, domains));
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
    if (exchange_ == nullptr && is_cancelled()) start_ps = kCancelled_ps;
  }
  if (start_ps == kCancelled_ps) {
    end_ = RunEnd::kCancelled;
    return false;
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
  while (open_window(agree(next_wake_ps()))) {
    for (std::uint32_t d = first_; d < end_domain_; ++d) domains_[d]->run_window(window_end_ps_);
    if (end_domain_ - first_ == 1) continue;
    for (std::uint32_t d = first_; d < end_domain_; ++d) deliver_mail(d, mail_turn_);
  }
}

Time_ps Engine::agree(Time_ps next_ps) {
  if (exchange_ == nullptr) return next_ps;
  sent_.clear();
  received_.clear();
  for (std::uint32_t source = first_; source < end_domain_; ++source) {
    for (std::uint32_t destination = 0; destination < domain_count(); ++destination) {
      Mailbox& box = mail_[source * domain_count() + destination].written();
      if (has_domain(destination) || box.entries.empty()) continue;
      next_ps = std::min(next_ps, box.first_ps);
      append_bytes(box, sent_.emplace_back(Parcel{source, destination, {}}).bytes);
      box.clear();
    }
  }
  if (is_cancelled()) next_ps = kCancelled_ps;
  next_ps = exchange_->meet(next_ps, sent_, received_);
  for (const Parcel& parcel : received_) {
    WEFT_CHECK(parcel.source < domain_count() && parcel.destination < domain_count() && !has_domain(parcel.source) &&
                   has_domain(parcel.destination),
               "mail from a domain of another engine to one of this engine");
    MailRoute& route = mail_[parcel.source * domain_count() + parcel.destination];
    WEFT_CHECK(read_bytes(parcel.bytes, route.written()), "mail of another engine is whole");
    route.deliver(route.written());
  }
  return next_ps;
}

void Engine::deliver_mail(std::uint32_t destination, std::uint32_t turn) {
  for (std::uint32_t source = first_; source < end_domain_; ++source) {
    MailRoute& route = mail_[source * domain_count() + destination];
    if (!route.boxes[turn].entries.empty()) route.deliver(route.boxes[turn]);
  }
}

// One window of one domain: first the mail of the window before, which nobody writes any more.
void Engine::run_domain(std::uint32_t d) {
  deliver_mail(d, 1 - mail_turn_);
  domains_[d]->run_window(window_end_ps_);
  Time_ps next_ps = domains_[d]->next_wake_ps();
  for (std::uint32_t to = first_; to < end_domain_; ++to)
    next_ps = std::min(next_ps, mail_[d * domain_count() + to].written().first_ps);
  next_events_[d].time_ps = next_ps;
}

void Engine::work(std::uint32_t t) {
  const auto threads = static_cast<std::uint32_t>(threads_.size() + 1);
  while (open_) {
    check_context() = {now_ps_, seed_};  // one for each thread
    for (std::uint32_t d = first_ + t; d < end_domain_; d += threads) run_domain(d);
    barrier_->arrive([this] {
      Time_ps next_ps = kNever_ps;
      for (const NextEvent& next : next_events_) next_ps = std::min(next_ps, next.time_ps);
      next_ps = agree(next_ps);
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
  open_ = open_window(agree(next_wake_ps()));
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
  for (std::uint32_t d = first_; d < end_domain_; ++d) deliver_mail(d, 1 - mail_turn_);
}

}  // namespace weft::engine
