// Answers about finished runs, kept for repeated requests: the same files give the same answer. The least recently used
// are dropped when the cache is full.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

namespace weft::serve {

class AnswerCache {
 public:
  explicit AnswerCache(std::size_t most_B = std::size_t{96} << 20) : most_B_(most_B) {}

  // Null when there is none. A returned answer stays valid when the cache drops it.
  std::shared_ptr<const std::string> find(const std::string& key);
  // Not kept if larger than a quarter of the cache.
  void keep(const std::string& key, std::shared_ptr<const std::string> body);
  std::size_t size_B() const;

  // Held while an answer is computed. The number of turns is limited, which bounds the memory; other requests wait.
  class Turn {
   public:
    explicit Turn(AnswerCache& cache) : cache_(cache) { cache_.turns_.acquire(); }
    ~Turn() { cache_.turns_.release(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    AnswerCache& cache_;
  };

 private:
  static constexpr std::size_t kEntry_B = 256;  // overhead of the lists and the allocator per entry
  struct Entry {
    std::string key;
    std::shared_ptr<const std::string> body;
    std::size_t size_B() const { return key.size() + body->size() + kEntry_B; }
  };
  std::size_t most_B_;
  std::counting_semaphore<> turns_{4 + std::thread::hardware_concurrency()};
  mutable std::mutex mutex_;
  std::size_t size_B_ = 0;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
};

}  // namespace weft::serve
