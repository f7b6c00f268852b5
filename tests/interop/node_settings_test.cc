// Settings of a port that the node's own tools change while the world runs, as `weft set` does: what the tool shows
// afterwards, and the traffic that follows.
#include <gtest/gtest.h>

#include "interop/live_world.h"
#include "support/matching.h"

namespace weft::interop {
namespace {

constexpr const char* kSwitchLab = "live/one-switch-100g.yaml";

std::string on_node(const Live& world, const std::string& node, const std::string& command, bool works = true) {
  const int status = world.shell("exec " + node + " -- " + command);
  EXPECT_EQ(status == 0, works) << command << "\n" << world.output();
  return world.output();
}

void expect_says(const std::string& said, const std::string& what) {
  EXPECT_NE(said.find(what), std::string::npos) << what << "\n" << said;
}

// Of ethtool -S.
std::uint64_t counter_of(const Live& world, const std::string& node, const std::string& name) {
  const std::string counter = " " + name + ": ";
  const std::string said = on_node(world, node, "ethtool -S p0");
  const std::size_t at = said.find(counter);
  EXPECT_NE(at, said.npos) << name << "\n" << said;
  return at == said.npos ? 0 : std::stoull(said.substr(at + counter.size()));
}
std::uint64_t sent_packets(const Live& world, const std::string& node, int priority) {
  return counter_of(world, node, "tx_prio" + std::to_string(priority) + "_packets");
}

// 16 packets of 4 KiB a message.
void write_messages(const Live& world, const std::string& from, const std::string& to, int count) {
  world.pair(to, from, "ib_write_bw -F -x 3 -n " + std::to_string(count));
}

TEST(NodeSettings, PriorityOfDscpMovesTraffic) {
  const Live world(kSwitchLab);
  write_messages(world, "h0", "h1", 10);
  EXPECT_GE(sent_packets(world, "h0", 3), 160U);
  expect_says(on_node(world, "h0", "mlnx_qos -i p0 --dscp2prio set,26,5"), "\tprio:5 dscp:26,\n");
  const std::uint64_t before = sent_packets(world, "h0", 3);
  write_messages(world, "h0", "h1", 10);
  EXPECT_EQ(sent_packets(world, "h0", 3), before);
  EXPECT_GE(sent_packets(world, "h0", 5), 160U);
  expect_says(on_node(world, "h0", "dcb app show dev p0 dscp-prio"), "AF31:5 ");
  world.shell("set --list h0:p0");
  EXPECT_FALSE(test::match(world.output(), "dscp_to_priority.26 +5\n").empty()) << world.output();

  on_node(world, "h0", "dcb app replace dev p0 dscp-prio 26:4 27:2");
  expect_says(on_node(world, "h0", "dcb app show dev p0 dscp-prio"), "AF31:4 27:2 ");
  write_messages(world, "h0", "h1", 10);
  EXPECT_GE(sent_packets(world, "h0", 4), 160U);
  on_node(world, "h0", "dcb app del dev p0 dscp-prio 26:4");
  EXPECT_EQ(on_node(world, "h0", "dcb app show dev p0 dscp-prio").find("AF31"), std::string::npos) << "priority 0";
  expect_says(on_node(world, "h0", "dcb app del dev p0 dscp-prio 26:4", false), "No such file or directory");

  EXPECT_EQ(world.shell("set h0:p0 dscp_to_priority.24-31 3"), 0) << world.output();
  expect_says(on_node(world, "h0", "mlnx_qos -i p0"), "\tprio:3 dscp:31,30,29,28,27,26,25,24,\n");
  expect_says(on_node(world, "h0", "mlnx_qos -i p0 --dscp2prio set,64,3", false), "write set,DSCP,PRIORITY");
  EXPECT_NE(world.shell("set h0:p0 dscp_to_priority.26 9"), 0);
  expect_says(world.output(), "priority 9 is out of range");
  EXPECT_NE(world.shell("set h0:p0 dscp_to_priority.64 3"), 0);
  expect_says(world.output(), "names no DSCP");
}

// With tags a port may go by them: RoCE then has the priority of the lab's contract, whatever its DSCP maps to.
TEST(NodeSettings, TrustMovesTraffic) {
  const Live world("two-node-25g.yaml",
                   "--set 'nodes.vm00.nics[0].ports.p0.vlan=7' --set 'nodes.vm01.nics[0].ports.p0.vlan=7' "
                   "--set 'qos={dscp: 26, priority: 3, dscp_to_priority: {27: 4}}'");
  on_node(world, "vm00", "mlnx_qos -i p0 --dscp2prio set,26,5");
  write_messages(world, "vm00", "vm01", 10);
  EXPECT_EQ(sent_packets(world, "vm00", 3), 0U);
  EXPECT_GE(sent_packets(world, "vm00", 5), 160U);
  const std::uint64_t before = sent_packets(world, "vm00", 5);
  expect_says(on_node(world, "vm00", "mlnx_qos -i p0 --trust pcp"), "Priority trust state: pcp\n");
  world.shell("set --list vm00:p0");
  EXPECT_FALSE(test::match(world.output(), "trust +pcp\n").empty()) << world.output();
  write_messages(world, "vm00", "vm01", 10);
  EXPECT_GE(sent_packets(world, "vm00", 3), 160U);
  EXPECT_EQ(sent_packets(world, "vm00", 5), before);
  // As mlx5_core does it: an entry of the table makes the port trust the DSCP again.
  on_node(world, "vm00", "dcb app add dev p0 dscp-prio 27:6");
  expect_says(on_node(world, "vm00", "mlnx_qos -i p0"), "Priority trust state: dscp\n");
  expect_says(on_node(world, "vm00", "mlnx_qos -i p0 --trust ip", false), "it is dscp or pcp");
}

// cma_roce_tos: DSCP 10 has priority 1 by the NIC's map.
TEST(NodeSettings, TrafficClassOfNewConnectionsChanges) {
  const Live world(kSwitchLab);
  EXPECT_EQ(on_node(world, "h0", "cma_roce_tos -d mlx5_0"), "104\n");
  EXPECT_EQ(on_node(world, "h0", "cat /sys/class/infiniband/mlx5_0/tc/1/traffic_class"), "Global tclass=106\n");
  EXPECT_EQ(on_node(world, "h0", "cma_roce_tos -d mlx5_0 -t 42"), "42\n");
  EXPECT_EQ(on_node(world, "h0", "cat /sys/class/infiniband/mlx5_0/tc/1/traffic_class"), "Global tclass=42\n");
  EXPECT_EQ(on_node(world, "h0", "cma_roce_tos -d mlx5_0"), "40\n");
  write_messages(world, "h0", "h1", 10);
  EXPECT_GE(sent_packets(world, "h0", 1), 160U);
  EXPECT_EQ(sent_packets(world, "h0", 3), 0U);
  EXPECT_EQ(sent_packets(world, "h1", 1), 0U) << "h1 has its own";
  EXPECT_EQ(world.shell("set h0:p0 dscp 26"), 0) << world.output();
  write_messages(world, "h0", "h1", 10);
  EXPECT_GE(sent_packets(world, "h0", 3), 160U);
  expect_says(on_node(world, "h0", "cma_roce_tos -d mlx5_0 -t 256", false), "TOS 256 is out of range");
  EXPECT_NE(world.shell("set h0:p0 dscp 64"), 0);
  expect_says(world.output(), "dscp 64 is out of range");
  expect_says(on_node(world, "h0", "bash -c 'echo 106 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class'", false),
              "weft set h0:p0 dscp 26");
}

// A receiver that is slow pauses all priorities with 802.3x, and its own with PFC.
TEST(NodeSettings, PauseOfLinkTakesPlaceOfPfc) {
  const Live world(kSwitchLab);
  ASSERT_EQ(world.shell("fault add link=h1:p0 action=slow-receiver rate=10Gbps"), 0) << world.output();
  write_messages(world, "h0", "h1", 200);
  EXPECT_GT(counter_of(world, "h1", "tx_prio3_pause"), 0U);
  EXPECT_EQ(counter_of(world, "h1", "tx_prio0_pause"), 0U);
  expect_says(on_node(world, "h1", "ethtool -a p0"), "RX:\t\toff\nTX:\t\toff\n");
  on_node(world, "h1", "ethtool -A p0 rx on tx on");
  expect_says(on_node(world, "h1", "ethtool -a p0"), "RX:\t\ton\nTX:\t\ton\n");
  expect_says(on_node(world, "h1", "dcb pfc show dev p0"), "3:off");
  world.shell("set --list h1:p0");
  EXPECT_FALSE(test::match(world.output(), "pfc.mode +pause\n").empty()) << world.output();
  write_messages(world, "h0", "h1", 200);
  EXPECT_GT(counter_of(world, "h1", "tx_prio0_pause"), 0U) << "a frame of 802.3x is for all";
  on_node(world, "h1", "dcb pfc set dev p0 prio-pfc 3:on");
  expect_says(on_node(world, "h1", "ethtool -a p0"), "RX:\t\toff\nTX:\t\toff\n");
  const std::uint64_t before = counter_of(world, "h1", "tx_prio0_pause");
  const std::uint64_t before_3 = counter_of(world, "h1", "tx_prio3_pause");
  write_messages(world, "h0", "h1", 200);
  EXPECT_EQ(counter_of(world, "h1", "tx_prio0_pause"), before);
  EXPECT_GT(counter_of(world, "h1", "tx_prio3_pause"), before_3);
  expect_says(on_node(world, "h1", "ethtool -A p0 rx on tx off", false), "ethtool -A p0 rx on tx on");
}

// 4,200 B carry packets of 4 KiB, 1,500 B those of 1 KiB.
TEST(NodeSettings, MtuBoundsNewConnections) {
  const Live world(kSwitchLab);
  for (const char* node : {"h0", "h1"}) {
    on_node(world, node, "ip link set p0 mtu 1500");
    expect_says(on_node(world, node, "ip link show p0"), "mtu 1500 ");
    EXPECT_EQ(on_node(world, node, "cat /sys/class/net/p0/mtu"), "1500\n");
    expect_says(on_node(world, node, "ibv_devinfo"), "active_mtu:\t\t1024 (3)");
  }
  write_messages(world, "h0", "h1", 10);
  EXPECT_GE(sent_packets(world, "h0", 3), 640U);
  EXPECT_LT(sent_packets(world, "h0", 3), 720U);
  expect_says(on_node(world, "h0", "ping -c 1 -s 1473 -M do h1", false), "too long");
  on_node(world, "h0", "ifconfig p0 mtu 9000");
  expect_says(on_node(world, "h0", "ibv_devinfo"), "active_mtu:\t\t4096 (5)");
  world.shell("set --list h0:p0");
  EXPECT_FALSE(test::match(world.output(), "mtu +9000 B\n").empty()) << world.output();
  expect_says(on_node(world, "h0", "ip link set p0 mtu 12000", false), "mtu greater than device maximum");
  EXPECT_EQ(world.shell("set h1 mtu '4200 B'"), 0) << world.output();
  expect_says(on_node(world, "h1", "ip link show p0"), "mtu 4200 ");
}

}  // namespace
}  // namespace weft::interop
