// One host of the world as the programs on it see it: an operating system that schedules their threads in virtual time.
// It is a program of the simulated host; a step runs what is due, and running a thread means to answer it and to wait
// until it asks again. So one thread runs at a time, in the order of virtual time, then of arrival, and what a thread
// does happens at the times of its own clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "host/host.h"
#include "live/os/number_table.h"
#include "live/os/process.h"
#include "verbs/wait_protocol.h"

namespace weft::live {

// Waits, in real time, for a thread that runs.
class ThreadWaiter {
 public:
  virtual ~ThreadWaiter() = default;
  // Returns when the thread has asked (its request is in `request`), is gone, or has to be taken for spinning or
  // outside; at once where nobody waits for threads: in wall-clock mode they run while the world does.
  enum class Outcome : std::uint8_t { kAsked, kGone, kSpins, kOutside, kRuns };
  virtual Outcome wait_for(Thread& thread, Request& request) = 0;
  // It has left the world and is about to end: whoever joins it comes next.
  virtual void wait_for_end(const Thread& /*thread*/) {}
  // One that slept in the kernel does not sleep there any more.
  virtual bool is_awake(const Thread& thread) = 0;
  virtual void execute(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps) = 0;
  virtual void thread_ended(const std::shared_ptr<Thread>& thread, Time_ps now_ps) = 0;
  // The world is to end: programs get no more turns, however many calls they make at this instant.
  virtual bool is_ending() const { return false; }
};

// Bound of a thread's clock since the world saw it last: what calls cost, of which the quickest is a
// read of the clock, 20 ns in about as many real ones. Clamped to far more than that: a bogus clock would advance
// simulated time.
inline constexpr Time_ps kShortestBound_ps = ms(10);
inline constexpr std::int64_t kMostVirtualPerReal = 100;
inline constexpr Time_ps kLongestTurn_ps = 100 * kSecond_ps;
Time_ps longest_turn_ps(const Thread& thread);
// Threads that have not called yet are looked at after each turn of another only while there are no more of them.
inline constexpr std::size_t kMostLookedAt = 16;

class Node final : public host::Program {
 public:
  Node(ThreadWaiter& waiter, host::Host& host, std::uint32_t index) : waiter_(waiter), host_(host), index_(index) {}

  Time_ps step(Time_ps now_ps) override;
  void completion_visible(std::uint32_t tag, Time_ps visible_ps) override { push(visible_ps, 0, What::kDrain, tag); }

