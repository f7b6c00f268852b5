// Asynchronous events: what a device tells its host outside any completion queue, and how the program gets it.
#include <algorithm>
#include <cerrno>

#include "live/server.h"

namespace weft::live {

namespace {

constexpr std::size_t kMostEvents = 4096;  // not fetched yet; more are lost, as in a full event queue

// About no object: every process that has opened the device gets it.
bool is_of_port(std::uint32_t type) {
  return type == static_cast<std::uint32_t>(nic::AsyncKind::kPortActive) ||
         type == static_cast<std::uint32_t>(nic::AsyncKind::kPortError);
}

// The event with the handle of the object that it is about; none: it is not this process's.
std::optional<AsyncChannel::Event> event_of(const Process& process, std::uint32_t device, nic::AsyncKind kind,
                                            std::uint32_t number) {
  const auto type = static_cast<std::uint32_t>(kind);
  if (is_of_port(type)) return AsyncChannel::Event{type, verbs::Kind::kQp, verbs::kNoHandle};
  if (kind == nic::AsyncKind::kCqError) {
    for (const auto& [handle, cq] : process.cqs) {
      if (cq->device == device && cq->nic_cq == number) return AsyncChannel::Event{type, verbs::Kind::kCq, handle};
    }
    return std::nullopt;
  }
  if (kind == nic::AsyncKind::kSrqLimitReached) {
    for (const auto& [handle, srq] : process.srqs) {
      if (srq->device == device && srq->nic_srq == number) return AsyncChannel::Event{type, verbs::Kind::kSrq, handle};
    }
    return std::nullopt;
  }
  auto qp = process.qp_by_number.find({device, number});
  if (qp == process.qp_by_number.end()) return std::nullopt;
  return AsyncChannel::Event{type, verbs::Kind::kQp, qp->second->handle};
}

struct Concerned {
  std::uint64_t cookie = 0;  // the name that the program gave the object
  verbs::Destroyed* fetched = nullptr;
};
template <typename Objects>
Concerned find_in(const Objects& objects, std::uint32_t handle) {
  auto found = objects.find(handle);
  return found == objects.end() ? Concerned{} : Concerned{found->second->cookie, &found->second->fetched};
}
// Nothing in `fetched`: the object is no more.
Concerned find_concerned(const Process& process, const AsyncChannel::Event& event) {
  switch (event.kind) {
    case verbs::Kind::kCq:
      return find_in(process.cqs, event.handle);
    case verbs::Kind::kSrq:
      return find_in(process.srqs, event.handle);
    default:
      return find_in(process.qps, event.handle);
  }
}

}  // namespace

void AsyncChannel::push(const Event& event) {
  if (events.size() >= kMostEvents) return;
  events.push_back(event);
  raise_event(eventfd.fd);
}

AsyncChannel::Event AsyncChannel::pop() {
  Event event = events.front();
  events.pop_front();
  lower_event(eventfd.fd);
  return event;
}

void AsyncChannel::forget(verbs::Kind kind, std::uint32_t handle) {
  auto is_its = [&](const Event& event) { return event.kind == kind && event.handle == handle; };
  for (std::size_t count = std::erase_if(events, is_its); count > 0; --count) lower_event(eventfd.fd);
}

void Server::on_async(void* self, nic::Device& device, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps) {
  static_cast<Server*>(self)->trace_.async(device, kind, number, now_ps);
  if (nic::is_internal(kind)) return;
  for (const auto& node : static_cast<Server*>(self)->nodes_) {
    host::Host& host = node->host();
    for (std::uint32_t index = 0; index < host.device_count(); ++index) {
      if (&host.device(index) != &device) continue;
      for (const auto& process : node->processes) {
        auto channel = process->async.find(index);
        auto event = event_of(*process, index, kind, number);
        if (!event || channel == process->async.end()) continue;
        node->at(now_ps, 0, [node = node.get(), process, index, event = *event](Time_ps at_ps) {
          auto open = process->async.find(index);
          // The object may have been destroyed since.
          const bool about_nothing = !is_of_port(event.type) && find_concerned(*process, event).fetched == nullptr;
          if (open == process->async.end() || about_nothing) return;
          open->second->push(event);
          node->tell(*process, at_ps);
        });
      }
    }
  }
}

std::optional<Reply> Server::get_async_event(Process& process, const Request& request) {
  verbs::GetEvent ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto channel = process.async.find(ask.channel);
  if (channel == process.async.end()) return Reply::failed(EINVAL);
  if (channel->second->events.empty()) return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EAGAIN));
  AsyncChannel::Event event = channel->second->pop();
  Concerned concerned = find_concerned(process, event);
  if (concerned.fetched != nullptr) ++concerned.fetched->async_events;
  return Reply::of(verbs::AsyncEvent{event.type, concerned.cookie});
}

}  // namespace weft::live
