// A world that programs attach to: the loop that advances its session, and the socket by which programs come in. In
// virtual time the world advances only while every attached thread waits for it; when nothing is left to do it sleeps
// until somebody asks. In wall-clock mode (server_wall.cc) simulated time follows real time and threads run as they
// like.
#pragma once

#include <signal.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/cm/cm.h"
#include "live/control/control.h"
#include "live/os/node.h"
#include "live/os/streams.h"
#include "live/os/wall_clock.h"
#include "live/outside.h"
#include "live/verbs/service.h"
#include "live/view/icmp.h"
#include "live/view/node_view.h"
#include "live/world_trace.h"
#include "verbs/wait_protocol.h"
#include "world/session.h"

namespace weft::live {

inline constexpr Time_ps kLeap_ps = ms(1);  // of the clock: more than a fabric at work lets pass between two events

// Programs may wait for any time that they can write down; later than this is never. 53 days, half of what a world has.
inline constexpr Time_ps kEndOfTime_ps = kNever_ps / 2;

class Server final : public ThreadWaiter {
 public:
  // Advances an open-ended session, which outlives it. `listener` is a listening SOCK_SEQPACKET socket; the server
  // closes it. Ports to the outside need wall-clock mode.
  Server(lab::Session& session, int listener, verbs::Clock clock, std::vector<OutsideLine> outside = {});
  // On a world of somebody else, who drives it (live/program_session.h).
  Server(lab::World& world, int listener);
  ~Server() override;

  // Until `stop` is set, the session is cancelled or a `down` comes in.
  void run(const std::atomic<bool>& stop);

  std::vector<verbs::DeviceInfo> devices_of(std::uint32_t host);
  // Where the files that stand for those of each node are to be.
  void set_sysfs(const std::function<std::string(std::uint32_t host)>& of);
  // The node's files are there from now on.
  void show_node(const std::string& name);
  // Commands are taken from now on (docs/commands.md); the lab's own text says what their words mean.
  void take_commands(lab::LiveReader reader);
  // Those that were taken (Control::commands).
  std::vector<lab::TakenCommand> commands() const;
  // A thread that was taken for spinning acted though nothing was delivered to it: times depend on the machine.
  bool is_deterministic() const { return determinism_ == Determinism::kYes; }

  // For who drives the world in place of run(): no program gets a turn once `stop` is set.
  void set_stop(const std::atomic<bool>& stop) { stop_ = &stop; }
  // Looks at every descriptor: for `timeout_ms`, or until something is
  // there. True: it was.
  bool poll_clients(int timeout_ms);
  // Before a leap of the clock; true: something came, and the leap may be shorter.
  bool wait_before_leap(Time_ps leap_ps);
  // When nothing is left to happen.
  void take_stray_posts();
  // New clients start no earlier than this.
  void set_arrivals_ps(Time_ps time_ps) { arrivals_ps_ = time_ps; }
  // The programs of one process group.
  struct Group {
    std::size_t threads = 0;
    bool all_parked = true;  // there are some, and they wait for the world alone
    Time_ps ended_ps = 0;    // of the last that is gone
  };
  Group group(int number) const;
  void kill_group(int number) const;

  Outcome wait_for(Thread& thread, Request& request) override;
  bool is_awake(const Thread& thread) override;
  void wait_for_end(const Thread& thread) override;
  void execute(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps) override;
  void thread_ended(const std::shared_ptr<Thread>& thread, Time_ps now_ps) override;
  bool is_ending() const override { return down_ || (stop_ != nullptr && stop_->load(std::memory_order_relaxed)); }

