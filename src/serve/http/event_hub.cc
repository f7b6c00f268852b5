#include "serve/http/event_hub.h"

#include <fmt/format.h>

#include <thread>
#include <utility>
#include <vector>

namespace weft::serve {

namespace {

using namespace std::chrono_literals;

constexpr auto kKeepAliveInterval = 10s;
constexpr auto kLeastInterval = 100ms;  // between two batches to one client
constexpr std::size_t kMostListeners = 300;

}  // namespace

void EventHub::publish(std::string_view event, std::string_view key, std::string data) {
  {
    const std::lock_guard lock(mutex_);
    values_[{std::string(event), std::string(key)}] = {++version_, std::move(data)};
  }
  changed_.notify_all();
}

void EventHub::forget(std::string_view event, std::string_view key) {
  const std::lock_guard lock(mutex_);
  values_.erase({std::string(event), std::string(key)});
  with_worlds_.text = without_worlds_.text = nullptr;
}

std::shared_ptr<const std::string> EventHub::newer_than(std::uint64_t& seen, bool watches_worlds) {
  const std::uint64_t from = std::exchange(seen, version_);
  SharedText& kept = watches_worlds ? with_worlds_ : without_worlds_;
  if (kept.text != nullptr && kept.from == from && kept.to == version_) return kept.text;
  std::map<std::uint64_t, std::pair<const std::string*, const std::string*>> newer;
  for (const auto& [name, value] : values_) {
    if (value.version > from && (watches_worlds || name.first != kWorldEvent))
      newer[value.version] = {&name.first, &value.data};
  }
  std::string text;
  for (const auto& [version, event] : newer)
    text += fmt::format("event: {}\ndata: {}\n\n", *event.first, *event.second);
  kept = {from, version_, std::make_shared<const std::string>(std::move(text))};
  return kept.text;
}

void EventHub::serve(const Send& send, bool watches_worlds) {
  {
    const std::lock_guard lock(mutex_);
    ++listeners_;
    world_watchers_ += watches_worlds ? 1 : 0;
  }
  std::uint64_t seen = 0;
  auto text = std::make_shared<const std::string>("retry: 1000\n\n");
  static const auto still_here = std::make_shared<const std::string>(": still here\n\n");
  while (send(*text)) {
    std::this_thread::sleep_for(kLeastInterval);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kKeepAliveInterval, [&] { return stopped_ || version_ > seen; });
    if (stopped_) break;
    text = newer_than(seen, watches_worlds);
    if (text->empty()) text = still_here;
  }
  const std::lock_guard lock(mutex_);
  --listeners_;
  world_watchers_ -= watches_worlds ? 1 : 0;
}

bool EventHub::is_full() const {
  return listeners() >= kMostListeners;
}

std::size_t EventHub::listeners() const {
  const std::lock_guard lock(mutex_);
  return listeners_;
}

std::size_t EventHub::world_watchers() const {
  const std::lock_guard lock(mutex_);
  return world_watchers_;
}

void EventHub::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool EventHub::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

}  // namespace weft::serve
