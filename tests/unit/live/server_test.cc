#include "live/server.h"

#include <gtest/gtest.h>

#include "observe/capture.h"
#include "support/live_program.h"

namespace weft {
namespace {

TEST(Server, ProgramsAndCapturesShareEpoch) {
  LiveWorld world;
  LiveProgram program(world, "a");
  EXPECT_EQ(program.epoch_ns, observe::Capture::kEpoch_ns);
}

// Whoever shows a world subscribes to its session: time that passes for programs passes there.
TEST(Server, AdvancesSession) {
  LiveWorld world;
  LiveProgram program(world, "a");
  EXPECT_TRUE(program.sleep(ms(5)));
  const Time_ps slept_ps = program.now_ps();
  EXPECT_TRUE(program.sleep(ms(5)));
  EXPECT_GE(world.reached_ps(), slept_ps - ms(1)) << "subscribers are called between windows, after the first sleep";
  EXPECT_GT(world.reached_ps(), 0);
}

TEST(Server, EndsWhenSessionIsCancelled) {
  LiveWorld world;
  {
    LiveProgram program(world, "a");
    EXPECT_TRUE(program.sleep(ms(5)));
    EXPECT_FALSE(world.has_ended());
    world.cancel();
  }
  for (int i = 0; i < 10'000 && !world.has_ended(); ++i) usleep(1000);
  EXPECT_TRUE(world.has_ended());
}

}  // namespace
}  // namespace weft
