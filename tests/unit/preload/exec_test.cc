#include <gtest/gtest.h>

#include "unit/preload/fake_world.h"
#include "unit/preload/run_program.h"

namespace weft::test {
namespace {

// On x86-64 a trap that is on across execve kills the new program in its loader.
TEST(PreloadExec, StartsProgramsByAllExecFunctions) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "starts");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  for (const char* name : {"execve", "execve_clean", "execv", "execvp", "execvpe", "execl", "execlp", "execle",
                           "fexecve", "execveat", "posix_spawn"})
    EXPECT_EQ(outcome.values(name), (std::vector<long long>{0, 0, 0})) << name << "\n" << outcome.text;
  for (const char* name : {"posix_spawnp", "system", "popen"}) EXPECT_EQ(outcome.value(name), 0) << name;
  EXPECT_EQ(outcome.value("popen_reads"), 5);
  EXPECT_EQ(outcome.value("wordexp"), 2);
  EXPECT_EQ(outcome.value("counter_is_virtual"), 1) << outcome.text;
}

TEST(PreloadExec, TrapsCounterAfterFailedExec) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "failed_starts");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  for (const char* name : {"execve", "execve_clean", "execv", "execvp", "execvpe", "execl", "execlp", "execle",
                           "fexecve", "execveat", "posix_spawn", "posix_spawnp", "system", "popen"})
    EXPECT_EQ(outcome.value(name), 1) << name << "\n" << outcome.text;
}

TEST(PreloadExec, StartsShellsAndCleanEnvironments) {
  FakeWorld world;
  const std::string program = "env WEFT_NODE=left LD_PRELOAD=" WEFT_LIBRARY " WEFT_SOCKET=" + world.socket_path();
  for (const char* command :
       {" env /bin/true", " setsid --fork --wait /bin/true", " sh -c 'echo x | cat'", " env -i sh -c 'echo x | cat'"})
    EXPECT_EQ(system((program + command + " >/dev/null").c_str()), 0) << command;
}

}  // namespace
}  // namespace weft::test
