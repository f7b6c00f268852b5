// Answers about runs that are over, kept for who asks again: the same files give the same answer. The oldest go first
// when there is no more room.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weft::serve {

class AnswerCache {
 public:
  explicit AnswerCache(std::size_t most_B = std::size_t{96} << 20) : most_B_(most_B) {}

  std::optional<std::string> find(const std::string& key);
  // Larger than a quarter of the room: not kept.
  void keep(const std::string& key, std::string_view body);
  std::size_t size_B() const;

 private:
  struct Entry {
    std::string key, body;
  };
  std::size_t most_B_;
  mutable std::mutex mutex_;
  std::size_t size_B_ = 0;
  std::list<Entry> entries_;  // that used last first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
};

}  // namespace weft::serve
