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

std::uint64_t sent_packets(const Live& world, const std::string& node, int priority) {
  const std::string counter = "tx_prio" + std::to_string(priority) + "_packets: ";
  const std::string said = on_node(world, node, "ethtool -S p0");
  const std::size_t at = said.find(counter);
  return at == said.npos ? 0 : std::stoull(said.substr(at + counter.size()));
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

}  // namespace
}  // namespace weft::interop
