// Waits without waiting: loops of calls that return at once, until another thread has done something. On Linux time
// passes meanwhile. And locks that are held around such calls.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "interop/programs/waits_probe.h"

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

struct Verbs {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* near = nullptr;
  ibv_qp* far = nullptr;
  char* memory = nullptr;
  ibv_mr* region = nullptr;

  Verbs() {
    ibv_device** devices = ibv_get_device_list(nullptr);
    context = devices == nullptr || devices[0] == nullptr ? nullptr : ibv_open_device(devices[0]);
    if (context == nullptr) exit(1);
    pd = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 256, nullptr, channel, 0);
    memory = static_cast<char*>(calloc(1, 8192));
    region = ibv_reg_mr(pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    near = make_qp();
    far = make_qp();
    if (near == nullptr || far == nullptr || region == nullptr) exit(1);
    connect_qp(near, far);
    connect_qp(far, near);
  }
  ibv_qp* make_qp() const {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {128, 4, 1, 1, 0};
    return ibv_create_qp(pd, &wanted);
  }
  void connect_qp(ibv_qp* qp, const ibv_qp* to) const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = to->qp_num;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = 3;
    attr.ah_attr.grh.hop_limit = 64;
    ibv_query_gid(context, 1, 3, &attr.ah_attr.grh.dgid);
    error |= ibv_modify_qp(qp, &attr,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    error |= ibv_modify_qp(
        qp, &attr,
        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error != 0) exit(1);
  }
  int post() const {
    ibv_sge part{reinterpret_cast<uint64_t>(memory), 64, region->lkey};
    ibv_send_wr wanted{}, *bad = nullptr;
    wanted.sg_list = &part;
    wanted.num_sge = 1;
    wanted.opcode = IBV_WR_RDMA_WRITE;
    wanted.send_flags = IBV_SEND_SIGNALED;
    wanted.wr.rdma = {reinterpret_cast<uint64_t>(memory) + 4096, region->rkey};
    return ibv_post_send(near, &wanted, &bad);
  }
  void set_error(ibv_qp* qp) const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp, &attr, IBV_QP_STATE);
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

struct Lock {
  const char* name;
  std::function<void()> take, give;
};

// Threads that poll inside of a lock, and one that wants it every 100 us, 20 times.
int locks_around_polls() {
  Verbs verbs;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_spinlock_t spin;
  static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
  static sem_t semaphore;
  static mtx_t c11;
  pthread_spin_init(&spin, 0);
  sem_init(&semaphore, 0, 1);
  mtx_init(&c11, mtx_plain);
  const Lock locks[] = {
      {"mutex", [] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); }},
      {"spin", [] { pthread_spin_lock(&spin); }, [] { pthread_spin_unlock(&spin); }},
      {"rwlock", [] { pthread_rwlock_wrlock(&both); }, [] { pthread_rwlock_unlock(&both); }},
      {"semaphore", [] { sem_wait(&semaphore); }, [] { sem_post(&semaphore); }},
      {"c11", [] { mtx_lock(&c11); }, [] { mtx_unlock(&c11); }},
  };
  for (const int pollers : {1, 3}) {
    for (const Lock& lock : locks) {
      static std::atomic<bool> stop;
      stop = false;
      std::thread threads[3];
      for (int i = 0; i < pollers; ++i) {
        threads[i] = std::thread([&] {
          ibv_wc entry;
          while (!stop) {
            lock.take();
            ibv_poll_cq(verbs.cq, 1, &entry);
            lock.give();
          }
        });
      }
      const int64_t since_ns = now_ns();
      for (int i = 0; i < 20; ++i) {
        usleep(100);
        lock.take();
        lock.give();
      }
      // 2 ms of sleep, and a tenth more at most.
      print(lock.name, now_ns() - since_ns < 2'200'000 ? 2 : (now_ns() - since_ns) / 1'000'000);
      stop = true;
      for (int i = 0; i < pollers; ++i) threads[i].join();
    }
  }
  return 0;
}

