#include "live/world_trace.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cstring>
#include <iterator>

#include "live/verbs/service.h"

namespace weft::live {

using verbs::Op;

namespace {

constexpr const char* kQpStates[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};  // nic::QpState
static_assert(std::size(kQpStates) == static_cast<std::size_t>(nic::QpState::kErr) + 1);

std::string type_of(std::uint32_t type) {
  switch (type) {
    case IBV_QPT_RC:
      return "RC";
    case IBV_QPT_UC:
      return "UC";
    case IBV_QPT_UD:
      return "UD";
    case IBV_QPT_XRC_SEND:
      return "XRC_SEND";
    case IBV_QPT_XRC_RECV:
      return "XRC_RECV";
    default:
      return "other";
  }
}

const VerbsQp* find_qp(const Process& process, std::uint32_t handle) {
  const auto found = process.qps.find(handle);
  return found == process.qps.end() ? nullptr : found->second.get();
}

template <typename T>
bool read_body(const Reply& reply, T& out) {
  if (reply.body.size() < sizeof(T)) return false;
  std::memcpy(&out, reply.body.data(), sizeof(T));
  return true;
}

std::string state_name(Process& process, const VerbsQp& qp) {
  return kQpStates[static_cast<std::size_t>(process.node->host().device(qp.device).qp(qp.qpn).state)];
}

std::string_view destroyed_kind(verbs::Kind kind) {
  switch (kind) {
    case verbs::Kind::kPd:
      return "pd_dealloc";
    case verbs::Kind::kMr:
      return "mr_dereg";
    case verbs::Kind::kCq:
      return "cq_destroy";
    case verbs::Kind::kSrq:
      return "srq_destroy";
    case verbs::Kind::kQp:
      return "qp_destroy";
    case verbs::Kind::kAh:
      return "ah_destroy";
    default:
      return "";
  }
}

}  // namespace

TraceEvent WorldTrace::event_of(const Process& process, std::string_view kind, Time_ps now_ps) const {
  TraceEvent event;
  event.at_ps = now_ps;
  event.kind = kind;
  event.node = world_.lab().hosts[process.node->index()].name;
  event.pid = process.pid;
  event.program = process.name;
  return event;
}

void WorldTrace::process(const Process& process, std::string_view kind, Time_ps now_ps) {
  if (active()) sink_->emit(event_of(process, kind, now_ps));
}

TraceEvent WorldTrace::describe(Process& process, const Request& request, Time_ps now_ps) const {
  TraceEvent event = event_of(process, "", now_ps);
  verbs::Destroy destroy;
  verbs::ModifyQp modify;
  if (request.op == Op::kDestroy && request.read(destroy)) {
    event.kind = destroyed_kind(destroy.kind);
    if (destroy.kind == verbs::Kind::kQp) {
      if (const VerbsQp* qp = find_qp(process, destroy.handle)) event.qpn = qp->qpn;
    } else if (destroy.kind == verbs::Kind::kMr) {
      const auto mr = process.mrs.find(destroy.handle);
      if (mr != process.mrs.end()) event.fields.push_back({"key", std::uint64_t{mr->second->key}, true});
    } else {
      event.fields.push_back({"handle", std::uint64_t{destroy.handle}});
    }
  } else if (request.op == Op::kModifyQp && request.read(modify)) {
    const VerbsQp* qp = find_qp(process, modify.qp);
    if (qp == nullptr) return event;
    event.kind = "qp_modify";
    event.qpn = qp->qpn;
    event.fields.push_back({"from", state_name(process, *qp)});
  }
  return event;
}

void WorldTrace::emit_call(Process& process, const Request& request, const Reply& reply, TraceEvent& event) {
  const auto number = [&](std::string_view key, std::uint64_t value, bool hex = false) {
    event.fields.push_back({key, value, hex});
  };
  verbs::Handle handle{};
  verbs::CqInfo cq;
  verbs::QueueInfo srq;
  verbs::QpInfo qp;
  verbs::MrKeys keys;
  switch (request.op) {
    case Op::kAllocPd:
      event.kind = "pd_alloc";
      if (read_body(reply, handle)) number("handle", handle.handle);
      break;
    case Op::kRegMr: {
      verbs::RegMr ask;
      event.kind = "mr_reg";
      if (!request.read(ask)) break;
      number("address", ask.address, true);
      number("length", ask.length_B);
      number("access", ask.access, true);
      if (reply.error == 0 && read_body(reply, keys)) number("key", keys.lkey, true);
      break;
    }
    case Op::kCreateCq: {
      verbs::CreateCq ask;
      event.kind = "cq_create";
      if (request.read_head(ask)) number("entries", ask.entries);
      if (reply.error == 0 && read_body(reply, cq)) number("handle", cq.ring.handle);
      break;
    }
    case Op::kCreateSrq:
      event.kind = "srq_create";
      if (reply.error == 0 && read_body(reply, srq)) number("handle", srq.handle);
      break;
    case Op::kModifySrq: {
      verbs::ModifySrq ask;
      event.kind = "srq_modify";
      if (request.read_head(ask)) number("limit", ask.limit);
      break;
    }
    case Op::kCreateQp: {
      verbs::CreateQp ask;
      event.kind = "qp_create";
      if (request.read_head(ask)) event.fields.push_back({"type", type_of(ask.type)});
      if (reply.error == 0 && read_body(reply, qp)) event.qpn = qp.qpn;
      break;
    }
    case Op::kModifyQp: {
      verbs::ModifyQp ask;
      if (event.kind.empty() || !request.read(ask)) break;
      const VerbsQp* now = find_qp(process, ask.qp);
      event.fields.push_back({"to", now == nullptr ? std::string("?") : state_name(process, *now)});
      if ((ask.mask & IBV_QP_DEST_QPN) != 0) number("dest_qp", ask.attr.dest_qpn, true);
      break;
    }
    case Op::kCreateAh:
      event.kind = "ah_create";
      if (read_body(reply, handle)) number("handle", handle.handle);
      break;
    case Op::kDestroy:
      break;
    default:
      return;
  }
  if (event.kind.empty()) return;
  if (reply.error != 0) number("errno", static_cast<std::uint64_t>(reply.error));
  sink_->emit(event);
}

void WorldTrace::async(const nic::Device& device, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps) {
  if (!active()) return;
  const bool port = kind == nic::AsyncKind::kPortActive || kind == nic::AsyncKind::kPortError;
  TraceEvent event;
  event.at_ps = now_ps;
  event.kind = "async";
  const std::string& name = world_.book()[device.port_id()].name;
  event.node = name.substr(0, name.find(':'));
  event.fields.push_back({"device", device.name()});
  event.fields.push_back({"type", std::string(nic::name(kind))});
  if (port) {
    event.fields.push_back({"port", std::uint64_t{number}});
  } else if (kind == nic::AsyncKind::kCqError || kind == nic::AsyncKind::kSrqLimitReached) {
    event.fields.push_back({"number", std::uint64_t{number}});
  } else {
    event.qpn = number;
  }
  if (nic::is_internal(kind) && modifying_) return;  // the program has asked for it
  if (nic::is_internal(kind)) event.kind = "qp_error";
  sink_->emit(event);
}

void WorldTrace::link(std::size_t link, bool up, Time_ps now_ps) {
  if (!active()) return;
  const lab::LinkConfig& config = world_.lab().links[link];
  for (auto [end, other] : {std::pair(config.a, config.b), std::pair(config.b, config.a)}) {
    TraceEvent event;
    event.at_ps = now_ps;
    event.kind = up ? "link_up" : "link_down";
    const std::string name = lab::port_name(world_.lab(), end);
    event.node = name.substr(0, name.find(':'));
    event.fields.push_back({"port", name});
    event.fields.push_back({"peer", lab::port_name(world_.lab(), other)});
    sink_->emit(event);
  }
  if (config.a.is_switch() && config.b.is_switch()) routes(link, up, now_ps);
}

// Each switch changes its table when it has noticed.
void WorldTrace::routes(std::size_t link, bool up, Time_ps now_ps) {
  const std::string cause =
      fmt::format("{} {}", lab::port_name(world_.lab(), world_.lab().links[link].a), up ? "up" : "down");
  for (const lab::SwitchConfig& device : world_.lab().switches) {
    session_->changes().at(now_ps + device.routing.convergence_ps, [this, &device, cause](Time_ps then_ps) {
      if (!active()) return;
      TraceEvent event;
      event.at_ps = then_ps;
      event.kind = "routes";
      event.node = device.name;
      event.fields.push_back({"cause", cause});
      sink_->emit(event);
    });
  }
}

}  // namespace weft::live
