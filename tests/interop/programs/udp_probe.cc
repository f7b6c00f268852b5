// UDP between two nodes, as udp(7) and ip(7) say.
//   udp_probe serve | udp_probe ask HOST
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <vector>

#include "interop/programs/probe.h"

namespace {

using namespace probe;

int udp_at(int port, int family = AF_INET) {
  const int fd = socket(family, SOCK_DGRAM, 0);
  REQUIRE(fd >= 0);
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (family == AF_INET6) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<uint16_t>(port));
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
    return fd;
  }
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(port));
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
  return fd;
}

int udp_to(const char* host, int port) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const sockaddr_in to = address_of(host, port);
  REQUIRE(fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  return fd;
}

std::string pattern(std::size_t size_B) {
  std::string bytes(size_B, 0);
  for (std::size_t i = 0; i < size_B; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 9);
  return bytes;
}

ssize_t send_to(int fd, const std::string& bytes, const sockaddr_in& to) {
  return sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

constexpr std::size_t kSizes[] = {0, 1, 1472, 1473, 9000, 65'507};

// Each datagram comes back as it was, to the address that it came from.
void serve_echo(int port) {
  const int fd = udp_at(port);
  std::vector<char> bytes(70'000);
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    sockaddr_in from{};
    socklen_t from_B = sizeof from;
    const ssize_t got = recvfrom(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_B);
    REQUIRE(got == static_cast<ssize_t>(kSizes[i]) && from_B == sizeof from && from.sin_family == AF_INET);
    REQUIRE(sendto(fd, bytes.data(), static_cast<std::size_t>(got), 0, reinterpret_cast<sockaddr*>(&from), from_B) ==
            got);
  }
  close(fd);
}
void ask_echo(const char* host, int port) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const sockaddr_in to = address_of(host, port);
  std::vector<char> bytes(70'000);
  REQUIRE(send_to(fd, std::string(65'508, 'x'), to) == -1 && errno == EMSGSIZE);
  for (const std::size_t size_B : kSizes) {
    const std::string sent = pattern(size_B);
    const double start_s = now_s();
    REQUIRE(send_to(fd, sent, to) == static_cast<ssize_t>(size_B));
    sockaddr_in from{};
    socklen_t from_B = sizeof from;
    const ssize_t got = recvfrom(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_B);
    REQUIRE(got == static_cast<ssize_t>(size_B) && std::string(bytes.data(), size_B) == sent);
    REQUIRE(from.sin_addr.s_addr == to.sin_addr.s_addr && from.sin_port == to.sin_port);
    // 30 us each way, and each byte at 1 Gb/s.
    REQUIRE(now_s() - start_s >= 60e-6 + 2 * 8e-9 * static_cast<double>(size_B));
  }
  sockaddr_in own{};
  socklen_t own_B = sizeof own;
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_B) == 0 && ntohs(own.sin_port) >= 32768);
  close(fd);
}

// What does not fit is cut off; a look leaves it; several at once; poll, FIONREAD, time-outs.
void serve_parts(int port) {
  const int fd = udp_at(port);
  char bytes[4];
  iovec piece{bytes, sizeof bytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  pollfd look{fd, POLLIN, 0};
  REQUIRE(poll(&look, 1, 5000) == 1 && look.revents == POLLIN);
  int next_B = 0;
  REQUIRE(ioctl(fd, FIONREAD, &next_B) == 0 && next_B == 10);
  REQUIRE(recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_TRUNC) == 10);
  REQUIRE(recvmsg(fd, &message, 0) == 4 && (message.msg_flags & MSG_TRUNC) != 0 && memcmp(bytes, "0123", 4) == 0);
  char rooms[8][16];
  iovec pieces[8];
  mmsghdr several[8] = {};
  sockaddr_in from{};
  for (int i = 0; i < 8; ++i) {
    pieces[i] = {rooms[i], sizeof rooms[i]};
    several[i].msg_hdr.msg_iov = &pieces[i];
    several[i].msg_hdr.msg_iovlen = 1;
  }
  several[0].msg_hdr.msg_name = &from;
  several[0].msg_hdr.msg_namelen = sizeof from;
  usleep(10'000);
  REQUIRE(recvmmsg(fd, several, 8, MSG_WAITFORONE, nullptr) == 5);
  for (int i = 0; i < 5; ++i) REQUIRE(several[i].msg_len == 3 && rooms[i][2] == static_cast<char>('0' + i));
  REQUIRE(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  const timeval timeout{0, 20'000};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0);
  const double start_s = now_s();
  REQUIRE(recv(fd, bytes, sizeof bytes, 0) == -1 && errno == EAGAIN && now_s() - start_s >= 0.02);
  REQUIRE(sendto(fd, "done", 4, 0, reinterpret_cast<sockaddr*>(&from), sizeof from) == 4);
  close(fd);
}
void ask_parts(const char* host, int port) {
  const int fd = udp_to(host, port);
  REQUIRE(send(fd, "0123456789", 10, 0) == 10);
  char texts[5][4] = {"ab0", "ab1", "ab2", "ab3", "ab4"};
  iovec pieces[5][2];
  mmsghdr several[5] = {};
  for (int i = 0; i < 5; ++i) {
    pieces[i][0] = {texts[i], 1};
    pieces[i][1] = {texts[i] + 1, 2};
    several[i].msg_hdr.msg_iov = pieces[i];
    several[i].msg_hdr.msg_iovlen = 2;
  }
  REQUIRE(sendmmsg(fd, several, 5, 0) == 5 && several[4].msg_len == 3);
  char answer[8];
  REQUIRE(read(fd, answer, sizeof answer) == 4);
  close(fd);
}

// A connected socket hears of its peer alone; nobody at the port is ECONNREFUSED; it can be connected anew.
void serve_connected(int port) {
  const int fd = udp_at(port), other = udp_at(port + 1);
  char bytes[16];
  sockaddr_in from{};
  socklen_t from_B = sizeof from;
  REQUIRE(recvfrom(fd, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &from_B) == 5);
  REQUIRE(sendto(other, "stray", 5, 0, reinterpret_cast<sockaddr*>(&from), from_B) == 5);
  REQUIRE(sendto(fd, "right", 5, 0, reinterpret_cast<sockaddr*>(&from), from_B) == 5);
  REQUIRE(recv(fd, bytes, sizeof bytes, 0) == 4);
  close(fd);
  close(other);
}
void ask_connected(const char* host, int port) {
  int fd = udp_to(host, port);
  sockaddr_in peer{};
  socklen_t peer_B = sizeof peer;
  REQUIRE(getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_B) == 0 && ntohs(peer.sin_port) == port);
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&peer), &peer_B) == 0 && peer.sin_addr.s_addr != 0);
  REQUIRE(write(fd, "hello", 5) == 5);
  char bytes[16];
  REQUIRE(read(fd, bytes, sizeof bytes) == 5 && memcmp(bytes, "right", 5) == 0);
  REQUIRE(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  // The own node answers at once that nobody has the port.
  const sockaddr_in nobody = address_of("127.0.0.1", 9);
  sockaddr_in own = nobody;
  own.sin_port = htons(40'009);
  REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
  REQUIRE(send(fd, "x", 1, 0) == 1);
  REQUIRE(recv(fd, bytes, sizeof bytes, 0) == -1 && errno == ECONNREFUSED);
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  REQUIRE(connect(fd, &none, sizeof none) == 0);
  REQUIRE(send(fd, "x", 1, 0) == -1 && errno == EDESTADDRREQ);
  REQUIRE(getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_B) == -1 && errno == ENOTCONN);
  REQUIRE(send_to(fd, "done", address_of(host, port)) == 4);
  REQUIRE(listen(fd, 1) == -1 && errno == EOPNOTSUPP);
  int type = 0;
  socklen_t type_B = sizeof type;
  REQUIRE(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_B) == 0 && type == SOCK_DGRAM);
  close(fd);
}

// IPv6 sockets, by mapped addresses.
void serve_ipv6(int port) {
  const int fd = udp_at(port, AF_INET6);
  for (int i = 0; i < 2; ++i) {
    char bytes[16];
    sockaddr_in6 from{};
    socklen_t from_B = sizeof from;
    REQUIRE(recvfrom(fd, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &from_B) == 2);
    REQUIRE(from.sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&from.sin6_addr));
    REQUIRE(sendto(fd, bytes, 2, 0, reinterpret_cast<sockaddr*>(&from), from_B) == 2);
  }
  close(fd);
}
void ask_ipv6(const char* host, int port) {
  const sockaddr_in to = address_of(host, port);
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = to.sin_port;
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
  memcpy(mapped.sin6_addr.s6_addr + 12, &to.sin_addr, 4);
  const int six = socket(AF_INET6, SOCK_DGRAM, 0);
  char bytes[16];
  REQUIRE(sendto(six, "v6", 2, 0, reinterpret_cast<sockaddr*>(&mapped), sizeof mapped) == 2);
  REQUIRE(recv(six, bytes, sizeof bytes, 0) == 2);
  const int four = udp_to(host, port);
  REQUIRE(send(four, "v4", 2, 0) == 2 && recv(four, bytes, sizeof bytes, 0) == 2);
  close(six);
  close(four);
}

// To all: only with SO_BROADCAST; to a group: who has joined it.
void serve_many(int port) {
  const int fd = udp_at(port);
  ip_mreq group{};
  inet_pton(AF_INET, "239.1.2.3", &group.imr_multiaddr);
  REQUIRE(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) == 0);
  REQUIRE(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) == -1 && errno == EADDRINUSE);
  const int control = udp_at(port + 1);
  char bytes[16];
  sockaddr_in from{};
  socklen_t from_B = sizeof from;
  REQUIRE(recvfrom(control, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &from_B) == 5);
  REQUIRE(sendto(control, "ready", 5, 0, reinterpret_cast<sockaddr*>(&from), from_B) == 5);
  REQUIRE(recv(fd, bytes, sizeof bytes, 0) == 3 && memcmp(bytes, "all", 3) == 0);
  REQUIRE(recv(fd, bytes, sizeof bytes, 0) == 5 && memcmp(bytes, "group", 5) == 0);
  REQUIRE(setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &group, sizeof group) == 0);
  REQUIRE(sendto(control, "left", 4, 0, reinterpret_cast<sockaddr*>(&from), from_B) == 4);
  REQUIRE(recv(fd, bytes, sizeof bytes, 0) == 3 && memcmp(bytes, "end", 3) == 0);
  close(fd);
  close(control);
}
void ask_many(const char* host, int port) {
  const int control = udp_to(host, port + 1);
  char bytes[16];
  REQUIRE(send(control, "ready", 5, 0) == 5 && recv(control, bytes, sizeof bytes, 0) == 5);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const sockaddr_in all = address_of("255.255.255.255", port), group = address_of("239.1.2.3", port);
  REQUIRE(send_to(fd, "all", all) == -1 && errno == EACCES);
  const int one = 1;
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof one) == 0);
  REQUIRE(send_to(fd, "nobody", address_of("255.255.255.255", port + 5)) == 6);
  REQUIRE(send_to(fd, "all", all) == 3);
  REQUIRE(send_to(fd, "other", address_of("239.9.9.9", port)) == 5);
  REQUIRE(send_to(fd, "group", group) == 5);
  REQUIRE(recv(control, bytes, sizeof bytes, 0) == 4);
  REQUIRE(send_to(fd, "group", group) == 5);
  REQUIRE(send_to(fd, "end", address_of(host, port)) == 3);
  close(fd);
  close(control);
}

