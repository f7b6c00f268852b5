// Commands to a world that is up: links, faults, impairments, settings, traces, captures, counters.
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
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

// ibv_asyncwatch prints what comes; in wall-clock mode a flap goes on by itself.
TEST(Commands, ProgramsGetPortEventsOnBothClocks) {
  for (const std::string clock : {"virtual", "wall"}) {
    Live world(kSwitchLab, "--clock " + clock);
    std::thread watcher([&] { world.shell("exec h0 -- stdbuf -oL ibv_asyncwatch", "async"); });
    const auto wait_for = [&](const std::string& text) {
      for (int i = 0; i < 500 && world.output("async").find(text) == std::string::npos; ++i)
        std::this_thread::sleep_for(20ms);
      EXPECT_NE(world.output("async").find(text), std::string::npos) << clock << "\n" << world.output("async");
    };
    wait_for("async event FD");
    ASSERT_EQ(world.shell(clock == "wall" ? "link h0:p0 flap 5ms 5ms" : "link h0:p0 down"), 0) << world.output();
    wait_for("IBV_EVENT_PORT_ERR");
    if (clock == "virtual") ASSERT_EQ(world.shell("link h0:p0 up"), 0);
    wait_for("IBV_EVENT_PORT_ACTIVE");
    kill(Live::pid_on("h0"), SIGTERM);
    watcher.join();
  }
}

