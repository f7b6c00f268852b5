// Calls that tell a program nothing: EAGAIN of a full socket or of a channel without events, a state that it has seen,
// a sleep of zero. They cost no virtual time, and a loop of them would stand still for ever: after some of them in turn
// one takes time.
#include <algorithm>

#include "live/server.h"

namespace weft::live {

using verbs::Op;

namespace {

constexpr int kIdleCalls = 32;  // in turn, after which one takes time
// More calls than any CPU makes in that time: whatever they do, they count as such.
constexpr int kBusyCalls = 4096;
constexpr Time_ps kBusyTime_ps = us(100);
constexpr Time_ps kFirstIdleTime_ps = us(1), kLastIdleTime_ps = us(100);

enum class Effect : std::uint8_t { kNone, kSome, kNeutral };
// Effect of a call that was answered at once: none if it only looked, or found nothing to take.
Effect effect_of(const Request& request, int error) {
  switch (request.op) {
    // They have rules of their own for how long they wait, or are part of other calls.
    case Op::kPoll:
    case Op::kWait:
    case Op::kYieldUntil:
    case Op::kWaitForChange:
    case Op::kNudge:
    case Op::kCancel:
    case Op::kSignalled:
    case Op::kExpectThread:
    case Op::kFork:
    case Op::kExec:
      return Effect::kNeutral;
    case Op::kSleep:
    case Op::kYield:
    case Op::kQueryQp:
    case Op::kQuerySrq:
    case Op::kQueryTimer:
    case Op::kListDevices:
    case Op::kInterfaces:
    case Op::kStreamStatus:
    case Op::kStreamTcp:
    case Op::kCmQuery:
    case Op::kRefreshCounters:
    case Op::kNetlink:
    case Op::kEthtool:
      return Effect::kNone;
    case Op::kStreamReceive: {
      verbs::StreamReceive ask;
      if (request.read(ask) && ask.peek != 0) return Effect::kNone;
      break;
    }
    default:
      break;
  }
  return error > 0 ? Effect::kNone : Effect::kSome;
}

}  // namespace

void Server::execute(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps) {
  const bool ends = thread->cancelled || thread->interrupted;
  if (thread->idle_calls >= kIdleCalls && !wall_ && !ends && effect_of(request, 0) != Effect::kNeutral) {
    delay(thread, request, now_ps);
  } else {
    perform(thread, request, now_ps);
  }
}

// The call is made then, or when something comes for the process. It is none that waits: no signal ends it with an
// error.
void Server::delay(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps) {
  const Time_ps until_ps = now_ps + std::max(thread->idle_time_ps, kFirstIdleTime_ps);
  thread->idle_calls = 0;
  thread->delayed = true;
  thread->retry = [this, raw = thread.get(), request, until_ps](Time_ps then_ps) {
    const std::shared_ptr<Thread> self = find_thread(raw);
    if (!self) return false;
    const bool in_full = then_ps >= until_ps;
    self->idle_time_ps = in_full ? std::min(2 * std::max(self->idle_time_ps, kFirstIdleTime_ps), kLastIdleTime_ps) : 0;
    self->delayed = self->look = false;
    ++self->park;
    Server& server = *this;
    const Request asked = request;
    self->retry = nullptr;  // this: nothing that it holds is used from here on
    server.perform(self, asked, then_ps);
    return true;
  };
  retry_at(thread, until_ps);
}

void Server::count_idle(Thread& thread, const Request& request, const Reply* at_once, Time_ps now_ps) {
  const Effect effect = effect_of(request, at_once != nullptr ? at_once->error : 0);
  if (effect == Effect::kNeutral) return;
  if (now_ps >= thread.busy_since_ps + kBusyTime_ps) {
    thread.busy_since_ps = now_ps;
    thread.busy_calls = 0;
  }
  // Others have their turn, and no time passes.
  const bool waits = at_once == nullptr && request.op != Op::kYield;
  const bool idle = !waits && (effect == Effect::kNone || ++thread.busy_calls > kBusyCalls);
  thread.idle_calls = idle ? thread.idle_calls + 1 : 0;
  if (!idle) thread.idle_time_ps = 0;
}

std::shared_ptr<Thread> Server::find_thread(const Thread* thread) const {
  const auto found =
      std::find_if(threads_.begin(), threads_.end(), [&](const auto& each) { return each.get() == thread; });
  return found == threads_.end() ? nullptr : *found;
}

}  // namespace weft::live
