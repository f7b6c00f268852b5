#include "serve/runs/answer_cache.h"

namespace weft::serve {

std::optional<std::string> AnswerCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = places_.find(key);
  if (at == places_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, at->second);
  return at->second->body;
}

void AnswerCache::keep(const std::string& key, std::string_view body) {
  const std::size_t size_B = key.size() + body.size();
  if (size_B > most_B_ / 4) return;
  const std::lock_guard lock(mutex_);
  if (places_.contains(key)) return;
  while (!entries_.empty() && size_B_ + size_B > most_B_) {
    size_B_ -= entries_.back().key.size() + entries_.back().body.size();
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, std::string(body)});
  places_.emplace(entries_.front().key, entries_.begin());
  size_B_ += size_B;
}

std::size_t AnswerCache::size_B() const {
  const std::lock_guard lock(mutex_);
  return size_B_;
}

}  // namespace weft::serve
