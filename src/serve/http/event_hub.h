// Changes for clients that listen (GET /api/events). Only the latest value of each key is kept: a client that reads
// slowly gets fewer values and never a queue, and publishing never blocks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "serve/http/request.h"

namespace weft::serve {

inline constexpr std::string_view kWorldEvent = "world";

class EventHub {
 public:
  // The value of `key`, for instance task 3; `data` is JSON in one line.
  void publish(std::string_view event, std::string_view key, std::string data);
  // Removes the key: clients that connect later do not see it.
  void forget(std::string_view event, std::string_view key);

  // Sends the current values and then changes, until the client is gone or stop(). On the client's thread. Values of
  // kWorldEvent go only to clients that watch worlds.
  void serve(const Send& send, bool watches_worlds = false);
  // True: the limit of listening clients is reached.
  bool is_full() const;
  std::size_t listeners() const;
  std::size_t world_watchers() const;
  void stop();
  bool stopped() const;

 private:
  struct Value {
    std::uint64_t version = 0;
    std::string data;
  };
  // All values newer than `seen`, oldest first, as text of the stream. Clients at the same position share one.
  std::shared_ptr<const std::string> newer_than(std::uint64_t& seen, bool watches_worlds);
  struct SharedText {
    std::uint64_t from = 0, to = 0;
    std::shared_ptr<const std::string> text = {};  // what is newer than `from`, at version `to`
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::string, std::string>, Value> values_;
  std::uint64_t version_ = 0;
  SharedText with_worlds_, without_worlds_;
  std::size_t listeners_ = 0, world_watchers_ = 0;
  bool stopped_ = false;
};

}  // namespace weft::serve
