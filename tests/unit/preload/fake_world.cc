#include "unit/preload/fake_world.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "verbs/wait_protocol.h"

namespace weft::test {

using verbs::Op;

namespace {

int make_page(std::size_t size_B) {
  const int fd = memfd_create("weft-test", 0);
  if (ftruncate(fd, static_cast<off_t>(size_B)) != 0) abort();
  return fd;
}

}  // namespace

verbs::Address FakeWorld::address_of(const std::string& node) {
  verbs::Address address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 0}};
  if (node == "left") address.bytes[15] = 1;
  if (node == "right") address.bytes[15] = 2;
  return address;
}

FakeWorld::FakeWorld(verbs::Clock clock) : clock_(clock) {
  char folder[] = "/tmp/weft-preload-XXXXXX";
  path_ = std::string(mkdtemp(folder)) + "/world";
  listener_ = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 16) != 0)
    abort();
  stop_ = eventfd(0, 0);
  thread_ = std::thread([this] { run(); });
}

FakeWorld::~FakeWorld() {
  const std::uint64_t one = 1;
  if (write(stop_, &one, sizeof one) != sizeof one) abort();
  thread_.join();
  for (auto& client : clients_) close(client->fd);
  close(listener_);
  close(stop_);
  unlink(path_.c_str());
  rmdir(path_.substr(0, path_.rfind('/')).c_str());
}

void FakeWorld::run() {
  for (;;) {
    std::vector<pollfd> fds = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& client : clients_) fds.push_back({client->fd, POLLIN, 0});
    quiet_ = poll(fds.data(), fds.size(), 20) == 0;
    if (fds[0].revents != 0) return;
    for (std::size_t i = 2; i < fds.size(); ++i) {
      if (fds[i].revents != 0) read_request(*clients_[i - 2]);
    }
    std::erase_if(clients_, [](const auto& client) { return client->fd < 0; });
    if (fds[1].revents != 0) {
      clients_.push_back(std::make_unique<Client>());
      clients_.back()->fd = accept(listener_, nullptr, nullptr);
    }
    do {
      for (auto& client : clients_) {
        if (client->parked && try_serve(*client)) client->parked = false;
      }
    } while (advance());
  }
}

void FakeWorld::read_request(Client& client) {
  char bytes[sizeof(verbs::RequestHead) + verbs::kMaxMessage_B];
  const ssize_t size_B = recv(client.fd, bytes, sizeof bytes, 0);
  if (size_B < static_cast<ssize_t>(sizeof client.head)) {
    close(client.fd);
    client.fd = -1;
    return;
  }
  verbs::RequestHead head;
  memcpy(&head, bytes, sizeof head);
  if (head.op == Op::kCancel) {
    // What waits ends; every other request has its reply by now.
    if (client.parked) reply(client, EINTR);
    client.parked = false;
    client.head.local_ps = std::max(client.head.local_ps, head.local_ps);
    reply(client, verbs::kCancelDone);
    return;
  }
  client.head = head;
  client.body.assign(bytes + sizeof client.head, static_cast<std::size_t>(size_B) - sizeof client.head);
  client.parked = true;
}

void FakeWorld::reply(Client& client, int error, const void* bytes, std::size_t size_B, const int* fds) {
  const std::int64_t now_ps = std::max(now_ps_, client.head.local_ps);
  verbs::ReplyHead head{error, static_cast<std::uint32_t>(size_B), now_ps};
  iovec pieces[2] = {{&head, sizeof head}, {const_cast<void*>(bytes), size_B}};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  if (fds != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(rights), fds, 2 * sizeof(int));
  }
  sendmsg(client.fd, &message, MSG_NOSIGNAL);
}

