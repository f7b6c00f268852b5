// Commands to a world that is up: links, faults, impairments, settings, traces, captures, counters.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

#include "interop/interop_support.h"
#include "interop/live_world.h"
#include "support/matching.h"

namespace weft::interop {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSwitchLab = "live/one-switch-100g.yaml";

int status_of(int raw) {
  return WEXITSTATUS(raw);
}

Json json_of(const Live& world, const std::string& command) {
  EXPECT_EQ(world.shell(command + " --json"), 0) << world.output();
  return Json::parse(world.output(), nullptr, false);
}

TEST(Commands, LinkGoesDownAndComesUpForProgramsOnBothClocks) {
  for (const char* clock : {"virtual", "wall"}) {
    Live world(kSwitchLab, std::string("--clock ") + clock);
    const Json down = json_of(world, "link h0:p0 down");
    EXPECT_EQ(down["up"], false) << down;
    ASSERT_EQ(world.shell("exec h0 -- ibv_devinfo"), 0);
    EXPECT_NE(world.output().find("PORT_DOWN (1)"), std::string::npos) << world.output();
    ASSERT_EQ(world.shell("exec h0 -- cat /sys/class/infiniband/mlx5_0/ports/1/state"), 0);
    EXPECT_EQ(world.output(), "1: DOWN\n");
    ASSERT_EQ(world.shell("link h0:p0 up"), 0);
    EXPECT_EQ(world.output(), "h0:p0 - leaf0:swp1: up\n");
    ASSERT_EQ(world.shell("exec h0 -- ibv_devinfo"), 0);
    EXPECT_NE(world.output().find("PORT_ACTIVE (4)"), std::string::npos) << world.output();
  }
}

TEST(Commands, WrongInputNamesRemedy) {
  Live world(kSwitchLab);
  const struct {
    const char* command;
    const char* says;
  } kCases[] = {{"link h0:p1 down", "no cable ends at \"h0:p1\""},
                {"link h0:p0 dwon", "did you mean down?"},
                {"link h0:p0", "write weft link NODE:PORT up, down, flap or show"},
                {"link h0:p0 flap fast", "flap fast"},
                {"link h0:p0 down --at -1s", "--at -1s"},
                {"link h0:p0 show --at 1s", "leave --at out"},
                {"link h0:p0 down --world nowhere", "no world named nowhere is up"},
                {"fault add link=h0:p0 action=dorp", "action \"dorp\" is not known"},
                {"fault remove 7", "there is no fault \"7\""},
                {"fault", "add, list or remove?"},
                {"link h0:p0 down --loud", "no option --loud"},
                {"impair h0:p0 delay", "delay without a value"},
                {"impair h9:p0 delay 1us", "no cable ends at \"h9:p0\""},
                {"set leaf0 queues.3.ecn.min '9 MB'", "is above max"},
                {"set leaf0 queues.3.weight 3", "cannot be changed while the world runs"},
                {"set leaf9 pfc.priorities []", "there is no node \"leaf9\""},
                {"set leaf0 pfc.priorities '[5]'", "priority 5 had no PFC"},
                {"set h0 congestion.RPG_AI_RATE fast", "RPG_AI_RATE"}};
  for (const auto& each : kCases) {
    EXPECT_EQ(status_of(world.shell(each.command)), 2) << each.command << "\n" << world.output();
    EXPECT_NE(world.output().find(each.says), std::string::npos) << each.command << "\n" << world.output();
  }
  EXPECT_EQ(json_of(world, "ps")[0]["commands"], Json::array()) << "nothing of it has happened";
}

}  // namespace
}  // namespace weft::interop
