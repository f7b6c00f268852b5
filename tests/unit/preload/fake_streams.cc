#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "unit/preload/fake_world.h"
#include "verbs/stream_protocol.h"

namespace weft::test {

using verbs::Op;

std::uint32_t FakeWorld::readiness(std::uint32_t handle) const {
  const Stream& stream = streams_.at(handle);
  std::uint32_t ready = 0;
  if (!stream.backlog.empty()) ready |= POLLIN;
  if (!stream.arriving.empty() && stream.arriving.front().first <= now_ps_) ready |= POLLIN;
  if (stream.arriving.empty() && stream.end) ready |= POLLIN | POLLHUP;
  if (stream.connected) ready |= POLLOUT;
  return ready;
}

// What stands for a stream in the program.
void FakeWorld::reply_with_socket(Client& client, const void* bytes, std::size_t size_B) {
  const int fds[2] = {eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)};
  reply(client, 0, bytes, size_B, fds);
  for (int fd : fds) close(fd);
}

// Whether the request is answered. Every body starts with the handle of the stream, but for open and wait.
bool FakeWorld::try_stream(Client& client) {
  const auto handle = body_as<std::uint32_t>(client.body);
  now_ps_ = std::max(now_ps_, client.head.local_ps);
  switch (client.head.op) {
    case Op::kStreamOpen: {
      const verbs::Handle made{static_cast<std::uint32_t>(streams_.size())};
      streams_.emplace_back();
      reply_with_socket(client, &made, sizeof made);
      return true;
    }
    case Op::kStreamBind: {
      auto wanted = body_as<verbs::StreamAddress>(client.body);
      if (wanted.port == 0) wanted.port = next_port_++;
      for (const Stream& each : streams_) {
        if (each.closed || each.node != client.node || each.local.port != wanted.port) continue;
        reply(client, EADDRINUSE);
        return true;
      }
      streams_[handle].node = client.node;
      streams_[handle].local = wanted;
      reply(client, 0, &wanted, sizeof wanted);
      return true;
    }
    case Op::kStreamListen:
      streams_[handle].listening = true;
      reply(client, 0);
      return true;
    case Op::kStreamConnect: {
      const auto wanted = body_as<verbs::StreamAddress>(client.body);
      Stream& own = streams_[handle];
      own.local.address = address_of(client.node);
      if (own.connected) {
        reply(client, EISCONN);
        return true;
      }
      for (Stream& listener : streams_) {
        if (!listener.listening || listener.closed || listener.local.port != wanted.port) continue;
        if (own.local.port == 0) own.local.port = next_port_++;
        own.connected = true;
        own.other = static_cast<std::uint32_t>(streams_.size());
        Stream accepted;
        accepted.connected = true;
        accepted.other = handle;
        accepted.remote = own.local;
        listener.backlog.push_back(own.other);
        if (wanted.wait != 0) {
          reply(client, 0, &own.local, sizeof own.local);
        } else {
          reply(client, EINPROGRESS);
        }
        streams_.push_back(accepted);
        return true;
      }
      reply(client, ECONNREFUSED);
      return true;
    }
    case Op::kStreamAccept: {
      Stream& listener = streams_[handle];
      if (listener.backlog.empty()) {
        if (body_as<verbs::StreamWait>(client.body).wait != 0) return false;
        reply(client, EAGAIN);
        return true;
      }
      const std::uint32_t next = listener.backlog.front();
      listener.backlog.erase(listener.backlog.begin());
      verbs::StreamAccepted accepted{next, streams_[next].remote.address, streams_[next].remote.port};
      reply_with_socket(client, &accepted, sizeof accepted);
      return true;
    }
    case Op::kStreamSend: {
      Stream& own = streams_[handle];
      if (streams_[own.other].closed) {
        reply(client, EPIPE);
        return true;
      }
      streams_[own.other].arriving.emplace_back(now_ps_ + kLatency_ps, client.body.substr(sizeof(verbs::StreamBytes)));
      const verbs::Count count{body_as<verbs::StreamBytes>(client.body).size_B};
      reply(client, 0, &count, sizeof count);
      return true;
    }
    case Op::kStreamReceive: {
      const auto wanted = body_as<verbs::StreamReceive>(client.body);
      Stream& own = streams_[handle];
      if (own.arriving.empty() && own.end) {
        reply(client, 0);
        return true;
      }
      if (own.arriving.empty() || own.arriving.front().first > now_ps_) {
        if (wanted.wait != 0) return false;
        reply(client, EAGAIN);
        return true;
      }
      std::string& bytes = own.arriving.front().second;
      const std::string part = bytes.substr(0, wanted.size_B);
      if (wanted.peek == 0) bytes.erase(0, part.size());
      if (bytes.empty()) own.arriving.erase(own.arriving.begin());
      reply(client, 0, part.data(), part.size());
      return true;
    }
    case Op::kStreamShutdown:
    case Op::kStreamClose: {
      Stream& own = streams_[handle];
      if (own.other != verbs::kNoHandle) streams_[own.other].end = true;
      own.closed = client.head.op == Op::kStreamClose;
      reply(client, 0);
      return true;
    }
    case Op::kStreamStatus: {
      verbs::StreamInfo info{};
      for (const auto& [at_ps, bytes] : streams_[handle].arriving) {
        if (at_ps <= now_ps_) info.readable_B += static_cast<std::uint32_t>(bytes.size());
      }
      reply(client, 0, &info, sizeof info);
      return true;
    }
    case Op::kWait: {
      const auto wait = body_as<verbs::Wait>(client.body);
      std::vector<verbs::WaitItem> items(wait.items);
      memcpy(items.data(), client.body.data() + sizeof wait, items.size() * sizeof items[0]);
      bool any = false;
      for (auto& item : items) {
        item.ready =
            item.what == verbs::WaitItem::kStream ? readiness(item.handle) & (item.wanted | POLLERR | POLLHUP) : 0;
        any = any || item.ready != 0;
      }
      // Who waits for children alone has to do without this world.
      const bool only_real = !items.empty() && std::all_of(items.begin(), items.end(), [](const auto& item) {
        return item.what == verbs::WaitItem::kReal;
      });
      if (only_real && wait.until_ps == INT64_MAX) {
        reply(client, ENOSYS);
        return true;
      }
      if (!any && now_ps_ < wait.until_ps) return false;
      reply(client, 0, items.data(), items.size() * sizeof items[0]);
      return true;
    }
    default:
      reply(client, ENOSYS);
      return true;
  }
}

}  // namespace weft::test
