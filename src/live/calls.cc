// Answers of the world to each call, and which calls wait.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/os/signals.h"
#include "live/server.h"
#include "live/verbs/grh.h"
#include "live/view/host_names.h"

namespace weft::live {

using verbs::Op;

namespace {
constexpr Time_ps kFirstPause_ps = us(1);

bool is_ready(const std::shared_ptr<const Lent>& lent, const std::vector<short>& events) {
  std::vector<pollfd> fds;
  for (std::size_t i = 0; i < events.size(); ++i) fds.push_back({lent->fds[i], events[i], 0});
  return !fds.empty() && poll(fds.data(), fds.size(), 0) > 0;
}
}  // namespace

// A call that cannot be answered yet is asked again whenever something of its process has changed.
void Server::perform(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps) {
  Node& node = *thread->process->node;
  TraceEvent event = trace_.begin_call(*thread->process, request, now_ps);
  const auto at_once = answer(thread, request, now_ps, false);
  trace_.end_call(*thread->process, request, at_once ? &*at_once : nullptr, std::move(event));
  count_idle(*thread, request, at_once ? &*at_once : nullptr, now_ps);
  if (at_once) {
    resume_when_due(thread, *at_once, now_ps);
    return;
  }
  thread->slept = true;
  if (thread->cancelled || std::exchange(thread->interrupted, false)) {
    node.resume(thread, Reply::failed(EINTR), now_ps);
    return;
  }
  thread->retry = [this, thread_ptr = thread.get(), request](Time_ps then_ps) {
    const std::shared_ptr<Thread> self = find_thread(thread_ptr);
    if (!self) return false;
    auto reply = answer(self, request, then_ps, true);
    if (!reply) return false;
    resume_when_due(self, *reply, then_ps);
    return true;
  };
}

// A call that takes CPU time: its thread waits for nothing else meanwhile, and no signal ends it.
void Server::resume_when_due(const std::shared_ptr<Thread>& thread, const Reply& reply, Time_ps now_ps) {
  Node& node = *thread->process->node;
  if (reply.at_ps <= now_ps) {
    node.resume(thread, reply, now_ps);
    return;
  }
  ++thread->park;
  node.at(reply.at_ps, thread->rank, [&node, thread, reply, park = thread->park](Time_ps at_ps) {
    if (thread->park == park && !thread->process->gone) node.resume(thread, reply, at_ps);
  });
  thread->retry = nullptr;  // this may be called from it: nothing of it is used from here on
}

// Asks again at that time, if the thread still waits for the same.
void Server::retry_at(const std::shared_ptr<Thread>& thread, Time_ps time_ps) {
  if (time_ps >= kEndOfTime_ps) return;
  thread->process->node->at_if([thread, park = thread->park] { return thread->park == park && !thread->process->gone; },
                               time_ps, thread->rank,
                               [thread](Time_ps at_ps) {
                                 if (thread->retry) thread->retry(at_ps);
                               });
}

std::optional<Reply> Server::answer(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps,
                                    bool again) {
  Process& process = *thread->process;
  VerbsService& service = *services_[process.node->index()];
  switch (request.op) {
    case Op::kSleep: {
      verbs::Sleep ask;
      if (!request.read(ask)) return Reply::failed(EINVAL);
      if (ask.until_ps <= now_ps) return Reply{};
      if (!again) retry_at(thread, ask.until_ps);
      return std::nullopt;
    }
    case Op::kYieldUntil: {
      verbs::Sleep ask;
      if (!request.read(ask)) return Reply::failed(EINVAL);
      if (again || ask.until_ps <= now_ps) return Reply{};
      thread->polls = true;
      retry_at(thread, ask.until_ps);
      return std::nullopt;
    }
    case Op::kSetTimer:
      return set_timer(thread, request, now_ps);
    case Op::kLookUp:
      return look_up(world_.lab(), request);
    case Op::kNodeName: {
      verbs::LookUp name{};
      const std::string& own = world_.lab().hosts[process.node->index()].name;
      own.copy(name.name, sizeof(name.name) - 1);
      return Reply::of(name);
    }
    case Op::kRefreshCounters:
      views_[process.node->index()]->refresh(now_ps);
      return Reply{};
    case Op::kListDevices:
      return service.list_devices();
    case Op::kAllocPd:
      return service.alloc_pd(process, request);
    case Op::kRegMr:
      return service.reg_mr(process, request);
    case Op::kUnmapping:
      return service.keep_pages(process, request);
    case Op::kCreateChannel:
      return service.create_channel(process, request);
    case Op::kOpenEvents:
      return service.open_events(process, request);
    case Op::kCreateCq:
      return service.create_cq(process, request);
    case Op::kCreateSrq:
      return service.create_srq(process, request);
    case Op::kModifySrq:
      return service.modify_srq(process, request, now_ps);
    case Op::kQuerySrq:
      return service.query_srq(process, request);
    case Op::kCreateQp:
      return service.create_qp(process, request);
    case Op::kCreateAh:
      return service.create_ah(process, request);
    case Op::kDestroy:
      return service.destroy(process, request);
    case Op::kModifyQp:
      return service.modify_qp(process, request, now_ps);
    case Op::kQueryQp:
      return service.query_qp(process, request);
    case Op::kArmCq:
      return service.arm_cq(process, request, now_ps);
    case Op::kPoll: {
      auto reply = poll_cq(*thread, request);
      if (reply) {
        thread->patience_ps = kFirstPatience_ps;
        thread->looks_at_rest = 0;
        return reply;
      }
      if ((again && thread->look) || (!wall_ && has_more_to_find(*thread))) {
        thread->look = true;
        return Reply{};
      }
      if (again && now_ps >= thread->poll_until_ps) {
        thread->patience_ps = std::min(2 * thread->patience_ps, kLastPatience_ps);
        return Reply{};
      }
      if (!again) {
        bool patient = thread->clock().clock_seen.exchange(0, std::memory_order_relaxed) == 0;
        thread->polls = true;
        thread->poll_until_ps = patient ? kNever_ps : now_ps + thread->patience_ps;
        if (!patient) retry_at(thread, thread->poll_until_ps);
      }
      return std::nullopt;
    }
    case Op::kGetCqEvent:
      return get_cq_event(process, request);
    case Op::kGetAsyncEvent:
      return get_async_event(process, request);
    case Op::kStreamOpen:
      return network_.open(process, request);
    case Op::kStreamBind:
      return network_.bind(process, request, now_ps);
    case Op::kStreamListen:
      return network_.listen(process, request, now_ps);
    case Op::kStreamConnect:
      return network_.connect(process, request, now_ps, again);
    case Op::kStreamAccept:
      return network_.accept(process, request, now_ps);
    case Op::kStreamSend:
      return network_.send(thread, request, now_ps);
    case Op::kStreamReceive:
      return network_.receive(thread, request, now_ps);
    case Op::kStreamShutdown:
      return network_.shutdown(process, request, now_ps);
    case Op::kStreamClose:
      return network_.close(process, request, now_ps);
    case Op::kWait: {
      Time_ps due_ps = kNever_ps;
      const bool notified = !again && std::exchange(thread->notified, false);
      auto reply = wait_items(*thread, request, now_ps, again, due_ps);
      // The cause of its notification is there still, or was taken: bytes of a pipe, which the world does not see it
      // read.
      if (!again) thread->spurious_wakeups = notified && thread->notified ? thread->spurious_wakeups + 1 : 0;
      // A thread that comes back for what it could not take the last time finds it a little later, more so each time:
      // the thread that holds it up may be ahead in time.
      if (reply && !again && thread->spurious_wakeups >= kSpuriousWakeups) {
        int doublings = std::min(thread->spurious_wakeups - kSpuriousWakeups, 7);
        retry_at(thread, now_ps + (kFirstPause_ps << doublings));
        return std::nullopt;
      }
      verbs::Wait ask;
      if (!reply && !again && request.read_head(ask) && ask.until_ps < kNever_ps) retry_at(thread, ask.until_ps);
      if (!reply) retry_when_due(thread, due_ps, now_ps);
      return reply;
    }
    default:
      if (VerbsService::is_extended(request.op)) {
        auto reply = service.answer_extended(process, request, now_ps);
        if (!reply && !again) retry_at(thread, now_ps + kCommandTime_ps);
        return reply;
      }
      if (VerbsService::is_multicast(request.op)) return service.multicast(process, request);
      if (CommunicationManager::is_mine(request.op))
        return managers_[process.node->index()]->answer_traced(process, request, now_ps);
      if (ManagementNetwork::is_datagram_call(request.op)) return network_.answer_datagram(process, request, now_ps);
      if (is_wait_call(request.op)) return answer_wait_call(thread, request, now_ps, again);
      if (Icmp::is_mine(request.op)) {
        auto reply = icmp_.answer(process, request, now_ps);
        if (!reply && !again) retry_at(thread, Icmp::deadline_ps(request));
        return reply;
      }
      if (NodeView::is_mine(request.op)) return views_[process.node->index()]->answer(request, now_ps);
      if (auto reply = answer_process_call(thread, request, now_ps)) return reply;
      return Reply::failed(EOPNOTSUPP);
  }
}

std::optional<Reply> Server::poll_cq(const Thread& thread, const Request& request) {
  Process& process = *thread.process;
  std::size_t count = request.body.size() / sizeof(verbs::Handle);
  if (count == 0 || count > verbs::kMaxPolledCqs || request.body.size() % sizeof(verbs::Handle) != 0)
    return Reply::failed(EINVAL);
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    verbs::Handle cq;
    std::memcpy(&cq, request.body.data() + i * sizeof(cq), sizeof(cq));
    auto found = process.cqs.find(cq.handle);
    if (found == process.cqs.end()) continue;  // another thread has destroyed it since
    any = true;
    found->second->poller = thread.rank;
    if (found->second->unpolled() != 0) return Reply{};
  }
  return any ? std::nullopt : std::optional(Reply::failed(EINVAL));
}

