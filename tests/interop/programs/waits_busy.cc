// Waits without waiting: loops of calls that return at once, until another thread has done something. On Linux time
// passes meanwhile.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "interop/programs/waits_probe.h"
#include "interop/programs/waits_verbs.h"

namespace {

constexpr int kMost = 50'000'000;  // tries, after which it is not going to happen

// How long it takes, in ms, until `is_over` holds; `act` runs in another thread after 3 ms.
void until(const char* name, const std::function<void()>& act, const std::function<bool()>& is_over) {
  const int64_t since_ns = now_ns();
  std::thread other([&] {
    usleep(3000);
    act();
  });
  int tries = 0;
  while (!is_over() && ++tries < kMost) {
  }
  print(name, tries < kMost ? (now_ns() - since_ns + 500'000) / 1'000'000 : -1);
  other.join();
}

int zero_sleeps() {
  static std::atomic<bool> flag;
  const auto wait = [](const char* name, const std::function<void()>& nap) {
    flag = false;
    until(
        name, [] { flag = true; },
        [&] {
          nap();
          return flag.load();
        });
  };
  static const timespec none{0, 0};
  wait("usleep", [] { usleep(0); });
  wait("sleep", [] { sleep(0); });
  wait("nanosleep", [] { nanosleep(&none, nullptr); });
  wait("clock_nanosleep", [] { clock_nanosleep(CLOCK_MONOTONIC, 0, &none, nullptr); });
  wait("thrd_sleep", [] { thrd_sleep(&none, nullptr); });
  return 0;
}

struct TcpPair {
  int listener, near, far;
  explicit TcpPair(int port) : listener(socket(AF_INET, SOCK_STREAM, 0)), near(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    const auto* address = reinterpret_cast<const sockaddr*>(&at);
    if (bind(listener, address, sizeof at) != 0 || listen(listener, 4) != 0 || connect(near, address, sizeof at) != 0)
      exit(1);
    far = accept(listener, nullptr, nullptr);
  }
  ~TcpPair() {
    close(near);
    close(far);
    close(listener);
  }
};

void set_nonblocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

int nothing_to_take() {
  char byte;
  {
    TcpPair tcp(7601);
    const auto send_byte = [&] { (void)!write(tcp.far, "x", 1); };
    until("recv", send_byte, [&] { return recv(tcp.near, &byte, 1, MSG_DONTWAIT) == 1; });
    until("peek", send_byte, [&] { return recv(tcp.near, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1; });
  }
  {
    TcpPair tcp(7602);
    static char block[1 << 16];
    set_nonblocking(tcp.near);
    while (write(tcp.near, block, sizeof block) > 0) {
    }
    until(
        "send",
        [&] {
          set_nonblocking(tcp.far);
          pollfd more{tcp.far, POLLIN, 0};
          while (poll(&more, 1, 1) > 0 && read(tcp.far, block, sizeof block) > 0) {
          }
        },
        [&] { return send(tcp.near, block, 1024, 0) > 0; });
    set_nonblocking(tcp.listener);
    until(
        "accept",
        [&] {
          sockaddr_in at{};
          socklen_t size = sizeof at;
          getsockname(tcp.listener, reinterpret_cast<sockaddr*>(&at), &size);
          inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
          connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<const sockaddr*>(&at), sizeof at);
        },
        [&] { return accept(tcp.listener, nullptr, nullptr) >= 0; });
  }
  {
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    const itimerspec after{{0, 0}, {0, 3'000'000}};
    timerfd_settime(timer, 0, &after, nullptr);
    uint64_t count;
    until(
        "timerfd", [] {}, [&] { return read(timer, &count, 8) == 8; });
    close(timer);
  }
  Verbs verbs;
  set_nonblocking(verbs.channel->fd);
  set_nonblocking(verbs.context->async_fd);
  ibv_req_notify_cq(verbs.cq, 0);
  until(
      "cq_event", [&] { verbs.post(); },
      [&] {
        ibv_cq* of = nullptr;
        void* cookie = nullptr;
        if (ibv_get_cq_event(verbs.channel, &of, &cookie) != 0) return false;
        ibv_ack_cq_events(of, 1);
        return true;
      });
  until(
      "query_qp", [&] { verbs.set_error(verbs.near); },
      [&] {
        ibv_qp_attr attr;
        ibv_qp_init_attr made;
        ibv_query_qp(verbs.near, &attr, IBV_QP_STATE, &made);
        return attr.qp_state == IBV_QPS_ERR;
      });
  return 0;
}

// Two threads look for what a third one does: neither keeps the other from letting time pass.
int both_look() {
  static std::atomic<bool> flag{false};
  TcpPair tcp(7603);
  const auto look = [&](int fd) {
    char byte;
    while (!flag && recv(fd, &byte, 1, MSG_DONTWAIT) < 0) usleep(0);
  };
  std::thread other([&] { look(tcp.far); });
  until(
      "both", [] { flag = true; },
      [&] {
        look(tcp.near);
        return flag.load();
      });
  other.join();
  return 0;
}

// A loop of calls that each do something: another thread listens after 3 ms.
int refused_connects() {
  static sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(7604);
  inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
  static const auto* const address = reinterpret_cast<const sockaddr*>(&at);
  until(
      "connect",
      [] {
        const int listener = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(listener, address, sizeof at) != 0 || listen(listener, 4) != 0) exit(1);
      },
      [] {
        const int tried = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        int failed = 0;
        do {
          failed = connect(tried, address, sizeof at) == 0 ? 0 : errno;
        } while (failed == EINPROGRESS || failed == EALREADY);
        close(tried);
        return failed == 0 || failed == EISCONN;
      });
  return 0;
}

// Calls that each do something, without end.
int calls_without_end() {
  for (;;) close(socket(AF_INET, SOCK_STREAM, 0));
}

}  // namespace

extern const Case kBusyCases[] = {
    {"zero_sleeps", zero_sleeps},           {"nothing_to_take", nothing_to_take},     {"both_look", both_look},
    {"refused_connects", refused_connects}, {"calls_without_end", calls_without_end}, {nullptr, nullptr},
};
