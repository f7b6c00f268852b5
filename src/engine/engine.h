// Virtual time: advances all domains in windows no longer than the shortest link latency, so that
// nothing sent in a window can be due in it. Idle stretches are skipped. The result does not depend on
// the window's length, the number of domains or the number of threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "engine/domain.h"
#include "engine/exchange.h"
#include "engine/inlet.h"
#include "engine/mailbox.h"
#include "engine/outlet.h"
#include "engine/window_barrier.h"

namespace weft::engine {

enum class RunEnd { kIdle, kDeadline, kCancelled };

// The domains of a world that an engine runs: [first, first + count). The others belong to other engines.
struct Part {
  std::uint32_t first = 0;
  std::uint32_t count = 0xffffffff;  // all that follow
};

class Engine {
 public:
  explicit Engine(std::uint32_t domain_count, Part part = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  Domain& domain(std::uint32_t index) {
    WEFT_DCHECK(index < domains_.size() && domains_[index] != nullptr, "a domain of this engine");
    return *domains_[index];
  }
  bool has_domain(std::uint32_t index) const { return domains_[index] != nullptr; }
  std::uint32_t domain_count() const { return static_cast<std::uint32_t>(domains_.size()); }
  // Formats of the packets of this world; they outlive it.
  void set_formats(const PacketFormats& formats) {
    for (std::uint32_t d = first_; d < end_domain_; ++d) domains_[d]->formats = &formats;
  }
  void set_bytes(const PayloadSource& source) {
    for (std::uint32_t d = first_; d < end_domain_; ++d) domains_[d]->bytes = source;
  }
  // One direction of a link between two nodes. `latency_ps` bounds the window: engines that share a world connect all
  // of its links, in the same order. `destination_node` and `inbox` count where the receiver belongs to this engine.
  LinkEnds connect(std::uint32_t source_domain, std::uint32_t destination_domain, std::uint32_t destination_node,
                   Time_ps latency_ps, Inbox inbox = {});
  // Before the first run: other engines have the other domains.
  void share(Exchange& exchange) { exchange_ = &exchange; }
  void divide_window(std::int64_t divisor) {
    WEFT_CHECK(divisor > 0, "a window is divided into some");
    window_divisor_ = divisor;
  }

  // Runs until nothing is left to do, the next event is at or after `deadline_ps`, or `cancel` is set.
  // `progress` is called now and then, between windows, on one thread.
  RunEnd run(Time_ps deadline_ps, std::uint32_t threads = 1, const std::atomic<bool>* cancel = nullptr,
             const std::function<void(Time_ps)>& progress = {});

  // `progress` is also called before the next window whenever this is set: by a capture whose memory is full.
  void call_progress_on(const std::atomic<bool>* wanted) { progress_wanted_ = wanted; }

  Time_ps now_ps() const { return now_ps_; }
  // Nodes may have run up to here: what comes from outside the world cannot happen earlier.
  Time_ps horizon_ps() const { return window_end_ps_; }
  // When the next node has something to do.
  Time_ps next_wake_ps() const {
    Time_ps next_ps = kNever_ps;
    for (std::uint32_t d = first_; d < end_domain_; ++d) next_ps = std::min(next_ps, domains_[d]->next_wake_ps());
    return next_ps;
  }
  std::uint64_t windows() const { return windows_; }

 private:
  struct Call {  // of run()
    Time_ps deadline_ps = kNever_ps;
    const std::atomic<bool>* cancel = nullptr;
    const std::function<void(Time_ps)>* progress = nullptr;
    Time_ps done_ps = 0;  // the end of its last window
  };
  // Sets the next window, in which `start_ps` is the first event; false when the run ends, with the reason in end_.
  bool open_window(Time_ps start_ps);
  bool is_cancelled() const { return call_.cancel != nullptr && call_.cancel->load(std::memory_order_relaxed); }
  void run_serial();
  void run_threads(std::uint32_t threads);
  // Work of thread `t` in a run, and where those beside the caller's wait for the next one.
  void work(std::uint32_t t);
  void wait_for_runs(std::uint32_t t);
  void dismiss_threads();
  // One window of one domain; returns when it has its next event, its mail to others included.
  Time_ps run_domain(std::uint32_t d, const Window& window);
  // In every domain.
  void set_mail_turn(std::uint32_t turn);
  // When the next window opens: the earliest event of all engines. What they have sent is delivered.
  Time_ps agree(Time_ps next_ps);

  std::vector<std::unique_ptr<Domain>> domains_;
  std::uint32_t first_, end_domain_;  // of those that are this engine's
  std::vector<std::unique_ptr<Inlet>> inlets_;
  void deliver_mail(std::uint32_t destination, std::uint32_t turn);

  std::vector<MailRoute> mail_;  // by sending and receiving domain
  Call call_;
  // Threads beside the caller's: they live as long as the engine, or until another number of them is wanted.
  std::vector<std::jthread> threads_;
  std::unique_ptr<WindowBarrier> barrier_;
  std::atomic<std::uint32_t> runs_{0};
  std::atomic<std::uint32_t> working_{0};
  bool dismissed_ = false;
  std::uint32_t looks_ = 0;  // of a thread that waits for others
  std::uint64_t seed_ = 0;
  Time_ps window_ps_ = kNever_ps;
  std::int64_t window_divisor_ = 1;
  const std::atomic<bool>* progress_wanted_ = nullptr;
  Exchange* exchange_ = nullptr;
  std::vector<Parcel> sent_, received_;
  // Written between two windows, by one thread: not where the others read.
  alignas(128) Time_ps now_ps_ = 0;
  Time_ps window_end_ps_ = 0;
  std::uint64_t windows_ = 0;
  RunEnd end_ = RunEnd::kIdle;
  std::uint32_t mail_turn_ = 0;  // which boxes of the routes are written in this window
};

}  // namespace weft::engine