std::optional<Reply> Server::get_cq_event(Process& process, const Request& request) {
  verbs::GetEvent ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto found = process.channels.find(ask.channel);
  if (found == process.channels.end()) return Reply::failed(EINVAL);
  EventChannel& channel = *found->second;
  process.node->announce_unpolled(process, channel);
  if (channel.cqs.empty()) return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EAGAIN));
  CompletionRing& cq = *process.cqs.at(channel.cqs.front());
  channel.cqs.pop_front();
  lower_event(channel.eventfd);
  ++cq.fetched.completion_events;
  return Reply::of(verbs::CqEvent{cq.cookie});
}

std::optional<Reply> Server::wait_items(Thread& thread, const Request& request, Time_ps now_ps, bool again,
                                        Time_ps& due_ps) {
  Process& process = *thread.process;
  verbs::Wait ask;
  if (!request.read_head(ask) || ask.items > verbs::kMaxWaitItems + verbs::kMaxRealItems ||
      request.body.size() != sizeof(ask) + ask.items * sizeof(verbs::WaitItem))
    return Reply::failed(EINVAL);
  std::vector<verbs::WaitItem> items(ask.items);
  if (!items.empty()) std::memcpy(items.data(), request.body.data() + sizeof(ask), ask.items * sizeof(verbs::WaitItem));
  // Asked again: something has happened.
  bool any = ask.until_ps <= now_ps || thread.look || (again && ask.anything != 0);
  std::vector<short> lent_events(request.lent ? request.lent->fds.size() : 0);
  for (verbs::WaitItem& item : items) {
    item.ready = 0;
    if (item.what == verbs::WaitItem::kStream) {
      Stream* stream = ManagementNetwork::find(process, item.handle);
      item.ready = stream == nullptr ? static_cast<std::uint32_t>(POLLNVAL) : stream->ready(item.wanted);
    } else if (item.what == verbs::WaitItem::kChannel) {
      auto channel = process.channels.find(item.handle);
      if (channel == process.channels.end()) continue;
      process.node->announce_unpolled(process, *channel->second);
      if (!channel->second->cqs.empty()) item.ready = item.wanted & POLLIN;
    } else if (item.what == verbs::WaitItem::kCm) {
      if (CommunicationManager::has_event(process, item.handle)) item.ready = item.wanted & POLLIN;
    } else if (item.what == verbs::WaitItem::kAsync) {
      auto channel = process.async.find(item.handle);
      if (channel != process.async.end() && !channel->second->events.empty()) item.ready = item.wanted & POLLIN;
    } else if (item.what == verbs::WaitItem::kTimer) {
      auto timer = process.timers.find(item.handle);
      if (timer == process.timers.end()) continue;
      if (timer->second->expirations(now_ps) > 0) item.ready = item.wanted & POLLIN;
      due_ps = std::min(due_ps, timer->second->due_ps);
    } else if (item.what == verbs::WaitItem::kSignals) {
      auto signals = process.signal_sets.find(item.handle);
      if (signals == process.signal_sets.end()) continue;
      auto state = signal_state(process.pid, thread.tid);
      if (state && (state->pending & signals->second) != 0) item.ready = item.wanted & POLLIN;
      thread.awaited_signals |= signals->second;
    } else if (item.what == verbs::WaitItem::kIcmp) {
      if (icmp_.has_message(process, item.handle)) item.ready = item.wanted & POLLIN;
    } else if (item.what == verbs::WaitItem::kReal) {
      if (item.handle >= lent_events.size()) return Reply::failed(EINVAL);
      lent_events[item.handle] = static_cast<short>(item.wanted);
    }
    thread.notified = thread.notified || item.ready != 0;
  }
  // One that is ready by now will not be looked at before somebody runs.
  thread.notified = thread.notified || thread.look || (!again && is_ready(request.lent, lent_events));
  if (!any && !thread.notified) {
    thread.polls = ask.anything != 0;
    thread.lent = request.lent;
    thread.lent_events = std::move(lent_events);
    return std::nullopt;
  }
  Reply reply;
  reply.body.resize(items.size() * sizeof(verbs::WaitItem));
  if (!items.empty()) std::memcpy(reply.body.data(), items.data(), reply.body.size());
  return reply;
}

