// Answers about runs that are over, kept for who asks again: the same files give the same answer. The oldest go first
// when there is no more room.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weft::serve {

class AnswerCache {
 public:
  explicit AnswerCache(std::size_t most_B = std::size_t{96} << 20) : most_B_(most_B) {}

  // Null when there is none. Who has it keeps it, whatever the cache forgets.
  std::shared_ptr<const std::string> find(const std::string& key);
  // Larger than a quarter of the room: not kept.
  void keep(const std::string& key, std::shared_ptr<const std::string> body);
  std::size_t size_B() const;

 private:
  static constexpr std::size_t kEntry_B = 256;  // what the lists and the allocator add to one
  struct Entry {
    std::string key;
    std::shared_ptr<const std::string> body;
    std::size_t size_B() const { return key.size() + body->size() + kEntry_B; }
  };
  std::size_t most_B_;
  mutable std::mutex mutex_;
  std::size_t size_B_ = 0;
  std::list<Entry> entries_;  // that used last first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
};

}  // namespace weft::serve
