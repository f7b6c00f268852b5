// The manager's own step: MADs that came, times that are over, events for programs.
#include "live/cm/cm.h"

#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::live {

CmChannel::~CmChannel() {
  if (eventfd >= 0) close(eventfd);
}

CommunicationManager::CommunicationManager(lab::World& world, Node& node, const VerbsService& verbs)
    : world_(world),
      node_(node),
      verbs_(verbs),
      random_(world.lab().seed, 0x20000 + std::uint64_t{node.index()}, RandomPurpose::kPsn) {
  host::Host& host = node.host();
  for (std::uint32_t i = 0; i < host.device_count(); ++i) ports_.push_back(std::make_unique<CmPort>(host.device(i)));
  program_ = host.start(*this, kNever_ps);
  for (const auto& port : ports_) host.wait(program_, port->device(), port->cq());
}

Time_ps CommunicationManager::step(Time_ps now_ps) {
  Time_ps next_ps = kNever_ps;
  for (const auto& port : ports_) {
    while (auto arrival = port->receive(now_ps)) receive(*port, *arrival, now_ps);
    next_ps = std::min(next_ps, node_.host().wait(program_, port->device(), port->cq()));
  }
  if (std::exchange(retry_, false)) retry_waiting(now_ps);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ps) {
    std::shared_ptr<CmId> id = ids_.at(deadlines_.begin()->second);
    stop_sending(*id);
    on_deadline(id, now_ps);
  }
  if (trace_ != nullptr && trace_->active()) trace_states(now_ps);
  return deadlines_.empty() ? next_ps : std::min(next_ps, deadlines_.begin()->first);
}

void CommunicationManager::on_deadline(const std::shared_ptr<CmId>& id, Time_ps now_ps) {
  if (id->retries_left > 0) {
    --id->retries_left;
    ports_[id->device]->send(id->last, id->to_port, now_ps);
    set_deadline(*id, now_ps + id->wait_ps);
    return;
  }
  switch (id->state) {
    case CmState::kResolving:
      id->state = CmState::kBound;
      tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, now_ps);
      break;
    case CmState::kReqSent:
    case CmState::kRepSent:
    case CmState::kSidrSent:
      id->state = CmState::kDone;
      tell(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, now_ps);
      break;
    case CmState::kDreqSent:
      enter_time_wait(*id, now_ps);
      tell(id, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT, now_ps);
      break;
    case CmState::kTimeWait:
      id->state = CmState::kDone;
      tell(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, now_ps);
      break;
    default:
      break;
  }
}

void CommunicationManager::set_deadline(CmId& id, Time_ps deadline_ps) {
  if (id.deadline_ps != kNever_ps) deadlines_.erase({id.deadline_ps, id.number});
  id.deadline_ps = deadline_ps;
  if (deadline_ps == kNever_ps) return;
  deadlines_.insert({deadline_ps, id.number});
  node_.host().wake(program_, deadline_ps);
}

void CommunicationManager::enter_time_wait(CmId& id, Time_ps now_ps) {
  id.state = CmState::kTimeWait;
  id.retries_left = 0;
  set_deadline(id, now_ps + cm_time_ps(id.ack_timeout));
}

void CommunicationManager::send(CmId& id, const wire::CmMessage& message, Time_ps now_ps) {
  ports_[id.device]->send(wire::build_cm_mad(message), id.to_port, now_ps);
}

void CommunicationManager::send_until_answered(CmId& id, const wire::CmMessage& message, Time_ps wait_ps,
                                               Time_ps now_ps) {
  id.last = wire::build_cm_mad(message);
  id.retries_left = id.max_retries;
  id.wait_ps = wait_ps;
  ports_[id.device]->send(id.last, id.to_port, now_ps);
  set_deadline(id, now_ps + wait_ps);
}

std::shared_ptr<CmId> CommunicationManager::find_id(Process& process, std::uint32_t handle) {
  auto found = process.cm_ids.find(handle);
  return found == process.cm_ids.end() ? nullptr : found->second;
}

verbs::CmIdInfo CommunicationManager::describe(const CmId& id) const {
  verbs::CmIdInfo info{};
  info.id = id.handle;
  info.device = id.device;
  info.local_port = id.local_port;
  info.remote_port = id.remote_port;
  std::memcpy(info.local.bytes, id.local.data(), sizeof(info.local.bytes));
  std::memcpy(info.remote.bytes, id.remote.data(), sizeof(info.remote.bytes));
  info.mtu = id.device == verbs::kNoHandle ? 0 : verbs_.describe(id.device).active_mtu;
  info.traffic_class = id.tos;
  return info;
}

void CommunicationManager::tell(const std::shared_ptr<CmId>& id, std::uint32_t type, std::int32_t status,
                                Time_ps now_ps, const verbs::CmConn& conn, const std::shared_ptr<CmId>& listener) {
  CmPendingEvent pending{id, listener, {}};
  pending.event.type = type;
  pending.event.status = status;
  pending.event.info = describe(*id);
  pending.event.conn = conn;
  id->channel->events.push_back(std::move(pending));
  raise_event(id->channel->eventfd);
  for (const auto& each : id->channel->holders) {
    if (std::shared_ptr<Process> holder = each.lock(); holder && !holder->gone) node_.tell(*holder, now_ps);
  }
}

bool CommunicationManager::has_event(const Process& process, std::uint32_t channel) {
  auto found = process.cm_channels.find(channel);
  return found != process.cm_channels.end() && !found->second->events.empty();
}

void CommunicationManager::fork(const Process& parent, const std::shared_ptr<Process>& child) {
  child->cm_channels = parent.cm_channels;
  child->cm_ids = parent.cm_ids;
  for (const auto& [handle, channel] : child->cm_channels) channel->holders.push_back(child);
}

void CommunicationManager::drop(Process& process, std::uint32_t handle, Time_ps now_ps) {
  const std::shared_ptr<CmChannel> channel = process.cm_channels.at(handle);
  process.cm_channels.erase(handle);
  std::erase_if(channel->holders, [&](const std::weak_ptr<Process>& each) {
    const std::shared_ptr<Process> holder = each.lock();
    return !holder || holder.get() == &process;
  });
  std::vector<std::shared_ptr<CmId>> ids;
  for (const auto& [number, id] : process.cm_ids) {
    if (id->channel == channel) ids.push_back(id);
  }
  for (const auto& id : ids) {
    Process* heir = nullptr;
    for (const auto& each : channel->holders) {
      const std::shared_ptr<Process> holder = each.lock();
      const auto known = holder->cm_ids.find(id->handle);
      if (known != holder->cm_ids.end() && known->second == id) heir = holder.get();
    }
    if (heir == nullptr) {
      destroy(id, now_ps);
    } else if (id->process == &process) {
      id->process = heir;
    }
    process.cm_ids.erase(id->handle);
  }
}

void CommunicationManager::forget(Process& process, Time_ps now_ps) {
  while (!process.cm_channels.empty()) drop(process, process.cm_channels.begin()->first, now_ps);
  while (!process.cm_ids.empty()) {
    const auto [handle, id] = *process.cm_ids.begin();
    destroy(id, now_ps);
    process.cm_ids.erase(handle);
  }
  // The world may be idle, so that no one else would poll for what was sent.
  node_.host().wake(program_, now_ps);
}

}  // namespace weft::live
