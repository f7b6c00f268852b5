// A storm of forks, with verbs in the children: each opens the device and makes queue pairs of its own, some talk to a
// child that a server on another node forks for them, some are executed, some are killed at a moment of virtual or of
// real time, some outlive their parent.
//   fork_storm serve PORT                         forks for each caller, until a byte comes in place of a caller's end
//   fork_storm storm COUNT SEED HOST PORT [WIDTH] forks COUNT children, WIDTH at a time
//   fork_storm child HOST PORT                    what an executed child does
#include <infiniband/verbs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <map>
#include <random>

#include "interop/programs/probe.h"

using namespace probe;

namespace {

constexpr std::size_t kMessage_B = 20'000;  // several packets
constexpr char kEnd = 'e', kCaller = 'c';

// What one end tells the other.
struct End {
  uint32_t qpn, rkey;
  uint64_t memory;
  ibv_gid gid;
};

// A queue pair with memory, and what it takes.
struct Queue {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
  std::string memory = std::string(2 * kMessage_B, 0);
  End end{};
};

void open_queue(Queue& queue) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  REQUIRE(devices != nullptr && count > 0);
  queue.context = ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  REQUIRE(queue.context != nullptr);
  queue.pd = ibv_alloc_pd(queue.context);
  queue.cq = ibv_create_cq(queue.context, 16, nullptr, nullptr, 0);
  REQUIRE(queue.pd != nullptr && queue.cq != nullptr);
  queue.mr =
      ibv_reg_mr(queue.pd, queue.memory.data(), queue.memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  REQUIRE(queue.mr != nullptr);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = queue.cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {4, 4, 1, 1, 0};
  queue.qp = ibv_create_qp(queue.pd, &init);
  REQUIRE(queue.qp != nullptr);
  queue.end = {queue.qp->qp_num, queue.mr->rkey, reinterpret_cast<uint64_t>(queue.memory.data()), {}};
  REQUIRE(ibv_query_gid(queue.context, 1, 3, &queue.end.gid) == 0);
}

void connect_queue(Queue& queue, const End& peer) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  REQUIRE(ibv_modify_qp(queue.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = peer.qpn;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = peer.gid;
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.grh.hop_limit = 64;
  attr.ah_attr.port_num = 1;
  REQUIRE(ibv_modify_qp(queue.qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 8;  // 1 ms, four times
  attr.retry_cnt = 3;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  REQUIRE(ibv_modify_qp(queue.qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

void close_queue(Queue& queue) {
  REQUIRE(ibv_destroy_qp(queue.qp) == 0 && ibv_dereg_mr(queue.mr) == 0 && ibv_destroy_cq(queue.cq) == 0);
  REQUIRE(ibv_dealloc_pd(queue.pd) == 0 && ibv_close_device(queue.context) == 0);
}

ibv_wc_status take(Queue& queue) {
  ibv_wc done{};
  int count = 0;
  while ((count = ibv_poll_cq(queue.cq, 1, &done)) == 0) {
  }
  REQUIRE(count == 1);
  return done.status;
}

// Writes the first half of `from`'s memory into the second half of the peer's, with an immediate.
void write_message(Queue& from, const End& to) {
  for (std::size_t i = 0; i < kMessage_B; ++i) from.memory[i] = static_cast<char>(i * 7 + from.end.qpn);
  ibv_sge sge{from.end.memory, kMessage_B, from.mr->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = to.memory + kMessage_B;
  wr.wr.rdma.rkey = to.rkey;
  REQUIRE(ibv_post_send(from.qp, &wr, &bad) == 0);
}
void post_receive(Queue& queue) {
  ibv_recv_wr wr{}, *bad = nullptr;
  REQUIRE(ibv_post_recv(queue.qp, &wr, &bad) == 0);
}
void expect_written(const Queue& queue, const End& by) {
  for (std::size_t i = 0; i < kMessage_B; ++i)
    REQUIRE(queue.memory[kMessage_B + i] == static_cast<char>(i * 7 + by.qpn));
}

// Two queue pairs of one process, through the loop of its NIC.
void talk_to_self(bool tidy) {
  Queue a, b;
  open_queue(a);
  open_queue(b);
  connect_queue(a, b.end);
  connect_queue(b, a.end);
  post_receive(b);
  write_message(a, b.end);
  REQUIRE(take(a) == IBV_WC_SUCCESS && take(b) == IBV_WC_SUCCESS);
  expect_written(b, a.end);
  if (!tidy) return;
  close_queue(a);
  close_queue(b);
}

bool exchange(int fd, const End& own, End& peer) {
  return send(fd, &own, sizeof own, MSG_NOSIGNAL) == sizeof own &&
         recv(fd, &peer, sizeof peer, MSG_WAITALL) == sizeof peer;
}

void call(const char* host, int port) {
  const int fd = connect_to(host, port);
  put(fd, std::string(1, kCaller));
  Queue queue;
  open_queue(queue);
  End peer{};
  REQUIRE(exchange(fd, queue.end, peer));
  connect_queue(queue, peer);
  post_receive(queue);
  put(fd, "r");
  REQUIRE(get(fd, 1) == "r");
  write_message(queue, peer);
  REQUIRE(take(queue) == IBV_WC_SUCCESS && take(queue) == IBV_WC_SUCCESS);  // sent, received
  expect_written(queue, peer);
  put(fd, "d");
  REQUIRE(get(fd, 1) == "d");
  close_queue(queue);
  close(fd);
}

// The other end of call(), which may be killed at any moment.
[[noreturn]] void answer(int fd) {
  Queue queue;
  open_queue(queue);
  End peer{};
  if (!exchange(fd, queue.end, peer)) _exit(4);
  connect_queue(queue, peer);
  post_receive(queue);
  char byte = 'r';
  if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &byte, 1, 0) != 1) _exit(4);
  write_message(queue, peer);
  if (take(queue) != IBV_WC_SUCCESS) _exit(3);
  // Its own write may not come.
  ibv_wc done{};
  pollfd ended{fd, POLLIN, 0};
  int count = 0;
  while ((count = ibv_poll_cq(queue.cq, 1, &done)) == 0) {
    if (poll(&ended, 1, 0) == 1 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) _exit(4);
  }
  if (count != 1 || done.status != IBV_WC_SUCCESS) _exit(3);
  expect_written(queue, peer);
  byte = 'd';
  if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &byte, 1, 0) != 1) _exit(4);
  close_queue(queue);
  _exit(0);
}

int serve(int port) {
  const int listener = listen_at(port);
  printf("listening\n");
  fflush(stdout);
  std::map<int, int> ends;
  int running = 0, status = 0;
  const auto reap = [&](int flags) {
    while (waitpid(-1, &status, flags) > 0) {
      --running;
      ++ends[WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)];
    }
  };
  for (;;) {
    const int fd = accept_one(listener);
    char byte = 0;
    if (recv(fd, &byte, 1, 0) != 1) byte = 0;
    if (byte == kEnd) break;
    if (byte == kCaller) {
      const pid_t child = fork();
      REQUIRE(child >= 0);
      if (child == 0) answer(fd);
      ++running;
    }
    close(fd);
    reap(WNOHANG);
  }
  reap(0);
  for (const auto& [end, count] : ends) printf("ended with %d: %d\n", end, count);
  return ends.contains(1) ? 1 : 0;
}

// A signal after some real time: by bare calls, which the world does not see.
void kill_later(unsigned delay_us) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  int timer = 0;
  itimerspec when{};
  when.it_value = {0, static_cast<long>(delay_us) * 1000 + 1};
  REQUIRE(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0);
  REQUIRE(syscall(SYS_timer_settime, timer, 0, &when, nullptr) == 0);
}

enum Kind { kNothing, kTrue, kSelf, kUntidy, kCall, kExecuted, kKilledAtTime, kKilledAtAnyTime, kOrphan, kKinds };

struct Child {
  Kind kind;
  bool may_be_killed;
};

int storm(int count, unsigned seed, const char* host, int port, int width, char* program) {
  std::mt19937 random(seed);
  auto* orphans =
      static_cast<std::atomic<int>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(orphans != MAP_FAILED);
  int held[2];
  REQUIRE(pipe(held) == 0);
  const std::string port_text = std::to_string(port);
  std::map<pid_t, Child> children;
  int by_kind[kKinds] = {}, killed = 0;
  const auto reap = [&] {
    int status = 0;
    const pid_t pid = wait(&status);
    REQUIRE(pid > 0 && children.contains(pid));
    const Child child = children[pid];
    children.erase(pid);
    if (WIFSIGNALED(status)) {
      REQUIRE(WTERMSIG(status) == SIGKILL && child.may_be_killed);
      ++killed;
      return;
    }
    if (WEXITSTATUS(status) != 0) fprintf(stderr, "kind %d ended with %d\n", child.kind, WEXITSTATUS(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    ++by_kind[child.kind];
  };
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const auto kind = static_cast<Kind>(random() % kKinds);
    const unsigned delay_us = random() % 2000;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      switch (kind) {
        case kNothing:
          break;
        case kTrue:
          execlp("true", "true", nullptr);
          _exit(127);
        case kSelf:
        case kUntidy:
          talk_to_self(kind == kSelf);
          break;
        case kCall:
          call(host, port);
          break;
        case kExecuted:
          execl(program, program, "child", host, port_text.c_str(), nullptr);
          _exit(127);
        case kKilledAtAnyTime:
          kill_later(delay_us * 4);
          [[fallthrough]];
        case kKilledAtTime:
          prctl(PR_SET_PDEATHSIG, SIGKILL);  // it would not end otherwise
          if (getppid() != parent) _exit(0);
          if (i % 2 == 0) call(host, port);
          for (;;) talk_to_self(i % 3 == 0);
        case kOrphan:
          if (fork() > 0) _exit(0);
          usleep(delay_us);
          if (i % 2 == 0) call(host, port);
          talk_to_self(false);
          ++*orphans;
          break;
        default:
          break;
      }
      _exit(0);
    }
    children[child] = {kind, kind == kKilledAtTime || kind == kKilledAtAnyTime};
    if (kind == kKilledAtTime) {
      usleep(delay_us / 4);
      REQUIRE(kill(child, SIGKILL) == 0);
    }
    while (static_cast<int>(children.size()) >= width) reap();
  }
  while (!children.empty()) reap();
  // Orphans hold the pipe until they end.
  close(held[1]);
  char byte;
  REQUIRE(read(held[0], &byte, 1) == 0);
  const int fd = connect_to(host, port);
  put(fd, std::string(1, kEnd));
  close(fd);
  int wanted = by_kind[kOrphan], total = killed;
  for (const int each : by_kind) total += each;
  printf("%d children, %d killed, %d orphans\n", total, killed, orphans->load());
  REQUIRE(total == count && *orphans == wanted);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "serve" && argc == 3) return serve(atoi(argv[2]));
  if (what == "child" && argc == 4) {
    current = "executed child";
    call(argv[2], atoi(argv[3]));
    return 0;
  }
  if (what == "storm" && argc >= 6)
    return storm(atoi(argv[2]), static_cast<unsigned>(atoi(argv[3])), argv[4], atoi(argv[5]),
                 argc > 6 ? atoi(argv[6]) : 16, argv[0]);
  return 2;
}
