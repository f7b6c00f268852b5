#include "serve/http/event_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::serve {
namespace {

using namespace std::chrono_literals;

// A client of the hub on a thread of its own.
class Listener {
 public:
  explicit Listener(EventHub& hub, std::chrono::milliseconds reading = 0ms, bool watches_worlds = false)
      : thread_([this, &hub, reading, watches_worlds] {
          hub.serve(
              [&](std::string_view piece) {
                {
                  const std::lock_guard lock(mutex_);
                  text_ += piece;
                }
                std::this_thread::sleep_for(reading);
                return !gone_;
              },
              watches_worlds);
        }) {}
  ~Listener() {
    if (thread_.joinable()) thread_.join();
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool sees(std::string_view wanted) {
    for (int i = 0; i < 1000 && text().find(wanted) == std::string::npos; ++i) std::this_thread::sleep_for(10ms);
    return text().find(wanted) != std::string::npos;
  }
  void leave() { gone_ = true; }

 private:
  std::mutex mutex_;
  std::string text_;
  std::atomic<bool> gone_{false};
  std::thread thread_;
};

TEST(EventHub, SendsWorldsOnlyToTheirWatchers) {
  EventHub hub;
  Listener plain(hub), watcher(hub, 0ms, true);
  hub.publish(kWorldEvent, "w", "{\"name\": \"w\"}");
  EXPECT_TRUE(watcher.sees("event: world\n"));
  hub.publish("runs", "", "{}");
  EXPECT_TRUE(plain.sees("event: runs\n"));
  EXPECT_EQ(plain.text().find("event: world"), std::string::npos);
  hub.stop();
}

TEST(EventHub, SendsWhatThereIsAndWhatChanges) {
  EventHub hub;
  hub.publish("task", "1", "{\"id\": 1}");
  Listener listener(hub);
  EXPECT_TRUE(listener.sees("event: task\ndata: {\"id\": 1}\n\n"));
  EXPECT_EQ(hub.listeners(), 1U);
  hub.publish("runs", "", "{}");
  EXPECT_TRUE(listener.sees("event: runs\ndata: {}\n\n"));
  hub.stop();
}

TEST(EventHub, DoesNotQueueForSlowClients) {
  EventHub hub;
  Listener slow(hub, 300ms);
  for (int i = 0; i < 20'000; ++i) hub.publish("task", "1", std::to_string(i));
  EXPECT_TRUE(slow.sees("data: 19999\n"));
  EXPECT_LT(slow.text().size(), 2'000U);
  hub.stop();
}

// All clients are inside of a send that does not return. If publish() waited for one of them, this test would not end.
TEST(EventHub, PublishesWhileEveryClientIsStalled) {
  constexpr std::size_t kClients = 300;
  EventHub hub;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t stalled = 0;
  bool goes_on = false;
  std::vector<std::string> texts(kClients);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      hub.serve([&, i](std::string_view piece) {
        std::unique_lock lock(mutex);
        texts[i] += piece;
        ++stalled;
        changed.notify_all();
        changed.wait(lock, [&] { return goes_on; });
        --stalled;
        return texts[i].find("data: 9999\n") == std::string::npos;
      });
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stalled == kClients; });
  }
  for (int i = 0; i < 10'000; ++i) hub.publish("task", "1", std::to_string(i));
  EXPECT_EQ(hub.listeners(), kClients);
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(stalled, kClients);  // nobody has read anything meanwhile
    goes_on = true;
  }
  changed.notify_all();
  for (std::thread& client : clients) client.join();
  for (const std::string& text : texts) {
    EXPECT_NE(text.find("data: 9999\n"), std::string::npos);
    EXPECT_LT(text.size(), 200U);  // the latest, no queue of old ones
  }
}

TEST(EventHub, ForgetsWhatIsGone) {
  EventHub hub;
  hub.publish("task", "1", "one");
  hub.publish("task", "2", "two");
  hub.forget("task", "1");
  Listener listener(hub);
  EXPECT_TRUE(listener.sees("two"));
  EXPECT_EQ(listener.text().find("one"), std::string::npos);
  listener.leave();
  hub.publish("task", "2", "again");
  for (int i = 0; i < 1000 && hub.listeners() > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hub.listeners(), 0U);
}

}  // namespace
}  // namespace weft::serve
