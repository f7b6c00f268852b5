// A run beside clients of the event stream that read nothing: their sockets are full and their threads wait in a write.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "serve/http/event_routes.h"
#include "serve/tasks/task_routes.h"
#include "unit/serve/raw_client.h"

namespace weft::serve {
namespace {

using namespace std::chrono_literals;

TEST(StalledClients, RunEndsBesideThem) {
  constexpr std::size_t kClients = 300;
  EventHub hub;
  const RunPlace place("/nowhere/weft-stalled");
  RunList runs(place);
  TaskList tasks(TaskLimits{1, 4, 60s, 1s, 0, 0}, task_observer(hub, place, runs));
  Router router;
  add_event_routes(router, hub);
  TestServer server(router);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->ask("GET /api/events");
  }
  for (int i = 0; i < 3000 && hub.listeners() < kClients; ++i) std::this_thread::sleep_for(10ms);
  ASSERT_EQ(hub.listeners(), kClients);
  // More than the buffers of a connection hold.
  hub.publish("runs", "", std::string(512 << 10, 'x'));
  const auto task = tasks.add(
      "run", "a",
      {"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo '{\"now_ps\": '$i', \"wall_s\": 0.1}' >&2; done"}, "");
  ASSERT_TRUE(task);
  for (int i = 0; i < 3000 && tasks.is_busy("a"); ++i) std::this_thread::sleep_for(10ms);
  const auto ended = tasks.find(task->id);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->state, TaskState::kDone);
  EXPECT_EQ(ended->now_ps, 9);
  hub.stop();
}

}  // namespace
}  // namespace weft::serve
