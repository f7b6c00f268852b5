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

}  // namespace
}  // namespace weft
