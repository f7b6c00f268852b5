// A world for the tests of libweft.so: one thread, virtual time, TCP between its programs, no fabric. It advances its
// clock to the next moment that somebody waits for, once every connected thread waits.
#pragma once

#include <string.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "verbs/node_protocol.h"
#include "verbs/protocol.h"

namespace weft::test {

template <typename T>
T body_as(const std::string& body) {
  T value{};
  memcpy(&value, body.data(), std::min(sizeof value, body.size()));
  return value;
}

class FakeWorld {
 public:
  static constexpr std::int64_t kLatency_ps = 5'000'000;  // of a byte on a stream: 5 us
  static constexpr std::int64_t kClockRead_ps = 20'000;   // 20 ns
  static constexpr std::int64_t kEpoch_ns = 1'700'000'000'000'000'000;

  explicit FakeWorld(verbs::Clock clock = verbs::Clock::kVirtual);
  ~FakeWorld();
  const std::string& socket_path() const { return path_; }
  int hellos() const { return hellos_; }  // threads that connected so far

 private:
  struct Client {
    int fd = -1;
    std::int32_t pid = 0, tid = 0;
    verbs::ThreadPage* page = nullptr;
    std::string node;
    bool parked = false;
    verbs::RequestHead head{};
    std::string body;
  };
  struct Stream {
    bool listening = false, connected = false, end = false, closed = false;
    verbs::StreamAddress local{}, remote{};
    std::uint32_t other = verbs::kNoHandle;
    std::string node;  // that bound it
    std::vector<std::uint32_t> backlog;
    std::vector<std::pair<std::int64_t, std::string>> arriving;  // when, what
  };

  // left is 10.0.0.1, right 10.0.0.2; others are not known and end in 0.
  static verbs::Address address_of(const std::string& node);
  void run();
  void read_request(Client& client);
  bool try_serve(Client& client);  // false: still parked
  bool try_stream(Client& client);
  void reply(Client& client, int error, const void* bytes = nullptr, std::size_t size_B = 0, const int* fds = nullptr);
  void reply_with_socket(Client& client, const void* bytes, std::size_t size_B);
  void hello(Client& client);
  std::uint32_t readiness(std::uint32_t handle) const;
  bool advance();
  bool fire_timers();
  bool sleeps_outside(const Client& client) const;

  verbs::Clock clock_;
  std::string path_;
  int listener_ = -1, stop_ = -1;
  std::int64_t now_ps_ = 0;
  bool quiet_ = false;  // nothing has come for a while
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Stream> streams_;
  std::map<pid_t, verbs::SetTimer> timers_;  // after_ps: when it is due
  std::atomic<int> hellos_ = 0;
  std::uint32_t next_port_ = 40'000;
  std::thread thread_;
};

}  // namespace weft::test
