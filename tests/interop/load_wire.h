// How the two ends of load_peer find each other: a TCP connection for addresses and counts, and how they end.
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "wire/crc32.h"

namespace weft::load {

inline constexpr int kExitWrong = 1, kExitFailed = 3, kExitAlone = 4;

[[noreturn]] inline void end(int status, const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(status);
}
inline void check(bool well, const char* what) {
  if (!well) end(kExitWrong, std::string("wrong: ") + what);
}

// What one end tells the other of a queue pair.
struct End {
  std::uint32_t qpn, psn, rkey, read_crc;
  std::uint64_t memory;
  std::uint8_t gid[16];
};

// What a message is, and its head.
enum class Kind : std::uint32_t { kSend, kWriteImm, kWrite, kNotice, kRead, kFetchAdd, kSwap, kAck };
struct Head {
  std::uint64_t number;
  Kind kind;
  std::uint32_t length_B, crc, unused;
};

inline std::uint32_t crc_of(const std::uint8_t* bytes, std::size_t size_B) {
  return ~wire::crc32_update(wire::kCrc32Init, {bytes, size_B});
}

// Between two looks at an empty queue: entries come in bunches.
inline constexpr long kIdle_ns = 50'000;
inline void rest(long time_ns = kIdle_ns) {
  timespec idle{0, time_ns};
  nanosleep(&idle, nullptr);
}
inline std::int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

inline void send_all(int socket, const void* bytes, std::size_t size_B) {
  for (std::size_t done = 0; done < size_B;) {
    ssize_t sent = ::send(socket, static_cast<const char*>(bytes) + done, size_B - done, MSG_NOSIGNAL);
    if (sent <= 0) end(kExitAlone, "the peer is gone");
    done += static_cast<std::size_t>(sent);
  }
}

inline bool receive_all(int socket, void* bytes, std::size_t size_B) {
  for (std::size_t done = 0; done < size_B;) {
    ssize_t got = ::recv(socket, static_cast<char*>(bytes) + done, size_B - done, 0);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

// What is there.
inline std::size_t receive_some(int socket, void* bytes, std::size_t size_B) {
  if (size_B == 0) return 0;
  ssize_t got = ::recv(socket, bytes, size_B, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN)) end(kExitAlone, "the peer is gone");
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

inline int accept_at(const char* port) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  check(bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0 && listen(listener, 1) == 0, "listen");
  std::printf("listening\n");
  std::fflush(stdout);
  int fd = accept(listener, nullptr, nullptr);
  check(fd >= 0, "accept");
  close(listener);
  return fd;
}

inline int connect_to(const char* node, const char* port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  check(getaddrinfo(node, port, &hints, &found) == 0, "no such node");
  for (int i = 0; i < 1000; ++i) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
      freeaddrinfo(found);
      std::printf("connected\n");
      std::fflush(stdout);
      return fd;
    }
    close(fd);
    timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  end(kExitAlone, "nobody listens");
}

}  // namespace weft::load
