// What tools show on a node. docs/node.md is the test: after <!-- node: LAB NODE -->, each line of a block that begins
// with "$ " is run on that node of that lab, and what it prints is compared with the lines below it; a line "…" stands
// for any number of lines.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>

#include "interop/live_world.h"
#include "interop/tshark_fields.h"
#include "support/matching.h"

namespace weft::interop {
namespace {

struct Sample {
  int line = 0;
  std::string lab, node, command;
  std::vector<std::string> expected;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  return lines;
}

std::vector<Sample> read_samples() {
  std::vector<Sample> samples;
  std::ifstream in(WEFT_SOURCE_DIR "/docs/node.md");
  std::string line, lab, node;
  bool inside = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (auto found = test::match(line, "^<!-- node: (\\S+) (\\S+) -->$"); !found.empty()) {
      lab = found[1];
      node = found[2];
    } else if (line.starts_with("```")) {
      inside = !inside && !lab.empty();
      if (!inside) lab.clear();
    } else if (inside && line.starts_with("$ ")) {
      samples.push_back({number, lab, node, line.substr(2), {}});
    } else if (inside && !samples.empty()) {
      samples.back().expected.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
    }
  }
  return samples;
}

bool matches(const std::vector<std::string>& expected, std::size_t e, const std::vector<std::string>& said,
             std::size_t s) {
  if (e == expected.size()) return s == said.size();
  if (expected[e] == "…")
    return matches(expected, e + 1, said, s) || (s < said.size() && matches(expected, e, said, s + 1));
  return s < said.size() && expected[e] == said[s] && matches(expected, e + 1, said, s + 1);
}

std::string quoted(const std::string& command) {
  return "'" + test::replaced(command, "'", "'\\''") + "'";
}

TEST(Node, ToolsShowWhatDocumentationSays) {
  const std::vector<Sample> samples = read_samples();
  ASSERT_GT(samples.size(), 20u);
  std::string lab;
  std::unique_ptr<Live> world;
  for (const Sample& sample : samples) {
    if (sample.lab != lab) {
      world.reset();
      world = std::make_unique<Live>(Live::File{WEFT_SOURCE_DIR "/" + sample.lab});
      lab = sample.lab;
    }
    world->shell("exec " + sample.node + " -- bash -c " + quoted(sample.command));
    const std::string said = world->output();
    EXPECT_TRUE(matches(sample.expected, 0, lines_of(said), 0))
        << "docs/node.md:" << sample.line << ": " << sample.command << "\n"
        << said;
  }
}

// The machine's own interfaces and devices are nowhere.
TEST(Node, ShowsLabInWallClockMode) {
  Live world("two-node-25g.yaml", "--clock wall");
  world.shell("exec vm01 -- bash -c 'ip -br addr; ls /sys/class/net; ls /sys/bus/pci/devices'");
  EXPECT_EQ(world.output(),
            "lo               UNKNOWN        127.0.0.1/8 ::1/128 \n"
            "p0               UP             10.0.0.2/24 fe80::526b:4bff:fe00:2/64 \n"
            "lo\np0\n0000:00:01.0\n0000:01:00.0\n");
}

// Relative paths, open folders, links and walks lead to the node as absolute paths do.
TEST(Node, PathsLeadToNodeByAnyWay) {
  Live world("two-node-25g.yaml");
  world.shell(
      "exec vm00 -- bash -c 'cd / && cat sys/class/net/p0/mtu && cd sys/class/net && cat p0/mtu ../net/p0/mtu "
      "p0/device/net/p0/mtu p0/device/../0000:01:00.0/net/p0/mtu && cd p0/device && pwd -P && cd /sys/class && ls -d "
      "infiniband && ls block >/dev/null && find /sys/class/infiniband/ -name mlx5_0 && readlink /sys/class/net/lo && "
      "cd /etc && cat hostname; echo x > /sys/class/net/p0/mtu; cat /sys/class/net/p0/mtu'");
  EXPECT_EQ(world.output(),
            "4200\n4200\n4200\n4200\n4200\n/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0\ninfiniband\n"
            "/sys/class/infiniband/mlx5_0\n../../devices/virtual/net/lo\nvm00\n"
            "weft: /sys/class/net/p0/mtu is shown, not written; weft set vm00:p0 mtu '9000 B'\nbash: line 1: "
            "/sys/class/net/p0/mtu: Permission denied\n4200\n");
}

// Echo requests and replies are frames of the fabric, with right checksums, and cross the switch.
TEST(Node, CapturesPing) {
  TempDir temp;
  {
    Live world("live/one-switch-100g.yaml", "--capture h0:p0 --out " + temp.file("cap"));
    EXPECT_EQ(world.shell("exec h0 -- ping -c 2 h1"), 0) << world.output();
    ASSERT_EQ(world.shell("down w"), 0) << world.output();
  }
  static constexpr const char* kFields[] = {
      "icmp.type", "icmp.seq", "icmp.checksum.status", "ip.checksum.status", "ip.src", "ip.ttl", "frame.len"};
  std::string seen;
  for (const Dissection& frame : dissect(temp.file("cap/capture.pcapng"), kFields)) {
    for (const char* field : kFields) seen += frame.at(field)[0] + " ";
    seen += "\n";
  }
  EXPECT_EQ(seen,
            "8 1 1 1 10.0.0.1 64 98 \n0 1 1 1 10.0.0.2 64 98 \n"
            "8 2 1 1 10.0.0.1 64 98 \n0 2 1 1 10.0.0.2 64 98 \n");
}

// A cable that is cut loses the second of three, and the node sees it down.
TEST(Node, CutCableLosesPing) {
  TempDir temp;
  std::string lab = text_of(WEFT_SOURCE_DIR "/labs/two-node-25g.yaml");
  lab += "\nfaults:\n  - {link: \"vm00:p0\", both_directions: true, action: cut, start: 500 ms, end: 1500 ms}\n";
  std::ofstream(temp.file("lab.yaml")) << lab;
  Live world(Live::File{temp.file("lab.yaml")});
  world.shell("exec vm00 -- bash -c 'sleep 0.7; cat /sys/class/net/p0/operstate; ip -br link show p0 | cut -c18-22'");
  EXPECT_EQ(world.output(), "down\nDOWN \n");
  // The world is at 0.7 s now; sends come at 0.7, 1.7 and 2.7 s.
  world.shell("exec vm00 -- ping -q -c 3 vm01");
  EXPECT_NE(world.output().find("3 packets transmitted, 2 received"), std::string::npos) << world.output();
}

// Every way of looking says the same of a link that a command or a fault of the lab holds down.
TEST(Node, AllToolsAgreeOnLinkState) {
  const std::string look =
      " -- bash -c 'ibv_devinfo | grep -o PORT_.*; cd /sys/class; cat infiniband/*/ports/1/{state,phys_state,rate} "
      "net/p0/{operstate,carrier,speed,carrier_changes}; rdma link; ip -br link show p0 | cut -c18-22; ip route; "
      "ip route get 10.0.0.9; ethtool p0 | grep -E \"Speed|detected\"; ifconfig p0 | head -1; ibstat | grep -E "
      "\"State|state|Rate\"'";
  const std::string up =
      "PORT_ACTIVE (4)\n4: ACTIVE\n5: LinkUp\n25 Gb/sec (1X EDR)\nup\n1\n25000\n1\n"
      "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev p0 \nUP   \n"
      "10.0.0.0/24 dev p0 proto kernel scope link src 10.0.0.1 \n10.0.0.9 dev p0 src 10.0.0.1 \n    cache \n"
      "\tSpeed: 25000Mb/s\n\tLink detected: yes\np0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 4200\n"
      "\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 25\n";
  const std::string down =
      "PORT_DOWN (1)\n1: DOWN\n3: Disabled\n40 Gb/sec (4X QDR)\ndown\n0\n-1\n2\n"
      "link mlx5_0/1 state DOWN physical_state DISABLED netdev p0 \nDOWN \n"
      "10.0.0.0/24 dev p0 proto kernel scope link src 10.0.0.1 linkdown \n10.0.0.9 dev p0 src 10.0.0.1 linkdown \n"
      "    cache \n"
      "\tSpeed: Unknown!\n\tLink detected: no\np0: flags=4099<UP,BROADCAST,MULTICAST>  mtu 4200\n"
      "\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 40\n";
  for (const char* clock : {"virtual", "wall"}) {
    Live world("two-node-25g.yaml", std::string("--clock ") + clock);
    world.shell("exec vm00" + look);
    EXPECT_EQ(world.output(), up);
    world.shell("link vm01:p0 down");
    world.shell("exec vm00" + look);
    EXPECT_EQ(world.output(), down);
    world.shell("link vm01:p0 up");
    world.shell("exec vm00" + look);
    EXPECT_EQ(world.output(), test::replaced(up, "25000\n1\n", "25000\n3\n"));
  }
  TempDir temp;
  std::string lab = text_of(WEFT_SOURCE_DIR "/labs/two-node-25g.yaml");
  lab += "\nfaults:\n  - {link: \"vm00:p0\", both_directions: true, action: cut}\n";
  std::ofstream(temp.file("lab.yaml")) << lab;
  Live world(Live::File{temp.file("lab.yaml")});
  world.shell("exec vm00" + look);
  EXPECT_EQ(world.output(), down);
}

// The node's tools and `weft counters` print the same, in the words of the NIC's driver.
TEST(Node, CountersAgreeWithWeftCounters) {
  for (const char* lab : {"live/e810-and-cx6.yaml", "two-node-25g.yaml"}) {
    Live world(lab);
    const bool e810 = std::string(lab).starts_with("live");
    const std::string node = e810 ? "a" : "vm00", device = e810 ? "rocep1s0f0" : "mlx5_0";
    world.shell("exec " + node + " -- ping -q -c 2 " + (e810 ? "b" : "vm01"));
    world.shell("counters " + node + ":p0");
    std::string counted = world.output();
    world.shell("exec " + node + " -- ethtool -S p0");
    EXPECT_EQ(world.output(), counted.substr(counted.find('\n') + 1));
    EXPECT_FALSE(test::match(counted, e810 ? "tx_unicast.nic: 2\n" : "tx_packets_phy: 2\n").empty()) << counted;
    world.shell("counters " + node + ":p0 --as rdma");
    counted = world.output();
    world.shell("exec " + node + " -- rdma statistic show link " + device + "/1");
    EXPECT_EQ(lines_of(world.output()), lines_of(counted.substr(counted.find('\n') + 1)));
  }
}

// A netlink socket is ready when a reply is there, to poll, epoll and select alike.
TEST(Node, WaitsForNetlink) {
  Live world("two-node-25g.yaml");
  world.shell(R"(exec vm00 -- python3 -c '
import select, socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.bind((0, 0))
p = select.poll()
p.register(s, select.POLLIN)
e = select.epoll()
e.register(s, select.EPOLLIN)
print(p.poll(0) + e.poll(0))
s.send(struct.pack("IHHII16x", 32, 18, 0x301, 1, 0))
print(len(p.poll(1000)), len(e.poll(1)), len(select.select([s], [], [], 1)[0]), s.recvfrom(65536)[1])
')");
  EXPECT_EQ(world.output(), "[]\n1 1 1 (0, 0)\n");
}

// A list that is longer than a message of the world and than a socket's buffer, in datagrams that `rdma` can take.
TEST(Node, ListsThousandsOfQueuePairs) {
  Live world("two-node-25g.yaml");
  world.shell(R"(exec vm00 -- python3 -c '
import ctypes, subprocess
V, P, I = ctypes.CDLL("libibverbs.so.1"), ctypes.c_void_p, ctypes.c_int
for name in "get_device_list", "open_device", "alloc_pd", "create_cq", "create_qp":
    getattr(V, "ibv_" + name).restype = P
class Attributes(ctypes.Structure):
    _fields_ = [("context", P), ("send_cq", P), ("recv_cq", P), ("srq", P), ("cap", I * 5), ("type", I), ("all", I)]
device = ctypes.cast(V.ibv_get_device_list(None), ctypes.POINTER(P))[0]
context = P(V.ibv_open_device(P(device)))
pd, cq = P(V.ibv_alloc_pd(context)), V.ibv_create_cq(context, 16, None, None, 0)
for i in range(3000):
    assert V.ibv_create_qp(pd, ctypes.byref(Attributes(None, cq, cq, None, (I * 5)(1, 1, 1, 1, 0), 2, 0)))
said = subprocess.run(["rdma", "resource", "show", "qp"], capture_output=True, text=True)
print(said.returncode, said.stderr, said.stdout.count("lqpn"))
')");
  EXPECT_EQ(world.output(), "0  3000\n");
}

struct NodeCommand {
  const char* command;
  bool works;
  const char* says;  // a regular expression
};
void expect_commands(const Live& world, const std::string& node, std::span<const NodeCommand> commands) {
  for (const NodeCommand& each : commands) {
    const int status = world.shell("exec " + node + " -- bash -c " + quoted(each.command));
    const std::string said = world.output();
    EXPECT_EQ(status == 0, each.works) << each.command << "\n" << said;
    EXPECT_FALSE(test::match(said, each.says).empty()) << each.command << "\n" << said;
    // A refusal ends with what to type.
    if (!each.works) {
      EXPECT_FALSE(test::match(said, "weft: [^\n]*; [^\n]+").empty()) << each.command << "\n" << said;
    }
  }
}

// The commands of the articles on a host whose lab has RoCE's contract: what is so already is well, what is not is
// refused with the words that do it, and never silently.
TEST(Node, TakesArticlesCommands) {
  const NodeCommand commands[] = {
      {"mlnx_qos -i p0 --pfc 0,0,0,1,0,0,0,0", true, "enabled     0   0   0   1   0   0   0   0"},
      {"mlnx_qos -i p0 --trust dscp", true, "Priority trust state: dscp"},
      {"mlnx_qos -i p0 --trust pcp", false, "give every port a vlan"},
      {"mlnx_qos -i p0 --dscp2prio set,26,3", true, "prio:3 dscp:31,30,29,28,27,26,25,24,"},
      {"mlnx_qos -i p0 --dscp2prio set,26,5", true, "prio:5 dscp:26,"},
      {"cma_roce_mode -d mlx5_0 -p 1 -m 2", true, "^RoCE v2\n$"},
      {"cma_roce_mode -d mlx5_0 -p 1 -m 1", false, "RoCE v2 alone"},
      {"cma_roce_tos -d mlx5_0 -t 106", true, "106"},
      {"cma_roce_tos -d mlx5_0 -t 96", true, "96"},
      {"show_gids", true, "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a00:0001\t10.0.0.1  \tv2\tp0\nn_gids_found=4"},
      {"ibdev2netdev", true, "^mlx5_0 port 1 ==> p0 \\(Up\\)\n$"},
      {"mlxconfig -d mlx5_0 -q", true, "RPG_AI_RATE_P1 +5\n"},
      {"mlxconfig -d 01:00.0 set LINK_TYPE_P1=2", true, "Nothing to change"},
      {"mlxconfig -d mlx5_0 set RPG_AI_RATE_P1=50", false, "weft set h0:p0 congestion.RPG_AI_RATE 50"},
      {"echo 106 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class", false, "weft set h0:p0 dscp 26"},
      {"ip link set p0 mtu 9000", true, ""},
      {"ip link set p0 mtu $(cat /sys/class/net/p0/mtu)", true, ""},
      {"ip link set p0 up", true, ""},
      {"ip link set p0 down", false, "weft link h0:p0 down"},
      {"ip addr add 10.0.0.9/24 dev p0", false, "address=ADDRESS/BITS"},
      {"tc qdisc add dev p0 root netem delay 1ms", false, "weft impair h0:p0 delay"},
      {"ifconfig p0 mtu 4200", true, ""},
      {"dcb app add dev p0 dscp-prio 26:3", true, ""},
      {"dcb app add dev p0 dscp-prio 26:5", true, ""},
      {"ethtool -A p0 rx on tx on", true, ""},
      {"ethtool -G p0 rx 8192", false, "driver's defaults"},
      {"ethtool -L p0 combined 4", false, "driver's defaults"},
      {"ethtool --set-fec p0 encoding off", false, "cable.fec=none"},
      {"rdma link add rxe0 type rxe netdev p0", false, "add a NIC"},
      {"rdma statistic qp show", false, "rdma statistic show link mlx5_0/1"},
      {"rdma statistic qp show link mlx5_0/1", false, "rdma statistic show link mlx5_0/1"},
      {"rdma statistic qp set link mlx5_0/1 auto type on", false, "rdma statistic show link mlx5_0/1"},
      {"tcpdump -i p0 -c 1", false, "weft capture --live h0:p0"},
  };
  Live world("live/one-switch-100g.yaml");
  expect_commands(world, "h0", commands);
}

// What `weft set` can change is changed by the node's own tools: PFC of a port, and every tool sees it.
TEST(Node, ChangesPfcFromNode) {
  Live world("live/one-switch-100g.yaml");
  world.shell("exec h0 -- dcb pfc show dev p0");
  const std::string before = world.output();
  EXPECT_NE(before.find("3:on"), std::string::npos) << before;
  EXPECT_EQ(world.shell("exec h0 -- dcb pfc set dev p0 prio-pfc 3:off"), 0) << world.output();
  world.shell("exec h0 -- dcb pfc show dev p0");
  EXPECT_NE(world.output().find("3:off"), std::string::npos) << world.output();
  world.shell("exec h0 -- mlnx_qos -i p0");
  EXPECT_NE(world.output().find("enabled     0   0   0   0   0   0   0   0"), std::string::npos) << world.output();
  world.shell("set --list h0:p0");
  EXPECT_NE(world.output().find("pfc.priorities                           []"), std::string::npos) << world.output();
  EXPECT_EQ(world.shell("exec h0 -- mlnx_qos -i p0 --pfc 0,0,0,1,0,0,0,0"), 0) << world.output();
  world.shell("exec h0 -- dcb pfc show dev p0");
  EXPECT_EQ(world.output(), before);
  world.shell("ps --json");
  EXPECT_NE(world.output().find("set h0:p0 pfc.priorities"), std::string::npos) << world.output();
  EXPECT_NE(world.shell("exec h0 -- dcb pfc set dev p0 prio-pfc 5:on"), 0);
  EXPECT_NE(world.output().find("weft: h0:p0: priority 5 had no PFC"), std::string::npos) << world.output();
}

// A card whose link came up below its rate, and ends with other FEC than each other.
TEST(Node, ShowsSlowLinkAndOtherFec) {
  TempDir temp;
  std::string lab = text_of(WEFT_SOURCE_DIR "/labs/two-node-25g.yaml");
  std::ofstream(temp.file("slow.yaml")) << test::replaced(lab, "length: 3 m}", "length: 3 m, rate: 10 Gbps}");
  std::ofstream(temp.file("fec.yaml")) << test::replaced(lab, "length: 3 m}", "length: 3 m, fec: [base-r, none]}");
  {
    Live world(Live::File{temp.file("slow.yaml")});
    world.shell("exec vm00 -- ethtool p0");
    const std::string said = world.output();
    EXPECT_NE(said.find("Speed: 10000Mb/s"), std::string::npos) << said;
    EXPECT_NE(said.find("25000baseSR/Full"), std::string::npos) << said;
  }
  Live world(Live::File{temp.file("fec.yaml")});
  world.shell(
      "exec vm00 -- bash -c 'ethtool --show-fec p0; ethtool p0 | grep detected; ibv_devinfo | grep -o PORT_.*'");
  const std::string said = world.output();
  EXPECT_NE(said.find("Configured FEC encodings: BaseR\nActive FEC encoding: None\n"), std::string::npos) << said;
  EXPECT_NE(said.find("Link detected: no\nPORT_DOWN"), std::string::npos) << said;
  world.shell("exec vm01 -- ethtool --show-fec p0");
  EXPECT_NE(world.output().find("Configured FEC encodings: Off"), std::string::npos) << world.output();
}

// A program without the loader cannot be shown the lab; it is said, and the program runs.
TEST(Node, SaysThatStaticProgramSeesMachine) {
  Live world("two-node-25g.yaml");
  if (std::system("test -x /bin/busybox") != 0) GTEST_SKIP() << "no busybox-static";
  EXPECT_EQ(world.shell("exec vm00 -- busybox true"), 0);
  EXPECT_FALSE(test::match(world.output(), "^weft: .*/busybox is linked statically").empty()) << world.output();
}

}  // namespace
}  // namespace weft::interop
