#include "engine/engine.h"

#include "base/check.h"

namespace weft::engine {

namespace {
constexpr std::uint64_t kWindowsBetweenProgress = 4096;
constexpr std::uint32_t kLooks = 512;  // of a thread that waits for others, before it sleeps
constexpr Time_ps kCancelled_ps = -1;  // in place of the time of the next event, so that all engines stop
}  // namespace

Engine::Engine(std::uint32_t domain_count, Part part)
    : domains_(domain_count),
      first_(part.first),
      end_domain_(part.first + std::min(part.count, domain_count - part.first)),
      mail_(std::size_t{domain_count} * domain_count) {
  WEFT_CHECK(first_ < end_domain_, "an engine has at least one domain");
  for (std::uint32_t d = first_; d < end_domain_; ++d) domains_[d] = std::make_unique<Domain>();
  for (std::uint32_t source = 0; source < domain_count; ++source) {
    for (std::uint32_t destination = 0; destination < domain_count; ++destination) {
      MailRoute& route = mail_[source * domain_count + destination];
      route.source = domains_[source].get();
      route.turn = route.source != nullptr ? &route.source->mail_turn : &mail_turn_;
    }
  }
}

Engine::~Engine() {
  dismiss_threads();
}

LinkEnds Engine::connect(std::uint32_t source_domain, std::uint32_t destination_domain, std::uint32_t destination_node,
                         Time_ps latency_ps, Inbox inbox) {
  WEFT_CHECK(latency_ps > 0, "a link needs a delay above zero");
  WEFT_CHECK(source_domain < domain_count() && destination_domain < domain_count(), "a link joins two domains");
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
  call_ = {deadline_ps, cancel, &progress, 0};
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
  WEFT_CHECK(start_ps >= now_ps_, "time does not run back");
  // Between two calls a command may act where the last window of the first had nothing left to do.
  WEFT_DCHECK(start_ps >= call_.done_ps, "what is due before the end of a window was done in it");
  now_ps_ = start_ps;
  check_context().time_ps = start_ps;
  Time_ps length_ps = window_ps_ == kNever_ps ? kMicrosecond_ps : std::max<Time_ps>(1, window_ps_ / window_divisor_);
  call_.done_ps = window_end_ps_ = std::min(start_ps + length_ps, call_.deadline_ps);
  WEFT_CHECK(window_end_ps_ > start_ps, "a window has a length");
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
  MailRoute* route = &mail_[first_ * domain_count() + destination];
  // Others have written the boxes: all of them are on their way while the first is emptied.
  for (std::uint32_t source = first_; source < end_domain_; ++source)
    __builtin_prefetch(&route[(source - first_) * domain_count()].boxes[turn]);
  for (std::uint32_t source = first_; source < end_domain_; ++source, route += domain_count()) {
    if (!route->boxes[turn].entries.empty()) route->deliver(route->boxes[turn]);
  }
}

void Engine::set_mail_turn(std::uint32_t turn) {
  mail_turn_ = turn;
  for (std::uint32_t d = first_; d < end_domain_; ++d) domains_[d]->mail_turn = turn;
}

// First the mail of the window before, which nobody writes any more.
Time_ps Engine::run_domain(std::uint32_t d, const Window& window) {
  Domain& domain = *domains_[d];
  WEFT_DCHECK(window.end_ps > window.start_ps && window.mail_turn < 2, "a window of this run");
  domain.mail_turn = window.mail_turn;
  domain.mail_ps = kNever_ps;
  deliver_mail(d, 1 - window.mail_turn);
  domain.run_window(window.end_ps);
  const Time_ps next_ps = std::min(domain.next_wake_ps(), domain.mail_ps);
  WEFT_DCHECK(next_ps >= window.end_ps, "what is due in a window was done in it");
  return next_ps;
}

void Engine::work(std::uint32_t t) {
  const auto threads = static_cast<std::uint32_t>(threads_.size() + 1);
  const std::uint32_t first = first_ + t, end = end_domain_;
  WindowBarrier& barrier = *barrier_;
  Window window{now_ps_, window_end_ps_, mail_turn_, true};
  while (window.open) {
    check_context() = {window.start_ps, seed_};  // one for each thread
    Time_ps next_ps = kNever_ps;
    for (std::uint32_t d = first; d < end; d += threads) next_ps = std::min(next_ps, run_domain(d, window));
    window = barrier.arrive(t, next_ps, [this](Time_ps earliest_ps) {
      earliest_ps = agree(earliest_ps);
      mail_turn_ = 1 - mail_turn_;
      const bool open = open_window(earliest_ps);
      return Window{now_ps_, window_end_ps_, mail_turn_, open};
    });
  }
}

void Engine::wait_for_runs(std::uint32_t t) {
  for (std::uint32_t seen = 0;;) {
    wait_while(runs_, seen, looks_);
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
  if (!open_window(agree(next_wake_ps()))) return;
  if (threads_.size() + 1 != threads) {
    dismiss_threads();
    looks_ = std::thread::hardware_concurrency() >= threads ? kLooks : 0;
    barrier_ = std::make_unique<WindowBarrier>(threads, looks_);
    threads_.resize(threads - 1);
    for (std::uint32_t t = 1; t < threads; ++t) threads_[t - 1] = std::jthread([this, t] { wait_for_runs(t); });
  }
  WEFT_CHECK(working_.load(std::memory_order_relaxed) == 0, "threads rest between two runs");
  seed_ = check_context().seed;
  working_.store(threads - 1, std::memory_order_relaxed);
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
  work(0);
  for (std::uint32_t left = working_.load(std::memory_order_acquire); left != 0;
       left = working_.load(std::memory_order_acquire))
    wait_while(working_, left, looks_);
  // The mail of the last window.
  for (std::uint32_t d = first_; d < end_domain_; ++d) deliver_mail(d, 1 - mail_turn_);
  for (const MailRoute& route : mail_)
    WEFT_CHECK(route.boxes[0].entries.empty() && route.boxes[1].entries.empty(), "no mail is left between two runs");
  set_mail_turn(mail_turn_);
}

}  // namespace weft::engine
