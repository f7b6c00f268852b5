// What a device tells its host outside any completion queue, and how the program that it concerns gets it.
#include <algorithm>
#include <cerrno>

#include "live/server.h"

namespace weft::live {

namespace {

constexpr std::size_t kMostEvents = 4096;  // that nobody fetches; more are lost, as in a full event queue

// The object that the event is about, by the name that the program gave it; none: it is not this process's.
std::optional<std::uint64_t> cookie_of(const Process& process, std::uint32_t device, nic::AsyncKind kind,
                                       std::uint32_t number) {
  if (kind == nic::AsyncKind::kCqError) {
    for (const auto& [handle, cq] : process.cqs) {
      if (cq->device == device && cq->nic_cq == number) return cq->cookie;
    }
    return std::nullopt;
  }
  if (kind == nic::AsyncKind::kSrqLimitReached) {
    for (const auto& [handle, srq] : process.srqs) {
      if (srq->device == device && srq->nic_srq == number) return srq->cookie;
    }
    return std::nullopt;
  }
  auto qp = process.qp_by_number.find({device, number});
  return qp == process.qp_by_number.end() ? std::nullopt : std::optional(qp->second->cookie);
}

}  // namespace

void AsyncChannel::push(const verbs::AsyncEvent& event) {
  if (events.size() >= kMostEvents) return;
  events.push_back(event);
  raise_event(eventfd.fd);
}

verbs::AsyncEvent AsyncChannel::pop() {
  verbs::AsyncEvent event = events.front();
  events.pop_front();
  lower_event(eventfd.fd);
  return event;
}

void AsyncChannel::forget(std::uint64_t cookie) {
  for (std::size_t left = events.size(); left > 0; --left) {
    verbs::AsyncEvent event = pop();
    if (event.cookie != cookie) push(event);
  }
}

void Server::on_async(void* self, nic::Device& device, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps) {
  for (const auto& node : static_cast<Server*>(self)->nodes_) {
    host::Host& host = node->host();
    for (std::uint32_t index = 0; index < host.device_count(); ++index) {
      if (&host.device(index) != &device) continue;
      for (const auto& process : node->processes) {
        auto channel = process->async.find(index);
        auto cookie = cookie_of(*process, index, kind, number);
        if (!cookie || channel == process->async.end()) continue;
        node->at(now_ps, 0,
                 [node = node.get(), process, index,
                  event = verbs::AsyncEvent{static_cast<std::uint32_t>(kind), *cookie}](Time_ps at_ps) {
                   auto open = process->async.find(index);
                   if (open == process->async.end()) return;
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
  return Reply::of(channel->second->pop());
}

}  // namespace weft::live
