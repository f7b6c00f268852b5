// TCP between two copies of the program, and names of nodes.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "unit/preload/program.h"

namespace {

constexpr uint16_t kPort = 18515;

sockaddr_in address_of(const char* node) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (node != nullptr && getaddrinfo(node, "18515", &hints, &found) == 0) {
    memcpy(&address, found->ai_addr, sizeof address);
    freeaddrinfo(found);
  }
  return address;
}

int listening() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  const sockaddr_in any = address_of(nullptr);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return -1;
  return listen(fd, 4) == 0 ? fd : -1;
}

// The server may not be there yet.
int connected(const char* node) {
  const sockaddr_in to = address_of(node);
  for (int tries = 0; tries < 100'000; ++tries) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
    close(fd);
    if (errno != ECONNREFUSED) return -1;
    usleep(1'000);
  }
  return -1;
}

void print_address(const char* what, int fd, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_in address{};
  socklen_t size_B = sizeof address;
  ask(fd, reinterpret_cast<sockaddr*>(&address), &size_B);
  printf("%s %s\n", what, inet_ntoa(address.sin_addr));
}

// Sends back what comes, until the other side is done.
int echo() {
  const int listener = listening();
  const int fd = accept(listener, nullptr, nullptr);
  print_address("server_sees", fd, [](int f, sockaddr* a, socklen_t* s) { return getpeername(f, a, s); });
  static char bytes[200'000];
  for (ssize_t size_B; (size_B = read(fd, bytes, sizeof bytes)) > 0;) {
    if (write(fd, bytes, static_cast<size_t>(size_B)) != size_B) return 1;
  }
  close(fd);
  close(listener);
  return 0;
}

int talk() {
  const int fd = connected("right");
  print_address("client_is", fd, [](int f, sockaddr* a, socklen_t* s) { return getsockname(f, a, s); });
  // A small message there and back.
  const int64_t start_ns = monotonic_ns();
  char head[] = "head", tail[] = "tail", back[9] = {};
  const iovec pieces[2] = {{head, 4}, {tail, 4}};
  if (writev(fd, pieces, 2) != 8) return 1;
  if (recv(fd, back, 8, MSG_WAITALL) != 8) return 1;
  print("round_trip_ns", monotonic_ns() - start_ns);
  printf("back %s\n", back);
  FILE* file = fdopen(dup(fd), "r+");
  fputs("a line\n", file);
  fflush(file);
  char line[16] = {};
  print("line", fgets(line, sizeof line, file) != nullptr && strcmp(line, "a line\n") == 0);
  fclose(file);
  // A second number for the stream; the first can go.
  const int copy = dup(fd);
  close(fd);
  static char big[1'000'000], answer[1'000'000];
  for (size_t i = 0; i < sizeof big; ++i) big[i] = static_cast<char>(i * 7 + i / 4096);
  if (send(copy, big, sizeof big, 0) != sizeof big) return 1;
  size_t got_B = 0;
  for (ssize_t n; got_B < sizeof big && (n = recv(copy, answer + got_B, sizeof big - got_B, 0)) > 0;)
    got_B += static_cast<size_t>(n);
  print("big_is_equal", memcmp(big, answer, sizeof big) == 0);
  shutdown(copy, SHUT_WR);
  print("end", read(copy, back, sizeof back));
  close(copy);
  print("closed", write(copy, head, 4) == -1 && errno == EBADF);
  return 0;
}

int refused() {
  const sockaddr_in to = address_of("right");
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  print("refused", connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == -1 && errno == ECONNREFUSED);
  close(fd);
  const int unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
  print("unix_is_real", unix_fd >= 0 && fcntl(unix_fd, F_GETFL) == O_RDWR);
  return 0;
}

// One server for two clients, with a real pipe in the same set.
int epoll_server() {
  const int set = epoll_create1(0), listener = listening();
  fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const auto add = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
  };
  if (add(listener) != 0 || add(ends[0]) != 0) return 1;
  const int64_t before_ns = monotonic_ns();
  epoll_event events[4];
  const int quiet = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (listen(quiet, 1) != 0 || accept(quiet, nullptr, nullptr) != -1 || errno != EAGAIN) return 1;
  int ended = 0, bytes_in = 0;
  while (ended < 2) {
    const int ready = epoll_wait(set, events, 4, -1);
    if (ready <= 0) return 1;
    for (int i = 0; i < ready; ++i) {
      const int fd = events[i].data.fd;
      char byte;
      if (fd == listener) {
        if (add(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) != 0) return 1;
      } else if (fd == ends[0]) {
        if (read(fd, &byte, 1) != 1) return 1;
        print("pipe", byte);
      } else if (read(fd, &byte, 1) == 1) {
        bytes_in += byte;
        if (write(ends[1], "p", 1) != 1) return 1;
      } else {
        ++ended;
        close(fd);
      }
    }
  }
  print("bytes", bytes_in);
  print("time_went_on", monotonic_ns() > before_ns);
  const int64_t idle_ns = monotonic_ns();
  print("nothing", epoll_wait(set, events, 4, 250));
  print("idle_ns", monotonic_ns() - idle_ns);
  return 0;
}

int nonblocking_client() {
  const sockaddr_in to = address_of("right");
  for (int tries = 0; tries < 100'000; ++tries) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return 1;
    int error = errno;
    if (error == EINPROGRESS) {
      pollfd wanted{fd, POLLOUT, 0};
      if (poll(&wanted, 1, -1) != 1 || (wanted.revents & POLLOUT) == 0) return 1;
      socklen_t size_B = sizeof error;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size_B);
    }
    if (error != 0) {
      close(fd);
      usleep(1'000);
      continue;
    }
    print("connected", 1);
    if (write(fd, "a", 1) != 1) return 1;
    char byte;
    print("would_block", read(fd, &byte, 1) == -1 && errno == EAGAIN);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    timeval timeout{0, 70};
    const int64_t start_ns = monotonic_ns();
    print("select", select(fd + 1, &set, nullptr, nullptr, &timeout));
    print("select_ns", monotonic_ns() - start_ns);
    int waiting = -1;
    ioctl(fd, FIONREAD, &waiting);
    print("waiting", waiting);
    close(fd);
    return 0;
  }
  return 1;
}

int names() {
  char name[64];
  gethostname(name, sizeof name);
  printf("hostname %s\n", name);
  utsname system;
  uname(&system);
  printf("nodename %s\n", system.nodename);
  const sockaddr_in right = address_of("right");
  printf("right %s\n", inet_ntoa(right.sin_addr));
  hostent* host = gethostbyname("left");
  printf("left %s\n", host == nullptr ? "?" : inet_ntoa(*reinterpret_cast<in_addr*>(host->h_addr)));
  addrinfo* found = nullptr;
  print("localhost", getaddrinfo("localhost", nullptr, nullptr, &found));
  ifaddrs* list = nullptr;
  getifaddrs(&list);
  for (ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr->sa_family != AF_INET) continue;
    printf("interface %s %s\n", each->ifa_name, inet_ntoa(reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr));
  }
  freeifaddrs(list);
  return 0;
}