// More than the receiver's buffer has room for is lost; epoll and a forked child see the socket as its parent does.
void serve_buffer(int port) {
  const int fd = udp_at(port);
  const int small = 8192;
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
  char bytes[2048];
  sockaddr_in from{};
  socklen_t from_B = sizeof from;
  REQUIRE(recvfrom(fd, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &from_B) == 5);
  REQUIRE(sendto(fd, "go", 2, 0, reinterpret_cast<sockaddr*>(&from), from_B) == 2);
  usleep(50'000);
  const pid_t child = fork();
  if (child == 0) {
    const int set = epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN;
    REQUIRE(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
    int count = 0;
    while (epoll_wait(set, &event, 1, 0) == 1 && recv(fd, bytes, sizeof bytes, 0) == 1000) ++count;
    // 16,384 B, of which each takes 1,768.
    _exit(count == 9 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  REQUIRE(sendto(fd, "done", 4, 0, reinterpret_cast<sockaddr*>(&from), from_B) == 4);
  close(fd);
}
void ask_buffer(const char* host, int port) {
  const int fd = udp_to(host, port);
  char bytes[16];
  REQUIRE(send(fd, "ready", 5, 0) == 5 && recv(fd, bytes, sizeof bytes, 0) == 2);
  const std::string text(1000, 'x');
  for (int i = 0; i < 40; ++i) REQUIRE(send(fd, text.data(), text.size(), 0) == 1000);
  REQUIRE(recv(fd, bytes, sizeof bytes, 0) == 4);
  close(fd);
}

constexpr probe::Case kCases[] = {
    {"echo", serve_echo, ask_echo}, {"parts", serve_parts, ask_parts}, {"connected", serve_connected, ask_connected},
    {"IPv6", serve_ipv6, ask_ipv6}, {"many", serve_many, ask_many},    {"buffer", serve_buffer, ask_buffer},
};

}  // namespace

int main(int argc, char** argv) {
  return probe::run(kCases, argc, argv);
}