  // Does `what` at that time, or now if it has passed; equals go by rank, then in the order of their making.
  void at(Time_ps time_ps, std::uint64_t rank, std::function<void(Time_ps)> what) {
    at_if({}, time_ps, rank, std::move(what));
  }
  // Likewise, unless `live` says no by then. Time does not go on for what is not live: the end of a wait that has ended
  // before, a timer that was turned off.
  void at_if(std::function<bool()> live, Time_ps time_ps, std::uint64_t rank, std::function<void(Time_ps)> what);
  // Ends the thread's wait and runs it until it asks again.
  void resume(const std::shared_ptr<Thread>& thread, const Reply& reply, Time_ps now_ps);
  // A request that came before it was waited for.
  void take_request(const std::shared_ptr<Thread>& thread, Request request, Time_ps not_before_ps);
  // The thread asks for the end of the wait that it is in. A request that does not wait is answered as ever.
  void cancel(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  // Ends the thread's wait, or the next one, without its asking.
  void interrupt(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  // The thread was sent a signal: its handler runs, and ends its wait, before time goes on.
  void run_handler(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  // Work posted to the process's queues since the last look happens at the times written there.
  void take_posts(Process& process, Time_ps from_ps, Time_ps until_ps);
  void watch(CompletionRing& cq);
  void unwatch(const CompletionRing& cq);
  // Queues by number: what is on its way to one that is gone finds nothing, and what was on its way to a queue that is
  // renewed is forgotten.
  void open(PostQueue& queue);
  void renew(PostQueue& queue);
  void close(PostQueue& queue);
  // The receive of an SRQ is over: its slot is free.
  void end_shared(PostQueue& queue, std::uint32_t slot);
  void end_shared(std::uint64_t work_id);  // as the NIC has it
  // Events of queues that were armed with entries in them which are still there: the program looks for events.
  void announce_unpolled(Process& process, EventChannel& channel);
  // Likewise for a program that looks where the world does not see it: by the wall clock it polls the channel's
  // descriptor in the kernel.
  void announce_unpolled_later(CompletionRing& cq, Time_ps now_ps);
  // Threads that wait for something look whether it is there.
  void retry_waits(Process& process, Time_ps now_ps);
  // The NIC has written into the process's memory.
  void note_write(Process& process, std::uint64_t address, std::span<const std::uint8_t> bytes, Time_ps visible_ps);
  void note_write(Process& process, const PendingWrite& write, nic::PayloadPool& pool);
  std::uint32_t new_pd() { return next_pd_++; }  // of all processes: the NIC compares them
  // Something may have changed that a thread looks for between its polls: memory, or what another thread does. Those
  // that poll look around.
  void wake_pollers(Process& process, const Thread* except, Time_ps at_ps);
  // Likewise those of processes that may share memory with this one, or wait for it: its parent and its children.
  void wake_relatives(const Process& process, Time_ps at_ps);
  void count_relatives(Process& process);
  // Ends the thread's wait, whatever it waits for.
  void let_look(const std::shared_ptr<Thread>& thread, Time_ps at_ps);
  // The thread, which waits, looks around when the bytes that it names have changed: it waits for another thread or
  // process, which may not tell the world.
  void watch(const std::shared_ptr<Thread>& thread, const verbs::WaitForChange& ask);
  bool has_changed(const Process& process, const verbs::WaitForChange& ask) const;
  // Looks at all of those bytes.
  void poll_watched(Time_ps now_ps);
  bool is_watching() const { return !watched_.empty(); }
  // Signals of conditions that processes share, by their place in a page.
  std::vector<std::uint32_t> signals = std::vector<std::uint32_t>(verbs::kPage_B);
  // Something came for the process that is not a completion: an event, bytes on a socket. Waits that may have come true
  // are looked at again, and those that poll look around: they may do so between polls.
  void tell(Process& process, Time_ps now_ps);

  host::Host& host() { return host_; }
  std::uint32_t index() const { return index_; }
  Time_ps now_ps() const { return now_ps_; }
  std::vector<std::shared_ptr<Process>> processes;

 private:
  void note_write(Process& process);
  // Posts and completions are many, and need no function object.
  enum class What : std::uint8_t { kCall, kPost, kDrain };
  struct Event {
    Time_ps time_ps;
    std::uint64_t rank, order;
    What what;
    std::uint32_t which;  // of calls_, queues_ or cqs_
    friend bool operator<(const Event& a, const Event& b) {
      if (a.time_ps != b.time_ps) return a.time_ps > b.time_ps;
      return a.rank != b.rank ? a.rank > b.rank : a.order > b.order;
    }
  };
  void push(Time_ps time_ps, std::uint64_t rank, What what, std::uint32_t which);
  void drop_call(std::uint32_t which);
  void drop_dead_calls();
  void run_event(const Event& event, Time_ps now_ps);
  static void begin_turn(Thread& thread, Time_ps now_ps);
  static bool reply(Thread& thread, const Reply& reply, Time_ps now_ps);
  void run(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  void run_woken(Process& process, Time_ps now_ps);
  static std::vector<std::shared_ptr<Thread>> free_pollers(const Thread& thread, Time_ps now_ps);
  void drain(CompletionRing& cq, Time_ps now_ps);
  // Puts an event into the queue's channel if it was asked for one.
  void notify(CompletionRing& cq, bool solicited, std::uint32_t entries);
  void raise(CompletionRing& cq);
  bool translate(const CompletionRing& cq, const nic::Completion& completion, verbs::CqEntry& entry);
  void let_spin(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  void settle_when_visible(Process& process);
  void take_queue(PostQueue& queue, Time_ps from_ps, Time_ps until_ps);
  void post_due(PostQueue& queue, Time_ps now_ps);
  void post_send(PostQueue& queue, std::uint32_t number, Time_ps now_ps);
  void post_receive(PostQueue& queue, std::uint32_t number);
  void post_shared(PostQueue& queue, std::uint32_t number);

  ThreadWaiter& waiter_;
  host::Host& host_;
  std::uint32_t index_;
  std::uint32_t program_ = host::kNoProgram;
  bool stepping_ = false;
  Time_ps now_ps_ = 0;
  std::priority_queue<Event> events_;
  std::uint64_t next_order_ = 0;
  struct Planned {
    std::function<void(Time_ps)> what;
    std::function<bool()> live;  // empty: it is
  };
  std::vector<Planned> calls_;
  std::vector<std::uint32_t> free_calls_;
  struct Watch {
    std::shared_ptr<Thread> thread;
    std::uint64_t park;
    verbs::WaitForChange ask;
  };
  std::vector<Watch> watched_;
  NumberTable<PostQueue> queues_;
  NumberTable<CompletionRing> cqs_;
  std::uint32_t next_pd_ = 1;
};

}  // namespace weft::live