void FakeWorld::hello(Client& client) {
  const auto hello = body_as<verbs::Hello>(client.body);
  client.pid = hello.pid;
  client.tid = hello.tid;
  client.node = hello.node;
  ++hellos_;
  const int fds[2] = {make_page(sizeof(verbs::ThreadPage)), make_page(sizeof(verbs::ProcessPage))};
  void* page = mmap(nullptr, sizeof(verbs::ThreadPage), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
  client.page = static_cast<verbs::ThreadPage*>(page);
  client.page->local_ps = now_ps_;
  verbs::Welcome welcome{};
  welcome.clock = clock_;
  welcome.costs.clock_read_ps = kClockRead_ps;
  welcome.epoch_ns = kEpoch_ns;
  reply(client, 0, &welcome, sizeof welcome, fds);
  close(fds[0]);
  close(fds[1]);
}

bool FakeWorld::try_serve(Client& client) {
  switch (client.head.op) {
    case Op::kHello:
      hello(client);
      return true;
    case Op::kSleep:
      if (std::max(now_ps_, client.head.local_ps) < body_as<verbs::Sleep>(client.body).until_ps) return false;
      reply(client, 0);
      return true;
    case Op::kWaitForChange: {
      const auto ask = body_as<verbs::WaitForChange>(client.body);
      char bytes[verbs::kMaxWatched_B];
      const iovec here{bytes, ask.size_B}, there{reinterpret_cast<void*>(ask.address), ask.size_B};
      const bool same = process_vm_readv(client.pid, &here, 1, &there, 1, 0) == ask.size_B &&
                        memcmp(bytes, ask.before, ask.size_B) == 0;
      if (same && std::max(now_ps_, client.head.local_ps) < ask.until_ps) return false;
      reply(client, 0);
      return true;
    }
    case Op::kNudge:
    case Op::kSignalled:
    case Op::kInterrupt:
      reply(client, 0);
      return true;
    case Op::kSetTimer: {
      auto wanted = body_as<verbs::SetTimer>(client.body);
      const verbs::TimerLeft left{0};
      timers_.erase(client.pid);
      if (wanted.after_ps != 0) {
        wanted.after_ps += std::max(now_ps_, client.head.local_ps);
        timers_[client.pid] = wanted;
      }
      reply(client, 0, &left, sizeof left);
      return true;
    }
    case Op::kLookUp: {
      const auto name = body_as<verbs::LookUp>(client.body);
      const verbs::Address address = address_of(name.name);
      if (address.bytes[15] == 0) {
        reply(client, ENOENT);
      } else {
        reply(client, 0, &address, sizeof address);
      }
      return true;
    }
    case Op::kNodeName: {
      verbs::LookUp name{};
      strncpy(name.name, client.node.c_str(), sizeof name.name - 1);
      reply(client, 0, &name, sizeof name);
      return true;
    }
    case Op::kInterfaces: {
      verbs::InterfaceInfo list[2] = {};
      strcpy(list[0].name, "lo");
      list[0].index = 1;
      list[0].flags = IFF_LOOPBACK;
      list[0].prefix_bits = 8;
      list[0].address = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
      strcpy(list[1].name, "p0");
      list[1].index = 2;
      list[1].prefix_bits = 24;
      list[1].address = address_of(client.node);
      reply(client, 0, list, sizeof list);
      return true;
    }
    default:
      return try_stream(client);
  }
}

// A thread that nobody of this world keeps waiting: it sleeps in the kernel, for a child or another thread.
bool FakeWorld::sleeps_outside(const Client& client) const {
  std::ifstream stat("/proc/" + std::to_string(client.pid) + "/task/" + std::to_string(client.tid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() && text[name_end + 2] == 'S';
}

// The next moment that a parked thread, a stream or a timer waits for; only when nobody runs.
bool FakeWorld::advance() {
  std::int64_t next_ps = INT64_MAX;
  for (const auto& client : clients_) {
    if (!client->parked) {
      if (quiet_ && sleeps_outside(*client)) continue;
      return false;
    }
    if (client->head.op == Op::kSleep) next_ps = std::min(next_ps, body_as<verbs::Sleep>(client->body).until_ps);
    // Threads are not announced here: who will write those bytes may be about to come in.
    if (client->head.op == Op::kWaitForChange && !quiet_) return false;
    if (client->head.op == Op::kWaitForChange)
      next_ps = std::min(next_ps, body_as<verbs::WaitForChange>(client->body).until_ps);
    if (client->head.op == Op::kWait) next_ps = std::min(next_ps, body_as<verbs::Wait>(client->body).until_ps);
  }
  for (const Stream& stream : streams_) {
    if (!stream.arriving.empty() && stream.arriving.front().first > now_ps_) {
      next_ps = std::min(next_ps, stream.arriving.front().first);
    }
  }
  for (const auto& [pid, timer] : timers_) next_ps = std::min(next_ps, timer.after_ps);
  if (clients_.empty() || next_ps == INT64_MAX || next_ps <= now_ps_) return false;
  now_ps_ = next_ps;
  quiet_ = false;
  return !fire_timers();
}

// Whether a handler may have begun to run: then the world looks at its connections first.
bool FakeWorld::fire_timers() {
  bool fired = false;
  for (auto it = timers_.begin(); it != timers_.end();) {
    auto& [pid, timer] = *it;
    if (timer.after_ps > now_ps_) {
      ++it;
      continue;
    }
    const pid_t target = pid;
    timer.after_ps += timer.interval_ps;
    it = timer.interval_ps == 0 ? timers_.erase(it) : std::next(it);
    kill(target, SIGALRM);
    usleep(20'000);  // the handler runs before the world goes on
    fired = true;
  }
  return fired;
}

}  // namespace weft::test
