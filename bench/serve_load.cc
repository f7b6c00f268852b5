// Clients of `weft serve`, for bench/serve.sh: each listens to /api/events and asks /api over a connection of its own;
// some connect to the event stream and read nothing. Prints what they got and how the server's memory
// went. The status is 1 when a request failed, a stream was lost, or nothing was answered.
// Usage: weft_serve_load PORT SERVER_PID CLIENTS SILENT SECONDS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

int open_connection(int port, int receive_buffer_B = 0) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (receive_buffer_B > 0) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer_B, sizeof(receive_buffer_B));
  const timeval patience{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) return fd;
  close(fd);
  return -1;
}

bool ask(int fd, int port, const char* path) {
  const std::string text =
      std::string("GET ") + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n";
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// One answer with a Content-Length.
bool read_answer(int fd) {
  std::string all;
  char piece[65536];
  std::size_t whole = std::string::npos;
  for (int tries = 0; tries < 20 && all.size() < whole;) {
    const ssize_t got = recv(fd, piece, sizeof(piece), 0);
    if (got == 0) return false;
    if (got < 0) {
      ++tries;
      continue;
    }
    all.append(piece, static_cast<std::size_t>(got));
    const std::size_t head = all.find("\r\n\r\n"), length = all.find("Content-Length: ");
    if (head != std::string::npos && length < head)
      whole = head + 4 + std::strtoul(all.c_str() + length + 16, nullptr, 10);
  }
  return all.size() == whole && all.starts_with("HTTP/1.1 200");
}

long resident_kB(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: weft_serve_load PORT SERVER_PID CLIENTS SILENT SECONDS\n");
    return 2;
  }
  const int port = std::atoi(argv[1]), pid = std::atoi(argv[2]), clients = std::atoi(argv[3]),
            silent = std::atoi(argv[4]), seconds = std::atoi(argv[5]);
  const char* const paths[] = {"/api/status", "/api/tasks", "/api/runs", "/", "/api/worlds"};
  std::atomic<long> answers{0}, errors{0}, events{0}, streams_lost{0};
  std::atomic<bool> ends{false};
  std::mutex mutex;
  std::vector<double> latencies_ms;
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      int asker = open_connection(port);
      std::vector<double> own_ms;
      for (int n = 0; !ends; ++n) {
        const auto begin = Clock::now();
        const bool well = asker >= 0 && ask(asker, port, paths[(n + i) % 5]) && read_answer(asker);
        own_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
        ++(well ? answers : errors);
        // A connection has a number of requests; the next is a new one.
        if (!well || n % 500 == 499) {
          if (asker >= 0) close(asker);
          asker = open_connection(port);
        }
        std::this_thread::sleep_for(milliseconds(100));
      }
      const std::lock_guard lock(mutex);
      latencies_ms.insert(latencies_ms.end(), own_ms.begin(), own_ms.end());
    });
    threads.emplace_back([&] {
      const int listener = open_connection(port);
      bool lost = listener < 0 || !ask(listener, port, "/api/events");
      char piece[65536];
      while (!ends && !lost) {
        const ssize_t got = recv(listener, piece, sizeof(piece), 0);
        if (got == 0) lost = true;
        for (ssize_t at = 0; at + 6 < got; ++at) events += std::string_view(piece + at, 7) == "\nevent:" ? 1 : 0;
      }
      if (lost) ++streams_lost;
    });
  }
  for (int i = 0; i < silent; ++i) {
    const int fd = open_connection(port, 2048);
    if (fd >= 0) ask(fd, port, "/api/events");
  }
  std::vector<long> memory_kB;
  for (int second = 0; second < seconds; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    memory_kB.push_back(resident_kB(pid));
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  std::sort(latencies_ms.begin(), latencies_ms.end());
  const auto at = [&](double share) {
    return latencies_ms.empty()
               ? 0.0
               : latencies_ms[static_cast<std::size_t>(share * static_cast<double>(latencies_ms.size() - 1))];
  };
  std::printf("clients %d, silent %d, %d s: %ld answers (%.0f/s), %ld errors, %ld events, %ld streams lost\n", clients,
              silent, seconds, answers.load(), static_cast<double>(answers.load()) / seconds, errors.load(),
              events.load(), streams_lost.load());
  std::printf("latency ms: p50 %.1f p99 %.1f max %.1f\n", at(0.5), at(0.99), at(1));
  std::printf("server memory kB, at each tenth:");
  const auto tenth_kB = [&](std::size_t i) {
    return memory_kB.empty() ? 0 : memory_kB[i * (memory_kB.size() - 1) / 10];
  };
  for (std::size_t i = 1; i <= 10; ++i) std::printf(" %ld", tenth_kB(i));
  std::printf("\ngrowth from the 2nd to the last tenth: %+ld kB\n", tenth_kB(10) - tenth_kB(2));
  return errors > 0 || streams_lost > 0 || answers == 0 || events == 0 ? 1 : 0;
}
