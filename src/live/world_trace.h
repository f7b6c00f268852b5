// Traces of programs (control/tracer.h) from the world: their processes, verbs calls, asynchronous
// events, and the links and routes under them. Puts nothing together while nobody traces.
#pragma once

#include <string_view>

#include "live/os/process.h"
#include "live/os/trace.h"
#include "live/protocol/connection.h"
#include "nic/device.h"
#include "world/session.h"

namespace weft::live {

class WorldTrace {
 public:
  explicit WorldTrace(const lab::World& world) : world_(world) {}
  // From now on. Both outlive it.
  void emit_to(TraceSink& sink, lab::Session& session) {
    sink_ = &sink;
    session_ = &session;
  }

  void process(const Process& process, std::string_view kind, Time_ps now_ps);
  // Around a call: what it is about may be no more afterwards. A call that is not answered at once is not traced.
  TraceEvent begin_call(Process& process, const Request& request, Time_ps now_ps) {
    modifying_ = request.op == verbs::Op::kModifyQp;
    return active() ? describe(process, request, now_ps) : TraceEvent{};
  }
  void end_call(Process& process, const Request& request, const Reply* reply, TraceEvent&& event) {
    modifying_ = false;
    if (reply != nullptr && active()) emit_call(process, request, *reply, event);
  }
  void async(const nic::Device& device, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps);
  void link(std::size_t link, bool up, Time_ps now_ps);

 private:
  bool active() const { return sink_ != nullptr && sink_->active(); }
  TraceEvent event_of(const Process& process, std::string_view kind, Time_ps now_ps) const;
  TraceEvent describe(Process& process, const Request& request, Time_ps now_ps) const;
  void emit_call(Process& process, const Request& request, const Reply& reply, TraceEvent& event);
  void routes(std::size_t link, bool up, Time_ps now_ps);

  const lab::World& world_;
  TraceSink* sink_ = nullptr;        // null: no commands
  lab::Session* session_ = nullptr;  // likewise
  bool modifying_ = false;           // a queue pair, for a program
};

}  // namespace weft::live