// As daemons and launchers do before they start somebody else.
int close_everything() {
  usleep(1);
  for (int fd = 3; fd < 1'024; ++fd) close(fd);
  usleep(1);
  print("still_there", 1);
  return 0;
}

void print_file(const char* path) {
  char text[64] = "?";
  FILE* file = fopen(path, "r");
  if (file != nullptr && fgets(text, sizeof text, file) == nullptr) text[0] = '\0';
  if (file != nullptr) fclose(file);
  printf("%s is %s\n", path, text);
}

int paths() {
  print_file("/sys/class/infiniband/mlx5_0/node_type");
  print_file("/proc/sys/kernel/ostype");
  DIR* folder = opendir("/sys/class/infiniband");
  for (const dirent* entry; folder != nullptr && (entry = readdir(folder)) != nullptr;) {
    if (entry->d_name[0] != '.') printf("device %s\n", entry->d_name);
  }
  struct stat status {};
  print("stat", stat("/dev/infiniband/uverbs1", &status));
  print("is_character_device", S_ISCHR(status.st_mode));
  print("minor", minor(status.st_rdev));
  print("open", open("/dev/infiniband/uverbs1", O_RDWR) >= 0);
  print("absent", access("/dev/infiniband/uverbs2", F_OK));
  return 0;
}

}  // namespace

const Case kStreamCases[] = {
    {"echo", echo},
    {"talk", talk},
    {"refused", refused},
    {"epoll_server", epoll_server},
    {"nonblocking_client", nonblocking_client},
    {"names", names},
    {"close_everything", close_everything},
    {"paths", paths},
};
const int kStreamCaseCount = sizeof kStreamCases / sizeof kStreamCases[0];