// A WRITE or an atomic of a peer is in the memory of a program that may look for it between polls.
void Server::on_write(void*, nic::Device& device, std::uint32_t key, Time_ps visible_ps) {
  const nic::MemoryRegion* region = device.memory().find(key);
  if (region == nullptr || region->elsewhere == nullptr) return;
  Process& process = *static_cast<MemoryRange*>(region->elsewhere->self)->process;
  process.node->wake_pollers(process, nullptr, process.node->host().cpu_ps(visible_ps));
}

void Server::make_grh(void* self, const engine::Packet& packet, const nic::GroupGid* group,
                      std::span<std::uint8_t, nic::kGrh_B> out) {
  write_grh(packet, static_cast<Server*>(self)->world_.book(), group, out);
}

Reply Server::set_timer(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps) {
  verbs::SetTimer ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  std::shared_ptr<Process> process = thread->process;
  verbs::TimerLeft left{process->timer_ps == kNever_ps ? 0 : std::max<Time_ps>(0, process->timer_ps - now_ps)};
  std::uint64_t timer = ++process->timer;
  bool ever = ask.after_ps > 0 && ask.after_ps < kEndOfTime_ps - std::min(now_ps, kEndOfTime_ps);
  process->timer_ps = ever ? now_ps + ask.after_ps : kNever_ps;
  process->timer_interval_ps = std::clamp<Time_ps>(ask.interval_ps, 0, kEndOfTime_ps);
  if (ever) fire_timer_at(process, timer);
  return Reply::of(left);
}

void Server::fire_timer_at(const std::shared_ptr<Process>& process, std::uint64_t timer) {
  process->node->at_if([process, timer] { return !process->gone && process->timer == timer; }, process->timer_ps, 0,
                       [this, process, timer](Time_ps at_ps) { fire_timer(process, timer, at_ps); });
}

void Server::fire_timer(const std::shared_ptr<Process>& process, std::uint64_t timer, Time_ps now_ps) {
  process->timer_ps = kNever_ps;
  if (process->timer_interval_ps > 0 && now_ps < kEndOfTime_ps) {
    process->timer_ps = now_ps + std::max<Time_ps>(process->timer_interval_ps, us(1));
    fire_timer_at(process, timer);
  }
  siginfo_t info{};
  info.si_signo = SIGALRM;
  info.si_code = SI_TIMER;
  send_signal(process, 0, info, now_ps);
}

}  // namespace weft::live
