// Sockets and RDMA CM after fork and exec, as on Linux.
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <thread>

#include "interop/programs/probe.h"

extern char** environ;

namespace {

using namespace probe;

void expect_exit(pid_t child, int status) {
  int got = 0;
  REQUIRE(waitpid(child, &got, 0) == child);
  REQUIRE(WIFEXITED(got) && WEXITSTATUS(got) == status);
}

// A server whose children accept from the listener that their parent has made and closed.
constexpr int kWorkers = 3, kRequests = 6;
void serve_prefork(int port) {
  const int listener = listen_at(port);
  pid_t workers[kWorkers];
  for (pid_t& worker : workers) {
    worker = fork();
    REQUIRE(worker >= 0);
    if (worker > 0) continue;
    for (int i = 0; i < kRequests / kWorkers; ++i) {
      const int fd = accept_one(listener);
      put(fd, "heard " + get(fd, 5));
      close(fd);
    }
    _exit(7);
  }
  close(listener);
  for (pid_t worker : workers) expect_exit(worker, 7);
}
void ask_prefork(const char* host, int port) {
  for (int i = 0; i < kRequests; ++i) {
    const int fd = connect_to(host, port);
    put(fd, "hello");
    REQUIRE(get_all(fd) == "heard hello");
    close(fd);
  }
}

// A server that forks for each request, and waits for the child (qperf, sshd).
void serve_fork_per_request(int port) {
  const int listener = listen_at(port);
  for (int i = 0; i < 3; ++i) {
    const int fd = accept_one(listener);
    const double start_s = now_s();
    const pid_t child = fork();
    if (child == 0) {
      close(listener);
      fd_set readable;
      FD_ZERO(&readable);
      FD_SET(fd, &readable);
      REQUIRE(select(fd + 1, &readable, nullptr, nullptr, nullptr) == 1);
      const std::string text = get(fd, 3);
      usleep(200'000);
      put(fd, text);
      exit(0);
    }
    close(fd);
    expect_exit(child, 0);
    REQUIRE(now_s() - start_s >= 0.2);  // the wait took as long as the child
  }
  close(listener);
}
void ask_fork_per_request(const char* host, int port) {
  for (int i = 0; i < 3; ++i) {
    const int fd = connect_to(host, port);
    put(fd, "abc");
    REQUIRE(get_all(fd) == "abc");
    close(fd);
  }
}

// The parent, and the child after it, die before the grandchild answers (daemon).
void serve_orphan(int port) {
  const int listener = listen_at(port);
  const int fd = accept_one(listener);
  close(listener);
  const pid_t child = fork();
  if (child == 0) {
    if (fork() > 0) _exit(0);
    setsid();
    usleep(300'000);
    put(fd, "late");
    _exit(0);
  }
  close(fd);
  expect_exit(child, 0);
}
void ask_orphan(const char* host, int port) {
  const int fd = connect_to(host, port);
  const double start_s = now_s();
  REQUIRE(get_all(fd) == "late");
  REQUIRE(now_s() - start_s >= 0.3);
  close(fd);
}

// A program that is executed with the connection as its standard input and output (inetd), after fork and by
// posix_spawn.
void serve_exec(int port) {
  const int listener = listen_at(port, SOCK_CLOEXEC);
  int fd = accept_one(listener);
  pid_t child = fork();
  if (child == 0) {
    dup2(fd, 0);
    dup2(fd, 1);
    close(fd);
    execlp("tr", "tr", "a-z", "A-Z", nullptr);
    _exit(127);
  }
  close(fd);
  expect_exit(child, 0);

  fd = accept_one(listener);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fd, 0);
  posix_spawn_file_actions_adddup2(&actions, fd, 1);
  posix_spawn_file_actions_addclose(&actions, fd);
  char* words[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("read x; echo got $x"), nullptr};
  REQUIRE(posix_spawnp(&child, "sh", &actions, nullptr, words, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(fd);
  expect_exit(child, 0);
  close(listener);
}
void ask_exec(const char* host, int port) {
  for (const char* wanted : {"HELLO\n", "got hello\n"}) {
    const int fd = connect_to(host, port);
    put(fd, "hello\n");
    shutdown(fd, SHUT_WR);
    REQUIRE(get_all(fd) == wanted);
    close(fd);
  }
}

// A child that runs on holds what is not close-on-exec, and nothing else.
void serve_close_on_exec(int port) {
  const int listener = listen_at(port, SOCK_CLOEXEC);
  const int kept = accept_one(listener), closed = accept_one(listener);
  REQUIRE(fcntl(closed, F_SETFD, FD_CLOEXEC) == 0);
  int go[2];
  REQUIRE(pipe(go) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(go[0], 0);
    close(go[1]);
    execlp("sh", "sh", "-c", "read x; exit 3", nullptr);
    _exit(127);
  }
  close(go[0]);
  close(kept);
  close(closed);
  // The client has seen the end of one of them when it connects again.
  const int done = accept_one(listener);
  REQUIRE(write(go[1], "x\n", 2) == 2);
  expect_exit(child, 3);
  close(done);
  close(listener);
}
void ask_close_on_exec(const char* host, int port) {
  const int kept = connect_to(host, port), closed = connect_to(host, port);
  REQUIRE(get_all(closed).empty());
  char byte;
  REQUIRE(recv(kept, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
  const int done = connect_to(host, port);
  REQUIRE(get_all(kept).empty());
  REQUIRE(get_all(done).empty());
}

// A socket that is passed to another process of the node.
void serve_passed(int port) {
  int channel[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, channel) == 0);
  const pid_t child = fork();  // before the socket exists
  if (child == 0) {
    close(channel[0]);
    char byte;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    REQUIRE(recvmsg(channel[1], &message, 0) == 1);
    int fd;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    REQUIRE(getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.sin_port != 0);
    put(fd, "passed " + get(fd, 2));
    _exit(0);
  }
  close(channel[1]);
  const int listener = listen_at(port);
  const int fd = accept_one(listener);
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  REQUIRE(sendmsg(channel[0], &message, 0) == 1);
  close(fd);
  expect_exit(child, 0);
  close(listener);
  close(channel[0]);
}
void ask_passed(const char* host, int port) {
  const int fd = connect_to(host, port);
  put(fd, "on");
  REQUIRE(get_all(fd) == "passed on");
  close(fd);
}

// Many forks, from a thread, while another thread uses sockets; some children are killed.
constexpr int kStorm = 100;
void serve_storm(int port) {
  const int listener = listen_at(port);
  std::thread echo([listener] {
    const int fd = accept_one(listener);
    for (;;) {
      char byte;
      if (recv(fd, &byte, 1, 0) <= 0) break;
      put(fd, std::string(1, byte));
    }
    close(fd);
  });
  int pipe_fd[2];
  REQUIRE(pipe(pipe_fd) == 0);
  for (int i = 0; i < kStorm; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (i % 4 == 1) execlp("true", "true", nullptr);
      if (i % 4 == 2) usleep(1'000'000);  // killed before
      if (i % 4 == 3) close(socket(AF_INET, SOCK_STREAM, 0));
      _exit(0);
    }
    if (i % 4 == 2) kill(child, SIGKILL);
    int status;
    REQUIRE(wait(&status) == child);
    REQUIRE(i % 4 == 2 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  echo.join();
  close(listener);
}
void ask_storm(const char* host, int port) {
  const int fd = connect_to(host, port);
  for (int i = 0; i < 200; ++i) {
    put(fd, "x");
    REQUIRE(get(fd, 1) == "x");
  }
  close(fd);
}

// What closes all descriptors that there may be does not cut the program off (daemons, subprocess).
void serve_close_all(int port) {
  const int listener = listen_at(port);
  const int fd = accept_one(listener);
  const pid_t child = fork();
  if (child == 0) {
    dup2(fd, 3);
    close_range(4, ~0U, 0);
    put(3, "still here");
    closefrom(3);
    _exit(socket(AF_INET, SOCK_STREAM, 0) == 3 ? 0 : 1);
  }
  close(fd);
  expect_exit(child, 0);
  REQUIRE(system("exit 4") == 4 << 8);
  FILE* words = popen("echo one two", "r");
  char text[32] = {};
  REQUIRE(fgets(text, sizeof text, words) != nullptr && strcmp(text, "one two\n") == 0);
  REQUIRE(pclose(words) == 0);
  const pid_t quick = vfork();
  if (quick == 0) {
    execlp("true", "true", nullptr);
    _exit(127);
  }
  expect_exit(quick, 0);
  close(listener);
}
void ask_close_all(const char* host, int port) {
  const int fd = connect_to(host, port);
  REQUIRE(get_all(fd) == "still here");
  close(fd);
}

// The child takes the connection that comes to its parent's listener, on a protection domain of its parent.
void serve_rdma(int port) {
  int count = 0;
  ibv_context** devices = rdma_get_devices(&count);
  REQUIRE(devices != nullptr && count > 0);
  ibv_pd* pd = ibv_alloc_pd(devices[0]);
  rdma_event_channel* channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  REQUIRE(pd != nullptr && channel != nullptr && rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) == 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(port));
  REQUIRE(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&any)) == 0 && rdma_listen(listener, 4) == 0);
  const pid_t child = fork();
  if (child == 0) {
    rdma_cm_event* event = nullptr;
    REQUIRE(rdma_get_cm_event(channel, &event) == 0 && event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
    rdma_cm_id* id = event->id;
    REQUIRE(event->listen_id == listener);
    rdma_ack_cm_event(event);
    ibv_qp_init_attr attr{};
    attr.cap = {4, 4, 1, 1, 0};
    attr.qp_type = IBV_QPT_RC;
    attr.send_cq = attr.recv_cq = ibv_create_cq(id->verbs, 8, nullptr, nullptr, 0);
    REQUIRE(rdma_create_qp(id, pd, &attr) == 0);
    static char text[32];
    const int access = IBV_ACCESS_LOCAL_WRITE;
    ibv_mr* region = ibv_reg_mr(pd, text, sizeof text, access);
    REQUIRE(region != nullptr && rdma_post_recv(id, nullptr, text, sizeof text, region) == 0);
    rdma_conn_param parameters{};
    REQUIRE(rdma_accept(id, &parameters) == 0);
    REQUIRE(rdma_get_cm_event(channel, &event) == 0 && event->event == RDMA_CM_EVENT_ESTABLISHED && event->id == id);
    rdma_ack_cm_event(event);
    ibv_wc done{};
    while (ibv_poll_cq(attr.recv_cq, 1, &done) == 0) {
    }
    REQUIRE(done.status == IBV_WC_SUCCESS && strcmp(text, "by RDMA") == 0);
    REQUIRE(rdma_get_cm_event(channel, &event) == 0 && event->event == RDMA_CM_EVENT_DISCONNECTED);
    _exit(5);
  }
  expect_exit(child, 5);
  // What the child held is the parent's still.
  REQUIRE(rdma_destroy_id(listener) == 0);
  rdma_destroy_event_channel(channel);
  REQUIRE(ibv_dealloc_pd(pd) == 0);
}
void ask_rdma(const char* host, int port) {
  rdma_addrinfo hints{}, *found = nullptr;
  hints.ai_port_space = RDMA_PS_TCP;
  const std::string service = std::to_string(port);
  REQUIRE(rdma_getaddrinfo(host, service.c_str(), &hints, &found) == 0);
  ibv_qp_init_attr attr{};
  attr.cap = {4, 4, 1, 1, 0};
  attr.qp_type = IBV_QPT_RC;
  attr.sq_sig_all = 1;
  rdma_cm_id* id = nullptr;
  REQUIRE(rdma_create_ep(&id, found, nullptr, &attr) == 0);
  static char text[32] = "by RDMA";
  ibv_mr* region = rdma_reg_msgs(id, text, sizeof text);
  REQUIRE(region != nullptr && rdma_connect(id, nullptr) == 0);
  REQUIRE(rdma_post_send(id, nullptr, text, sizeof text, region, 0) == 0);
  ibv_wc done{};
  REQUIRE(rdma_get_send_comp(id, &done) == 1 && done.status == IBV_WC_SUCCESS);
  REQUIRE(rdma_disconnect(id) == 0);
  rdma_dereg_mr(region);
  rdma_destroy_ep(id);
  rdma_freeaddrinfo(found);
}

constexpr Case kCases[] = {
    {"RDMA CM", serve_rdma, ask_rdma},
    {"prefork", serve_prefork, ask_prefork},
    {"fork per request", serve_fork_per_request, ask_fork_per_request},
    {"orphan", serve_orphan, ask_orphan},
    {"exec", serve_exec, ask_exec},
    {"close-on-exec", serve_close_on_exec, ask_close_on_exec},
    {"passed descriptor", serve_passed, ask_passed},
    {"storm", serve_storm, ask_storm},
    {"close all", serve_close_all, ask_close_all},
};

}  // namespace

int main(int argc, char** argv) {
  return run(kCases, argc, argv);
}