// One thread posts and another polls, each inside of the same lock.
int posts_beside_polls() {
  Verbs verbs;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<int> done{0};
  constexpr int kPosts = 300;
  const int64_t since_ns = now_ns();
  std::thread progress([&] {
    ibv_wc entry;
    while (done < kPosts) {
      pthread_mutex_lock(&mutex);
      if (ibv_poll_cq(verbs.cq, 1, &entry) > 0) ++done;
      pthread_mutex_unlock(&mutex);
    }
  });
  for (int posted = 0; posted < kPosts;) {
    pthread_mutex_lock(&mutex);
    posted += verbs.post() == 0 ? 1 : 0;
    pthread_mutex_unlock(&mutex);
  }
  progress.join();
  print("completions", done);
  print("within_ms", (now_ns() - since_ns) / 1'000'000 < 5 ? 5 : (now_ns() - since_ns) / 1'000'000);
  return 0;
}

void say(const char* name, long result, int shown = 0) {
  printf("%s %ld %s %x\n", name, result, result < 0 ? strerrorname_np(errno) : "0", static_cast<unsigned>(shown));
  fflush(stdout);
}

int odd_descriptors() {
  fd_set set;
  timeval soon{0, 1000};
  FD_ZERO(&set);
  FD_SET(40, &set);
  say("select_closed", select(41, &set, nullptr, nullptr, &soon));
  say("select_closed_no_timeout", select(41, &set, nullptr, nullptr, nullptr));
  FD_ZERO(&set);
  FD_SET(900, &set);
  soon = {0, 1000};
  say("select_beyond_table", select(901, &set, nullptr, nullptr, &soon));
  FD_ZERO(&set);
  soon = {0, 1000};
  say("select_beyond_set", select(2000, &set, nullptr, nullptr, &soon));
  soon = {0, -5};
  say("select_negative_time", select(0, nullptr, nullptr, nullptr, &soon));
  soon = {0, 2'000'000};
  say("select_many_us", select(0, nullptr, nullptr, nullptr, &soon));
  say("select_negative_count", select(-1, nullptr, nullptr, nullptr, &soon));
  pollfd fds[2] = {{901, POLLIN, 0}, {-1, POLLIN, 0}};
  long ready = poll(fds, 2, 10);
  say("poll_closed", ready, fds[0].revents);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  say("poll_no_address", poll(reinterpret_cast<pollfd*>(8), 3, 10));
  const timespec bad{-1, 0};
  say("ppoll_negative_time", ppoll(nullptr, 0, &bad, nullptr));
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  listen(listener, 1);
  fds[0] = {listener, POLLIN, 0};
  fds[1] = {902, POLLIN, 0};
  ready = poll(fds, 2, 10);
  say("poll_closed_beside_listener", ready, fds[1].revents);
  io_uring_params wanted{};
  const auto ring = static_cast<int>(syscall(SYS_io_uring_setup, 8, &wanted));
  if (ring >= 0) {
    fds[0] = {ring, POLLIN, 0};
    ready = poll(fds, 1, 10);
    say("poll_io_uring", ready, fds[0].revents);
  }
  const int outer = epoll_create1(0), inner = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  say("epoll_itself", epoll_ctl(outer, EPOLL_CTL_ADD, outer, &event));
  say("epoll_inner", epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event));
  say("epoll_loop", epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event));
  say("epoll_wait", epoll_wait(outer, &event, 1, 10));
  return 0;
}

// Until somebody outside makes a file.
int naps() {
  const char* const flag = getenv("PROBE_FLAG");
  constexpr int kMostNaps = 3'000'000;
  int count = 0;
  while (flag != nullptr && access(flag, F_OK) != 0 && ++count < kMostNaps) usleep(0);
  print("seen", count < kMostNaps ? 1 : 0);
  return 0;
}

}  // namespace

extern const Case kBusyCases[] = {
    {"zero_sleeps", zero_sleeps},
    {"nothing_to_take", nothing_to_take},
    {"both_look", both_look},
    {"locks_around_polls", locks_around_polls},
    {"posts_beside_polls", posts_beside_polls},
    {"odd_descriptors", odd_descriptors},
    {"naps", naps},
    {nullptr, nullptr},
};
