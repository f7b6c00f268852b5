#include "serve/change_watch.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "serve/worlds/world_view.h"

namespace weft::serve {

namespace {

using namespace std::chrono_literals;

constexpr auto kShortest = 500ms;
constexpr int kShare = 20;  // looking takes at most a 20th of the time

}  // namespace

ChangeWatch::ChangeWatch(EventHub& hub, RunList& runs) : hub_(hub), runs_(runs) {
  thread_ = std::thread([this] { work(); });
}

ChangeWatch::~ChangeWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ChangeWatch::work() {
  using Clock = std::chrono::steady_clock;
  std::uint64_t seen = runs_.look()->version;
  std::map<std::string, std::string> worlds;
  std::vector<std::string> gone;  // in the last pass
  auto pause = std::chrono::milliseconds(kShortest);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, pause, [this] { return ends_; })) return;
    }
    const auto begin = Clock::now();
    if (hub_.listeners() > 0) {
      const std::uint64_t now = runs_.look()->version;
      if (now != seen) hub_.publish("runs", "", "{}");
      seen = now;
    }
    if (hub_.world_watchers() > 0) {
      std::map<std::string, std::string> now;
      for (const WorldSummary& world : worlds_that_are_up()) now[world.name] = world_summary_json(world);
      for (const auto& [name, json] : now) {
        if (const auto before = worlds.find(name); before == worlds.end() || before->second != json)
          hub_.publish(kWorldEvent, name, json);
      }
      // Clients have received it since the last pass.
      for (const std::string& name : gone) {
        if (!now.contains(name)) hub_.forget(kWorldEvent, name);
      }
      gone.clear();
      for (const auto& [name, json] : worlds) {
        if (now.contains(name)) continue;
        hub_.publish(kWorldEvent, name, world_gone_json(name));
        gone.push_back(name);
      }
      worlds = std::move(now);
    }
    pause = std::max<std::chrono::milliseconds>(
        kShortest, std::chrono::duration_cast<std::chrono::milliseconds>(kShare * (Clock::now() - begin)));
  }
}

}  // namespace weft::serve