 private:
  static void on_async(void* self, nic::Device& device, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps);
  static void on_write(void* self, nic::Device& device, std::uint32_t key, Time_ps visible_ps);
  static void make_grh(void* self, const engine::Packet& packet, const nic::GroupGid* group,
                       std::span<std::uint8_t, nic::kGrh_B> out);
  void add_nodes();
  void accept_clients();
  void handle_hellos();
  // Between turns of programs, which may be many at one instant: `weft ps` and `weft down` wait for none of them.
  void answer_status();
  void handle_hello(int fd, const Request& request);
  void welcome(const std::shared_ptr<Thread>& thread, Time_ps at_ps);
  // server_fork.cc. Nothing: not a call of a process's life.
  std::optional<Reply> answer_process_call(const std::shared_ptr<Thread>& thread, const Request& request,
                                           Time_ps now_ps);
  Reply fork(const std::shared_ptr<Thread>& parent_thread, Time_ps now_ps);
  // A process has closed a connection: returns when its parent can see its end, or when the program that it executes
  // has come in.
  void await_end(const Process& process);
  void let_filters_run(const Node& node);
  // server_threads.cc
  Reply expect_thread(const std::shared_ptr<Thread>& creator, Time_ps now_ps);
  // Replies with a connection for a thread of the process that is about to start.
  Reply announce(const std::shared_ptr<Process>& process, Time_ps now_ps);
  void await_announced(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  void meet_announced(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  Reply status() const;
  void run_virtual(const std::atomic<bool>& stop);
  void run_wall(const std::atomic<bool>& stop);
  // True: somebody waits for a listener. Who has waited long enough is refused.
  bool wait_for_listeners();
  // Time at which a request that comes in now happens.
  Time_ps arrival_ps() const;
  // Serves a thread's request, or its end.
  void serve(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  void catch_up();
  bool take_doorbells();
  bool look_at_descriptors();
  void sleep_until(Time_ps time_ps);
  void send_results(Connection& connection);  // observe.cc
  void show_link(std::size_t link, Time_ps now_ps);
  // When the next node has something to do or a change is due.
  Time_ps next_due_ps() { return std::min(world_.engine().next_wake_ps(), session_->changes().next_ps()); }
  Outcome wait_for_request(Thread& thread, Request& request);
  Outcome watch_for_request(Thread& thread, Request& request);
  bool is_crowded();
  // Whoever waits for a descriptor of the kernel's that is ready looks around at `now_ps`. `node` null: all of them.
  void poll_passed_fds(const Node* node, Time_ps now_ps);
  void end_process(const std::shared_ptr<Process>& process, Time_ps now_ps);
  std::optional<Reply> answer(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps,
                              bool again);
  void retry_at(const std::shared_ptr<Thread>& thread, Time_ps time_ps);
  void perform(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps);
  std::shared_ptr<Thread> find_thread(const Thread* thread) const;
  // idle_calls.cc
  void delay(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps);
  static void count_idle(Thread& thread, const Request& request, const Reply* at_once, Time_ps now_ps);
  void resume_when_due(const std::shared_ptr<Thread>& thread, const Reply& reply, Time_ps now_ps);
  std::optional<Reply> poll_cq(const Thread& thread, const Request& request);
  std::optional<Reply> get_async_event(Process& process, const Request& request);  // async_events.cc
  std::optional<Reply> get_cq_event(Process& process, const Request& request);
  std::optional<Reply> wait_items(Thread& thread, const Request& request, Time_ps now_ps, bool again, Time_ps& due_ps);
  // waits.cc
  static bool is_wait_call(verbs::Op op) { return op >= verbs::Op::kCancel && op <= verbs::Op::kCountSignal; }
  std::optional<Reply> answer_wait_call(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps,
                                        bool again);
  std::optional<Reply> wait_for_change(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps,
                                       bool again);
  std::optional<Reply> answer_timer_call(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps);
  void arm(const std::shared_ptr<Process>& process, const std::shared_ptr<Timer>& timer, const verbs::ArmTimer& ask,
           Time_ps now_ps);
  void expire_at(const std::shared_ptr<Process>& process, const std::shared_ptr<Timer>& timer);
  // At this time, after everybody else.
  void retry_last(const std::shared_ptr<Thread>& thread, Time_ps now_ps);
  void retry_when_due(const std::shared_ptr<Thread>& thread, Time_ps due_ps, Time_ps now_ps);
  void send_signal(const std::shared_ptr<Process>& process, int tid, siginfo_t info, Time_ps now_ps);
  void run_handlers(const Thread& sender, const verbs::Signalled& sent, Time_ps now_ps);
  void run_handler(const std::shared_ptr<Process>& process, const Thread* sender, const verbs::Signalled& sent,
                   Time_ps now_ps);
  // server_children.cc. True: one of them runs, and the clock must not leap.
  bool wait_for_children(Time_ps leap_ps);
  void run_child_handler(const std::shared_ptr<Process>& parent, Time_ps now_ps);
  void tell_parent(const Process& ended, Time_ps now_ps);
  void tell_tracer(const Thread& thread, Time_ps now_ps);
  // server_looks.cc: the first of them that says something, in real time; null when none does.
  std::shared_ptr<Thread> wait_for_any(const std::vector<std::shared_ptr<Thread>>& threads) const;
  static bool is_patient(const Thread& thread);
  // True: a queue that the thread polls at other times has an entry, and it comes to that if it goes on.
  static bool has_more_to_find(const Thread& thread);
  // Before a leap of the clock. True: one of them does.
  bool let_pollers_look(Time_ps leap_ps);
  int look_soon(int timeout_ms) const;
  void poll_waiting_threads();
  Reply set_timer(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps);
  void fire_timer_at(const std::shared_ptr<Process>& process, std::uint64_t timer);
  void fire_timer(const std::shared_ptr<Process>& process, std::uint64_t timer, Time_ps now_ps);

  lab::Session* session_ = nullptr;  // null: somebody else drives the world
  lab::World& world_;
  AddressIndex addresses_{world_};
  int listener_;
  std::optional<WallClock> wall_;  // none: virtual time
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<VerbsService>> services_;
  std::vector<std::unique_ptr<CommunicationManager>> managers_;
  std::vector<OutsideLine> outside_;
  ManagementNetwork network_;
  std::unique_ptr<Control> control_;  // null: no commands
  WorldTrace trace_{world_};
  std::vector<int> pending_clients_;
  std::vector<std::shared_ptr<Thread>> threads_;
  std::uint64_t next_rank_ = 1;
  Time_ps arrivals_ps_ = 0;
  std::size_t starting_ = 0;  // threads that have come and have not been let in yet
  struct OtherChild {
    std::chrono::steady_clock::time_point since{};
    int asleep = 0;  // looks that found it so, one after the other
    bool ended = false;
    bool outside = false;  // a parent that was not started on a node: a terminal, a script of the user's
  };
  std::map<int, OtherChild> other_children_;  // by number; not of the world
  Time_ps looked_at_ps_ = kNever_ps;          // how far the world was when it looked at them
  std::map<int, Time_ps> ended_ps_;           // by process group: when the last of its processes was gone
  std::vector<std::unique_ptr<NodeView>> views_;
  Icmp icmp_{world_, addresses_, nodes_, views_};
  bool down_ = false;
  const std::atomic<bool>* stop_ = nullptr;
  enum class Determinism : std::uint32_t { kSpun, kYes, kThreadOrder };  // WorldStatus
  Determinism determinism_ = Determinism::kYes;
  unsigned turns_ = 0, turns_since_status_ = 0;
  bool crowded_ = false;
  std::int64_t switches_ = 0;  // of its CPU, to others
};

}  // namespace weft::live
