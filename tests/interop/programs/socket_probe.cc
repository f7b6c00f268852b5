// TCP sockets between two nodes, as on Linux.
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <vector>

#include "interop/programs/probe.h"

namespace {

using namespace probe;

void set_nonblocking(int fd) {
  REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

int events_of(int fd, short wanted, int timeout_ms) {
  pollfd look{fd, wanted, 0};
  REQUIRE(poll(&look, 1, timeout_ms) >= 0);
  return look.revents;
}

int option_of(int fd, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  REQUIRE(getsockopt(fd, level, option, &value, &size) == 0);
  return value;
}

void set_option(int fd, int level, int option, int value) {
  REQUIRE(setsockopt(fd, level, option, &value, sizeof value) == 0);
}

bool over_fabric() {
  const char* network = getenv("WEFT_NET");
  return network != nullptr && strcmp(network, "fabric") == 0;
}

// The server reads only after a second.
void serve_full(int port) {
  const int listener = listen_at(port);
  const int fd = accept_one(listener);
  sleep(1);
  std::size_t size = 0;
  std::vector<char> bytes(1 << 16);
  for (ssize_t got; (got = read(fd, bytes.data(), bytes.size())) > 0;) size += static_cast<std::size_t>(got);
  put(fd, std::to_string(size));
  close(fd);
  close(listener);
}
void ask_full(const char* host, int port) {
  const int fd = connect_to(host, port);
  const double start_s = now_s();
  set_nonblocking(fd);
  std::vector<char> bytes(1 << 16, 'x');
  std::size_t size = 0;
  do {
    for (ssize_t sent; (sent = send(fd, bytes.data(), bytes.size(), 0)) >= 0;) size += static_cast<std::size_t>(sent);
    REQUIRE(errno == EAGAIN);
  } while (over_fabric() && events_of(fd, POLLOUT, 50) == POLLOUT);  // the buffer grows while ACKs come
  // Over the fabric the window of who does not read stays at 64 KiB, and the send buffer follows the congestion window.
  const std::size_t least = over_fabric() ? 128 << 10 : 1 << 20;
  REQUIRE(size >= least && size <= 10 << 20);
  REQUIRE(events_of(fd, POLLOUT, 0) == 0);
  REQUIRE(now_s() - start_s < 0.9);
  REQUIRE(events_of(fd, POLLOUT, 10'000) == POLLOUT);
  REQUIRE(now_s() - start_s >= 0.9);
  REQUIRE(fcntl(fd, F_SETFL, 0) == 0);
  for (int i = 0; i < 160; ++i) put(fd, std::string(1 << 16, 'y'));  // waits for the reader
  size += std::size_t{160} << 16;
  shutdown(fd, SHUT_WR);
  REQUIRE(get_all(fd) == std::to_string(size));
  // 10 MiB and more on a line of 1 Gb/s, or of 25.
  REQUIRE(now_s() - start_s > 1 + (over_fabric() ? 0.0033 : 0.08));
  close(fd);
}

void serve_connect(int port) {
  const int listener = listen_at(port);
  const int fd = accept_one(listener);
  close(listener);
  put(fd, "x");
  close(fd);
}
void ask_connect(const char* host, int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address = address_of(host, port);
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  REQUIRE(connect(fd, to, sizeof address) < 0 && errno == EINPROGRESS);
  REQUIRE(connect(fd, to, sizeof address) == 0 || errno == EALREADY);  // 0: it is there already, in real time
  REQUIRE(events_of(fd, POLLOUT, -1) == POLLOUT);
  REQUIRE(option_of(fd, SOL_SOCKET, SO_ERROR) == 0);
  REQUIRE(events_of(fd, POLLIN, -1) & POLLIN);
  sockaddr_in peer{}, own{};
  socklen_t size = sizeof peer;
  REQUIRE(getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0);
  REQUIRE(size == sizeof peer && peer.sin_port == address.sin_port && peer.sin_addr.s_addr == address.sin_addr.s_addr);
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 && own.sin_port != 0);
  REQUIRE(own.sin_addr.s_addr != 0 && own.sin_addr.s_addr != peer.sin_addr.s_addr);
  size = 0;  // libfabric asks for the size this way
  REQUIRE(getsockname(fd, nullptr, &size) == 0 && size == sizeof own);
  size = 0;
  REQUIRE(getpeername(fd, nullptr, &size) == 0 && size == sizeof peer);
  REQUIRE(fcntl(fd, F_SETFL, 0) == 0);
  REQUIRE(get_all(fd) == "x");
  close(fd);
  // Nobody listens any more.
  fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  REQUIRE(connect(fd, to, sizeof address) < 0 && errno == EINPROGRESS);
  REQUIRE(events_of(fd, POLLOUT, -1) & POLLERR);
  REQUIRE(option_of(fd, SOL_SOCKET, SO_ERROR) == ECONNREFUSED);
  REQUIRE(option_of(fd, SOL_SOCKET, SO_ERROR) == 0);
  close(fd);
}

void serve_reset(int port) {
  const int listener = listen_at(port);
  // SO_LINGER with no time: the peer gets a reset.
  int fd = accept_one(listener);
  const linger none{1, 0};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none) == 0);
  get(fd, 1);
  close(fd);
  // An end that is closed answers what comes with a reset.
  fd = accept_one(listener);
  close(fd);
  close(listener);
}
void ask_reset(const char* host, int port) {
  signal(SIGPIPE, SIG_IGN);
  int fd = connect_to(host, port);
  put(fd, "x");
  char byte;
  REQUIRE(recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET);
  close(fd);
  fd = connect_to(host, port);
  REQUIRE(get_all(fd).empty());
  put(fd, "into the void");
  usleep(1000);
  REQUIRE(send(fd, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
  close(fd);
  signal(SIGPIPE, SIG_DFL);
}

void serve_bytes(int port) {
  const int listener = listen_at(port);
  const int fd = accept_one(listener);
  char one[3], two[5], three[8];
  REQUIRE(events_of(fd, POLLIN, -1) == POLLIN);
  usleep(1000);
  int waiting = 0;
  REQUIRE(ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 10'000);
  REQUIRE(recv(fd, two, 5, MSG_PEEK) == 5 && memcmp(two, "01234", 5) == 0);
  iovec parts[] = {{one, sizeof one}, {two, sizeof two}};
  REQUIRE(readv(fd, parts, 2) == 8 && memcmp(one, "012", 3) == 0 && memcmp(two, "34567", 5) == 0);
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  REQUIRE(recvmsg(fd, &message, MSG_WAITALL) == 8 && memcmp(one, "890", 3) == 0 && memcmp(two, "12345", 5) == 0);
  std::string rest = get(fd, 10'000 - 16);
  REQUIRE(rest.substr(0, 6) == "678901");
  REQUIRE(recv(fd, three, 8, MSG_DONTWAIT) < 0 && errno == EAGAIN);
  timeval patience{0, 50'000};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
  const double start_s = now_s();
  REQUIRE(recv(fd, three, 8, 0) < 0 && errno == EAGAIN && now_s() - start_s >= 0.05);
  put(fd, "go");
  patience = {0, 0};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
  // Comes in two pieces, a while apart.
  REQUIRE(recv(fd, three, 8, MSG_WAITALL) == 8 && memcmp(three, "abcdefgh", 8) == 0);
  // A file.
  rest = get_all(fd);
  REQUIRE(rest.size() == 100'000);
  for (std::size_t i = 0; i < rest.size(); ++i) REQUIRE(rest[i] == static_cast<char>('a' + i % 26));
  // This half is open still.
  put(fd, "bye");
  close(fd);
  close(listener);
}
void ask_bytes(const char* host, int port) {
  const int fd = connect_to(host, port);
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += static_cast<char>('0' + i % 10);
  iovec parts[] = {{text.data(), 1}, {text.data() + 1, 99}, {text.data() + 100, text.size() - 100}};
  REQUIRE(writev(fd, parts, 3) == 10'000);
  REQUIRE(get(fd, 2) == "go");
  put(fd, "abc");
  usleep(10'000);
  iovec last[] = {{const_cast<char*>("defg"), 4}, {const_cast<char*>("h"), 1}};
  msghdr message{};
  message.msg_iov = last;
  message.msg_iovlen = 2;
  REQUIRE(sendmsg(fd, &message, 0) == 5);
  const int file = memfd_create("bytes", MFD_CLOEXEC);
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>('a' + i % 26);
  REQUIRE(write(file, bytes.data(), bytes.size()) == 100'000);
  off_t at = 0;
  while (at < 100'000) REQUIRE(sendfile(fd, file, &at, static_cast<std::size_t>(100'000 - at)) > 0);
  close(file);
  REQUIRE(shutdown(fd, SHUT_WR) == 0);
  REQUIRE(send(fd, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
  REQUIRE(get_all(fd) == "bye");
  REQUIRE(events_of(fd, POLLIN | POLLRDHUP, 0) & POLLRDHUP);
  close(fd);
}

// A socket of IPv6 takes connections of IPv4; with IPV6_V6ONLY one of each has the port.
void serve_ipv6(int port) {
  int fd = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd, 1) == 0);
  sockaddr_in6 peer{};
  socklen_t size = sizeof peer;
  const int got = accept(fd, reinterpret_cast<sockaddr*>(&peer), &size);
  REQUIRE(got >= 0 && size == sizeof peer && peer.sin6_family == AF_INET6);
  REQUIRE(IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr));
  put(got, "six");
  close(got);
  close(fd);
  fd = socket(AF_INET6, SOCK_STREAM, 0);
  set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  REQUIRE(option_of(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1);
  any.sin6_port = htons(static_cast<uint16_t>(port + 1));
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd, 1) == 0);
  const int four = listen_at(port + 1);
  const int to_four = accept_one(four);
  put(to_four, "four");
  close(to_four);
  close(four);
  close(fd);
}
void ask_ipv6(const char* host, int port) {
  int fd = connect_to(host, port);
  REQUIRE(get_all(fd) == "six");
  close(fd);
  // To a mapped address, from a socket of IPv6.
  const sockaddr_in four = address_of(host, port + 1);
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = four.sin_port;
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
  memcpy(mapped.sin6_addr.s6_addr + 12, &four.sin_addr, 4);
  fd = socket(AF_INET6, SOCK_STREAM, 0);
  REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&mapped), sizeof mapped) == 0);
  REQUIRE(get_all(fd) == "four");
  close(fd);
}

// Two processes with a listener of their own each on one port.
void serve_reuse_port(int port) {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  pid_t workers[2];
  for (pid_t& worker : workers) {
    worker = fork();
    if (worker > 0) continue;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<uint16_t>(port + 1));
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd, 32) == 0);
    REQUIRE(write(ready[1], "x", 1) == 1);
    for (;;) {
      const int got = accept_one(fd);
      put(got, &worker == workers ? "0" : "1");
      close(got);
    }
  }
  char both[2];
  REQUIRE(read(ready[0], both, 1) == 1 && read(ready[0], both + 1, 1) == 1);
  const int listener = listen_at(port);
  const int until = accept_one(listener);
  get_all(until);
  for (pid_t worker : workers) {
    kill(worker, SIGTERM);
    int status;
    REQUIRE(waitpid(worker, &status, 0) == worker && WIFSIGNALED(status));
  }
  close(until);
  close(listener);
}
void ask_reuse_port(const char* host, int port) {
  const int until = connect_to(host, port);
  int count[2] = {0, 0};
  for (int i = 0; i < 20; ++i) {
    const int fd = connect_to(host, port + 1);
    const std::string who = get_all(fd);
    REQUIRE(who == "0" || who == "1");
    ++count[who == "1"];
    close(fd);
  }
  REQUIRE(count[0] > 0 && count[1] > 0);
  close(until);
}

