// What the programs of ours that run on nodes share: cases that both ends go through in the same order, the server on
// one node and the client on another. The first thing that does not hold ends the program with status 1.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace probe {

inline const char* current = "";

#define REQUIRE(condition)                                                                                      \
  do {                                                                                                          \
    if (!(condition)) {                                                                                         \
      fprintf(stderr, "%s:%d: %s (%s): %s\n", __FILE__, __LINE__, #condition, probe::current, strerror(errno)); \
      _exit(1);                                                                                                 \
    }                                                                                                           \
  } while (false)

inline double now_s() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline int listen_at(int port, int flags = 0) {
  const int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
  REQUIRE(fd >= 0);
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(port));
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
  REQUIRE(listen(fd, 16) == 0);
  return fd;
}

inline sockaddr_in address_of(const char* host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  REQUIRE(getaddrinfo(host, nullptr, &hints, &found) == 0);
  sockaddr_in address;
  memcpy(&address, found->ai_addr, sizeof address);
  freeaddrinfo(found);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

inline int connect_to(const char* host, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = address_of(host, port);
  REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

inline int accept_one(int listener) {
  const int fd = accept(listener, nullptr, nullptr);
  REQUIRE(fd >= 0);
  return fd;
}

inline void put(int fd, const std::string& text) {
  REQUIRE(send(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
}

// Everything until the peer closes.
inline std::string get_all(int fd) {
  std::string all;
  char bytes[4096];
  for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) != 0;) {
    REQUIRE(got > 0);
    all.append(bytes, static_cast<std::size_t>(got));
  }
  return all;
}

inline std::string get(int fd, std::size_t size) {
  std::string text(size, 0);
  REQUIRE(recv(fd, text.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size));
  return text;
}

struct Case {
  const char* name;
  void (*serve)(int port);
  void (*ask)(const char* host, int port);
};

// PROGRAM serve | PROGRAM ask HOST
template <std::size_t kCount>
int run(const Case (&cases)[kCount], int argc, char** argv) {
  const bool serves = argc == 2 && strcmp(argv[1], "serve") == 0;
  if (!serves && (argc != 3 || strcmp(argv[1], "ask") != 0)) return 2;
  for (std::size_t i = 0; i < kCount; ++i) {
    current = cases[i].name;
    const int port = 7000 + 10 * static_cast<int>(i);
    if (serves) {
      cases[i].serve(port);
    } else {
      cases[i].ask(argv[2], port);
    }
    printf("%s: ok\n", cases[i].name);
    fflush(stdout);
  }
  return 0;
}

}  // namespace probe
