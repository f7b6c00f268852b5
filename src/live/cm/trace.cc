// Connections in a trace: each state that an id comes to, and events that its program fetches.
#include <fmt/format.h>

#include <cstring>

#include "live/cm/cm.h"

namespace weft::live {

namespace {

constexpr const char* kCmStates[] = {"IDLE",           "BOUND",     "LISTEN",    "ADDR_QUERY", "ADDR_RESOLVED",
                                     "ROUTE_RESOLVED", "REQ_SENT",  "REQ_RCVD",  "REP_SENT",   "REP_RCVD",
                                     "ESTABLISHED",    "DREQ_SENT", "DREQ_RCVD", "TIMEWAIT",   "SIDR_REQ_SENT",
                                     "SIDR_REQ_RCVD",  "DONE"};
constexpr const char* kCmEvents[] = {"ADDR_RESOLVED",   "ADDR_ERROR",       "ROUTE_RESOLVED", "ROUTE_ERROR",
                                     "CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR",  "UNREACHABLE",
                                     "REJECTED",        "ESTABLISHED",      "DISCONNECTED",   "DEVICE_REMOVAL",
                                     "MULTICAST_JOIN",  "MULTICAST_ERROR",  "ADDR_CHANGE",    "TIMEWAIT_EXIT"};

template <std::size_t kCount>
std::string name_of(const char* const (&names)[kCount], std::size_t number) {
  return number < kCount ? names[number] : "?";
}

}  // namespace

void CommunicationManager::trace_states(Time_ps now_ps) {
  for (const auto& [number, id] : ids_) {
    if (id->traced == id->state) continue;
    TraceEvent event;
    event.at_ps = now_ps;
    event.kind = "cm_state";
    event.node = world_.lab().hosts[node_.index()].name;
    if (id->process != nullptr) {
      event.pid = id->process->pid;
      event.program = id->process->name;
    }
    if (id->qpn != 0) event.qpn = id->qpn;
    event.fields.push_back({"id", std::uint64_t{number}});
    event.fields.push_back({"from", name_of(kCmStates, static_cast<std::size_t>(id->traced))});
    event.fields.push_back({"to", name_of(kCmStates, static_cast<std::size_t>(id->state))});
    if (id->remote_qpn != 0) event.fields.push_back({"remote_qp", std::uint64_t{id->remote_qpn}, true});
    id->traced = id->state;
    trace_->emit(event);
  }
}

std::optional<Reply> CommunicationManager::answer_traced(Process& process, const Request& request, Time_ps now_ps) {
  auto reply = answer(process, request, now_ps);
  if (trace_ == nullptr || !trace_->active()) return reply;
  trace_states(now_ps);
  verbs::CmEvent got;
  if (request.op != verbs::Op::kCmGetEvent || !reply || reply->body.size() < sizeof(got)) return reply;
  std::memcpy(&got, reply->body.data(), sizeof(got));
  TraceEvent event;
  event.at_ps = now_ps;
  event.kind = "cm_event";
  event.node = world_.lab().hosts[node_.index()].name;
  event.pid = process.pid;
  event.program = process.name;
  event.fields.push_back({"type", name_of(kCmEvents, got.type)});
  if (got.status != 0) event.fields.push_back({"status", fmt::format("{}", got.status)});
  trace_->emit(event);
  return reply;
}

}  // namespace weft::live