// Real time comes by itself to the moment that was stated.
TEST(Commands, HappenAtStatedMomentOfRealTime) {
  Live world(kSwitchLab, "--clock wall");
  const double at_s = Live::now_s() + 0.3;
  ASSERT_EQ(world.shell("link h0:p0 down --at " + std::to_string(at_s) + "s"), 0) << world.output();
  EXPECT_EQ(json_of(world, "link h0:p0 show")["up"], true);
  for (int i = 0; i < 500 && json_of(world, "link h0:p0 show")["up"] == true; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(json_of(world, "link h0:p0 show")["up"], false);
  EXPECT_GE(Live::now_s(), at_s);
  EXPECT_EQ(json_of(world, "ps")[0]["commands"][0]["state"], "done");
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
                {"impair h9:p0 delay 1us", "there is no node \"h9\""},
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

// A fault of the lab file's words on a running world: hits are counted, the program's bytes arrive all the same.
TEST(Commands, FaultHitsProgramsUntilItIsRemoved) {
  Live world(kSwitchLab);
  const Json added = json_of(world, "fault add link=h1:p0 action=drop frames=request probability=5% name=lossy");
  EXPECT_EQ(added["number"], 1) << added;
  const std::string slow = world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 100");
  const std::uint64_t hits = json_of(world, "fault list")[0]["hits"];
  EXPECT_GT(hits, 50U) << "of 1600 packets";
  EXPECT_LT(hits, 300U);
  ASSERT_EQ(world.shell("fault remove lossy"), 0) << world.output();
  EXPECT_EQ(json_of(world, "fault list"), Json::array());
  const std::string quick = world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 100");
  EXPECT_GT(row_of(quick)[3], 2 * row_of(slow)[3]);
}

TEST(Commands, ImpairmentDelaysOneDirection) {
  Live world(kSwitchLab);
  const auto round_trip_us = [&] {
    const std::string said = world.pair("h0", "h1", "ibv_rc_pingpong -g 3 -n 100");
    const std::vector<std::string> found = test::match(said, "= ([0-9.]+) usec/iter");
    EXPECT_FALSE(found.empty()) << said;
    return found.empty() ? 0 : std::stod(found[1]);
  };
  const double before_us = round_trip_us();
  ASSERT_EQ(world.shell("impair h1:p0 delay 10us"), 0) << world.output();
  EXPECT_NEAR(round_trip_us() - before_us, 10, 0.3) << "once in a round trip";
  EXPECT_GT(json_of(world, "impair h1:p0 show")["delayed"], 100);
  ASSERT_EQ(world.shell("impair h1:p0 off"), 0);
  EXPECT_NEAR(round_trip_us(), before_us, 0.1);
}

// The rate of netem is what perftest measures, less headers.
TEST(Commands, ImpairmentLimitsRate) {
  Live world(kSwitchLab);
  ASSERT_EQ(world.shell("impair h1:p0 rate 10gbit limit 10000"), 0) << world.output();
  const auto row = row_of(world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 100 --report_gbits"));
  EXPECT_NEAR(row.at(3), 10.0 * 4096 / 4178, 0.1);
}

// A command waits for its moment, happens then, and is in the record with it. The same again gives the same bytes: of
// each frame the headers that do not hold a random PSN or address of a program.
TEST(Commands, HappenAtStatedMomentWithSameBytes) {
  std::string captures[2], records[2];
  for (int round = 0; round < 2; ++round) {
    TempDir temp;
    Live world("live/leaf-spine-100g.yaml", "--capture h0:p0,h2:p0 --snaplen 42 --out " + temp.file("cap"));
    ASSERT_EQ(world.shell("link leaf0:swp31 down --at 1.0005s"), 0);
    EXPECT_EQ(world.output(), "waits for 1000.5 ms\n");
    ASSERT_EQ(world.shell("link leaf0:swp31 up --at 1.02s"), 0);
    ASSERT_EQ(world.shell("impair h2:p0 delay 2us 1us loss 0.1% --at 1s"), 0);
    ASSERT_EQ(world.shell("set leaf1 queues.3.ecn '{min: 20 kB, max: 40 kB, probability: 10 %}' --at 1s"), 0);
    const std::string said = world.pair("h0", "h2", "ib_write_bw -F -x 3 -n 400 -u 10");
    EXPECT_FALSE(row_of(said).empty()) << said;
    const Json commands = json_of(world, "ps")[0]["commands"];
    ASSERT_EQ(commands.size(), 4U) << commands;
    for (const Json& each : commands) EXPECT_EQ(each["state"], "done") << commands;
    EXPECT_EQ(commands[0]["at_ps"], 1'000'500'000'000);
    EXPECT_EQ(commands[0]["command"], "weft link leaf0:swp31 down --at '1000.5 ms'");
    records[round] = commands.dump() + json_of(world, "impair h2:p0 show").dump();
    ASSERT_EQ(world.shell("down"), 0);
    captures[round] = text_of(temp.file("cap/capture.pcapng"));
  }
  EXPECT_GT(captures[0].size(), 500'000U);
  EXPECT_TRUE(captures[0] == captures[1]) << "the captures differ";
  EXPECT_EQ(records[0], records[1]);
}

// The way between two leaves: a cut of the spine in use moves all of it to the other, when the switches have noticed.
TEST(Commands, RoutesMoveAroundCutLink) {
  Live world("live/leaf-spine-100g.yaml");
  const auto sent = [&](const std::string& port) {
    const Json counters = json_of(world, "counters " + port).flatten();
    std::uint64_t packets = 0;
    for (const auto& [name, value] : counters.items()) {
      if (name.find("tx") != name.npos && name.ends_with("packets") && value.is_number())
        packets += value.get<std::uint64_t>();
    }
    return packets;
  };
  world.pair("h0", "h2", "ib_write_bw -F -x 3 -n 100");
  std::string used = "leaf0:swp31", other = "leaf0:swp32";
  if (sent(other) > sent(used)) std::swap(used, other);
  ASSERT_EQ(world.shell("link " + used + " down"), 0);
  ASSERT_EQ(world.shell("exec h0 -- sleep 0.02"), 0);  // the convergence of the lab is 10 ms
  const std::uint64_t used_before = sent(used), other_before = sent(other);
  world.pair("h0", "h2", "ib_write_bw -F -x 3 -n 100");
  EXPECT_EQ(sent(used), used_before);
  EXPECT_GE(sent(other), other_before + 100) << "an ACK for each message";
  ASSERT_EQ(world.shell("link " + used + " up"), 0);
}

TEST(Commands, SettingsShowWhatWasSet) {
  Live world(kSwitchLab);
  EXPECT_EQ(json_of(world, "set --list leaf0")["settings"]["pfc.priorities"], "[3]");
  EXPECT_EQ(json_of(world, "set leaf0:swp1 pfc.priorities []")["settings"]["pfc.priorities"], "[]");
  EXPECT_EQ(json_of(world, "set --list leaf0:swp2")["settings"]["pfc.priorities"], "[3]");
  EXPECT_EQ(json_of(world, "set leaf0 queues.3.ecn.min '300 kB'")["settings"]["queues.3.ecn.min"], "300 kB");
  EXPECT_EQ(json_of(world, "set leaf0 queues.3.ecn.max 2MB")["settings"]["queues.3.ecn.min"], "300 kB");
  EXPECT_EQ(json_of(world, "set leaf0 groups.3.alpha -2")["settings"]["groups.3.alpha"], "-2");
  EXPECT_EQ(json_of(world, "set h0 congestion.RPG_AI_RATE 50")["settings"]["congestion.RPG_AI_RATE"], "50");
  EXPECT_EQ(json_of(world, "set h0 pfc.priorities []")["settings"]["pfc.priorities"], "[]");
  const auto row = row_of(world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 50 --report_gbits"));
  EXPECT_GT(row.at(3), 90);
}

TEST(Commands, TraceShowsLifeOfProgram) {
  Live world(kSwitchLab);
  std::thread tracer([&] { world.shell("trace --json --for 20s", "trace"); });
  for (int i = 0; i < 100; ++i) {
    // The trace has begun when it sees a command's effect.
    world.shell("link h3:p0 down");
    world.shell("link h3:p0 up");
    if (world.output("trace").find("link_up") != std::string::npos) break;
    std::this_thread::sleep_for(20ms);
  }
  world.run_well("h0", "rping -s -C 2", "h1", "rping -c -a h0 -C 2");
  ASSERT_EQ(world.shell("exec h0 -- sleep 30"), 0);  // past the 20 s of the trace
  tracer.join();
  std::istringstream lines(world.output("trace"));
  std::map<std::string, int> kinds;
  std::string states, modified;
  std::int64_t last_ps = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line, nullptr, false);
    ASSERT_FALSE(event.is_discarded()) << line;
    ++kinds[event["event"]];
    EXPECT_LE(last_ps, event["at_ps"].get<std::int64_t>() + 1'000'000) << "windows apart at most";
    last_ps = event["at_ps"];
    if (event["event"] == "cm_state" && event["node"] == "h1") states += event["to"].get<std::string>() + " ";
    if (event["event"] == "qp_modify" && event["node"] == "h1") modified += event["to"].get<std::string>() + " ";
  }
  EXPECT_GE(kinds["process_start"], 2);
  EXPECT_GE(kinds["process_end"], 2);
  EXPECT_GE(kinds["qp_create"], 2);
  EXPECT_GE(kinds["mr_reg"], 2);
  EXPECT_GE(kinds["cq_create"], 2);
  EXPECT_GE(kinds["pd_alloc"], 2);
  EXPECT_NE(modified.find("INIT RTR RTS"), std::string::npos) << modified;
  EXPECT_NE(states.find("REQ_SENT"), std::string::npos) << states;
  EXPECT_NE(states.find("ESTABLISHED"), std::string::npos) << states;
}

TEST(Commands, TraceFiltersAndRefusesWrongOnes) {
  Live world(kSwitchLab);
  for (const char* wrong : {"trace --node h9", "trace --event qp_modfy", "trace --qp x", "trace --for never"}) {
    EXPECT_EQ(status_of(world.shell(wrong)), 2) << wrong << world.output();
  }
  std::thread tracer([&] { world.shell("trace --node h1 --event qp_create --for 5s", "trace"); });
  std::this_thread::sleep_for(300ms);
  world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 10");
  ASSERT_EQ(world.shell("exec h0 -- sleep 6"), 0);
  tracer.join();
  const std::string lines = world.output("trace");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
  EXPECT_FALSE(test::match(lines, R"(h1 +ib_write_bw/\d+ qp_create qp=0x[0-9a-f]+ type=RC)").empty()) << lines;
}

TEST(Commands, CapturesStartAndStop) {
  TempDir temp;
  Live world(kSwitchLab);
  const std::string file = temp.file("some.pcapng");
  EXPECT_EQ(status_of(world.shell("capture start h0:p0")), 2) << "no file";
  EXPECT_EQ(status_of(world.shell("capture start h0:p0 --out " + temp.file("no/such/folder.pcapng"))), 2);
  EXPECT_EQ(status_of(world.shell("capture stop")), 2) << "nothing to stop";
  world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 10");
  ASSERT_EQ(world.shell("capture start h0:p0,leaf0:swp2 --snaplen 128 --out " + file), 0) << world.output();
  EXPECT_NE(world.output().find("; it ends at 2 GB, --capture-size sets another limit\n"), std::string::npos)
      << world.output();
  EXPECT_EQ(status_of(world.shell("capture start h0:p0 --out " + file)), 2) << "the file is in use";
  world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 10");
  EXPECT_GT(json_of(world, "capture list")[0]["frames"], 100);
  const std::uint64_t frames = json_of(world, "capture stop 1")["frames"];
  world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 10");
  EXPECT_EQ(json_of(world, "capture list"), Json::array());
  // 10 messages of 16 packets and what acknowledges them, at two ports; the exchange of addresses is TCP.
  EXPECT_GE(frames, 2U * 161);
  std::string said;
  ASSERT_EQ(std::system(("tshark -r " + file + " >" + temp.file("frames") + " 2>/dev/null").c_str()), 0);
  said = text_of(temp.file("frames"));
  EXPECT_EQ(static_cast<std::uint64_t>(std::count(said.begin(), said.end(), '\n')), frames);
  ASSERT_EQ(world.shell("capture start h0:p0 --capture-size '200 kB' --out " + temp.file("limited.pcapng")), 0);
  EXPECT_EQ(world.output().find("2 GB"), std::string::npos) << world.output();
  world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 10");
  ASSERT_EQ(world.shell("capture stop"), 0) << world.output();
  EXPECT_LE(fs::file_size(temp.file("limited.pcapng")), 200'000U);
}

// How long programs will run, nobody knows.
TEST(Commands, CaptureOfWorldHasLimit) {
  TempDir temp;
  const std::string options = "--capture h0:p0 --out " + temp.file("runs");
  constexpr const char* kSaid = "weft: the capture ends at 2 GB; --capture-size sets another limit\n";
  {
    const Live world(kSwitchLab, options);
    EXPECT_NE(world.output().find(kSaid), std::string::npos) << world.output();
  }
  const Live limited(kSwitchLab, options + "2 --capture-size 1MB");
  EXPECT_EQ(limited.output().find(kSaid), std::string::npos) << limited.output();
}

// What tshark reads from the pipe is what a file has, and the end is told.
TEST(Commands, LiveCaptureFeedsTshark) {
  TempDir temp;
  Live world(kSwitchLab);
  const std::string file = temp.file("whole.pcapng"), live = temp.file("live");
  std::thread reader([&] {
    EXPECT_EQ(std::system(("timeout 60 " WEFT_BINARY " capture --live h0:p0 2>" + temp.file("end") +
                           " | tshark -r - >" + live + " 2>/dev/null")
                              .c_str()),
              0);
  });
  for (int i = 0; i < 200 && json_of(world, "capture list").empty(); ++i) std::this_thread::sleep_for(20ms);
  ASSERT_EQ(world.shell("capture start h0:p0 --out " + file), 0) << world.output();
  world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 10");
  ASSERT_EQ(world.shell("down"), 0);
  reader.join();
  ASSERT_EQ(std::system(("tshark -r " + file + " >" + temp.file("frames") + " 2>/dev/null").c_str()), 0);
  EXPECT_GT(text_of(live).size(), 1000U);
  EXPECT_EQ(text_of(live), text_of(temp.file("frames")));
  EXPECT_FALSE(test::match(text_of(temp.file("end")), R"(^weft: \d+ frames\n$)").empty()) << text_of(temp.file("end"));
}

// A reader that does not read costs it frames, and the world nothing.
TEST(Commands, SlowReaderLosesFramesAndIsTold) {
  TempDir temp;
  Live world(kSwitchLab);
  ASSERT_EQ(std::system(("mkfifo " + temp.file("go")).c_str()), 0);
  std::thread reader([&] {
    std::system(("timeout 60 " WEFT_BINARY " capture --live all 2>" + temp.file("end") + " | (head -c 1 < " +
                 temp.file("go") + " > /dev/null; cat > /dev/null)")
                    .c_str());
  });
  for (int i = 0; i < 200 && json_of(world, "capture list").empty(); ++i) std::this_thread::sleep_for(20ms);
  // 26 MB of payload at four ports.
  const auto row = row_of(world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 400 --report_gbits"));
  EXPECT_GT(row.at(3), 90) << "virtual time knows nothing of readers";
  std::ofstream(temp.file("go")) << "x";
  ASSERT_EQ(world.shell("down"), 0);
  reader.join();
  EXPECT_FALSE(
      test::match(text_of(temp.file("end")), R"(\d+ frames; \d+ were lost because the reader was too slow)").empty())
      << text_of(temp.file("end"));
}

// Frames of a port come in by an interface of this machine, where anything can look at them. Without the rights for it
// the command says so.
TEST(Commands, FramesComeInByTap) {
  const std::string name = "weft" + std::to_string(getpid() % 100'000'000);
  Live world(kSwitchLab);
  EXPECT_EQ(status_of(world.shell("capture start h0:p0 --tap a/b")), 2) << world.output();
  EXPECT_EQ(status_of(world.shell("capture start h0:p0 --tap x --out f")), 2) << world.output();
  const int status = status_of(world.shell("capture start h1:p0 --tap " + name));
  if (status != 0) {
    EXPECT_EQ(status, 2);
    EXPECT_FALSE(
        test::match(world.output(), "cannot (open /dev/net/tun|make the TAP).*\n.*(tun module|as root)").empty())
        << world.output();
    return;
  }
  EXPECT_EQ(status_of(world.shell("capture start h0:p0 --tap " + name)), 2) << "in use: " << world.output();
  const int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_IP);
  at.sll_ifindex = static_cast<int>(if_nametoindex(name.c_str()));
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(world.shell("exec h0 -- ping -q -c 2 h1"), 0);
  // Echo requests and their replies, as the fabric carries them.
  std::string seen;
  for (int i = 0; i < 4; ++i) {
    unsigned char frame[2048] = {};
    pollfd ready{fd, POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 5000), 1) << i;
    ASSERT_EQ(recv(fd, frame, sizeof(frame), 0), 98);
    EXPECT_EQ(frame[23], 1) << "ICMP";
    seen += std::to_string(frame[29]) + (frame[34] == 8 ? "?" : "!");
  }
  EXPECT_EQ(seen, "1?2!1?2!");
  close(fd);
  EXPECT_NE(json_of(world, "capture list").dump().find("tap " + name), std::string::npos);
  EXPECT_EQ(json_of(world, "capture stop")["frames"], 4);
  EXPECT_EQ(if_nametoindex(name.c_str()), 0U) << "it goes with the capture";
}

// What a world was told is in its results, as lines that make the same again.
TEST(Commands, ResultsRecordCommands) {
  TempDir temp;
  Json first;
  for (const char* run : {"first", "second"}) {
    {
      Live world(kSwitchLab, "--out " + temp.file(run));
      if (first.is_null()) {
        ASSERT_EQ(world.shell("set leaf0 groups.3.alpha -2"), 0);
        ASSERT_EQ(world.shell("link h3:p0 down --at 2ms"), 0);
        ASSERT_EQ(world.shell("fault remove 7 --at 1ms"), 0);
        ASSERT_EQ(world.shell("impair h2:p0 delay 10us --at 900s"), 0);
      }
      for (const Json& each : first) ASSERT_EQ(world.shell(each["command"].get<std::string>().substr(5)), 0) << each;
      ASSERT_EQ(world.shell("exec h0 -- sleep 0.01"), 0);
      ASSERT_EQ(world.shell("down w"), 0);
    }
    const Json results = Json::parse(text_of(temp.file(run) + "/results.json"));
    std::string states;
    for (const Json& each : results["commands"]) states += each["state"].get<std::string>() + " ";
    EXPECT_EQ(states, "done done failed waits ");
    if (first.is_null()) first = results["commands"];
    EXPECT_EQ(results["commands"], first);
    const std::string report = text_of(temp.file(run) + "/report.md");
    EXPECT_NE(report.find("done: weft link h3:p0 down --at '2 ms'"), std::string::npos) << report;
  }
}

TEST(Commands, CountersAreWatchedInVirtualTime) {
  Live world(kSwitchLab);
  EXPECT_EQ(status_of(world.shell("counters h9 --watch 1ms --count 1")), 2) << world.output();
  EXPECT_EQ(status_of(world.shell("counters h0 --watch 1ns --count 1")), 2) << world.output();
  std::thread watcher([&] { world.shell("counters h1 --watch 100us --count 5 --json", "watch"); });
  std::this_thread::sleep_for(300ms);
  world.pair("h0", "h1", "ib_write_bw -F -x 3 -n 500");
  ASSERT_EQ(world.shell("exec h0 -- sleep 1"), 0);
  watcher.join();
  std::istringstream lines(world.output("watch"));
  std::int64_t before_ps = -1;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json step = Json::parse(line, nullptr, false);
    ASSERT_FALSE(step.is_discarded()) << line;
    EXPECT_EQ(step["interval_ps"], 100'000'000);
    if (before_ps >= 0) EXPECT_EQ(step["at_ps"].get<std::int64_t>() - before_ps, 100'000'000);
    before_ps = step["at_ps"];
  }
  EXPECT_EQ(count, 5) << world.output("watch");
}

}  // namespace
}  // namespace weft::interop
