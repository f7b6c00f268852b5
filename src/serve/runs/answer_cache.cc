#include "serve/runs/answer_cache.h"

#include <utility>

namespace weft::serve {

std::shared_ptr<const std::string> AnswerCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = places_.find(key);
  if (at == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, at->second);
  return at->second->body;
}

void AnswerCache::keep(const std::string& key, std::shared_ptr<const std::string> body) {
  Entry entry{key, std::move(body)};
  const std::size_t size_B = entry.size_B();
  if (size_B > most_B_ / 4) return;
  const std::lock_guard lock(mutex_);
  if (places_.contains(key)) return;
  while (!entries_.empty() && size_B_ + size_B > most_B_) {
    size_B_ -= entries_.back().size_B();
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front(std::move(entry));
  places_.emplace(entries_.front().key, entries_.begin());
  size_B_ += size_B;
}

std::size_t AnswerCache::size_B() const {
  const std::lock_guard lock(mutex_);
  return size_B_;
}

}  // namespace weft::serve