constexpr int kMany = 400;
void serve_many(int port) {
  const int listener = listen_at(port);
  std::vector<int> fds;
  fd_set all;
  FD_ZERO(&all);
  for (int i = 0; i < kMany; ++i) {
    fds.push_back(accept_one(listener));
    FD_SET(fds.back(), &all);
  }
  // They come one by one.
  for (int i = 0; i < kMany; ++i) {
    fd_set readable = all;
    REQUIRE(select(fds.back() + 1, &readable, nullptr, nullptr, nullptr) >= 1);
    for (int fd : fds) {
      if (!FD_ISSET(fd, &readable)) continue;
      put(fd, get(fd, 1));
      FD_CLR(fd, &all);
      break;
    }
  }
  for (int fd : fds) close(fd);
  close(listener);
}
void ask_many(const char* host, int port) {
  std::vector<int> fds;
  for (int i = 0; i < kMany; ++i) fds.push_back(connect_to(host, port));
  for (std::size_t i = 0; i < kMany; ++i) {
    const int fd = fds[i * 7 % kMany];
    put(fd, "x");
    REQUIRE(get(fd, 1) == "x");
  }
  for (int fd : fds) close(fd);
}

constexpr Case kCases[] = {
    {"full buffers", serve_full, ask_full}, {"connect", serve_connect, ask_connect},
    {"reset", serve_reset, ask_reset},      {"bytes", serve_bytes, ask_bytes},
    {"IPv6", serve_ipv6, ask_ipv6},         {"SO_REUSEPORT", serve_reuse_port, ask_reuse_port},
    {"many", serve_many, ask_many},
};

}  // namespace

int main(int argc, char** argv) {
  return run(kCases, argc, argv);
}
