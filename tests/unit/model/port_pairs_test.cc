#include "model/port_pairs.h"

#include <gtest/gtest.h>

#include "labfile/reader.h"
#include "world/matrix_run.h"

namespace weft::lab {
namespace {

Lab template_lab(const std::string& fabric) {
  auto lab = read_lab("version: 1\nname: x\nfabric: " + fabric + "\n", "x.yaml");
  for (const Problem& problem : lab ? std::vector<Problem>() : lab.error()) ADD_FAILURE() << problem.message;
  return lab ? *lab : Lab();
}

std::string text(const PortPairs& pairs, const tl::expected<PortPair, PairProblem>& pair) {
  if (!pair) return pair.error().message;
  return pairs.short_name(pair->client) + " " + pairs.short_name(pair->server);
}

TEST(PortPairs, FindsAnyTwoHostsOfAnyTemplate) {
  const std::string host = "host: {nic: cx5-100g}";
  for (const std::string& fabric :
       {"{template: single-switch, hosts: 4, switch: sn3700c, " + host + "}",
        "{template: leaf-spine, hosts: 8, leaves: 2, spines: 2, leaf: sn3700c, spine: sn3700c, " + host + "}",
        "{template: fat-tree, k: 4, switch: sn3700c, " + host + "}"}) {
    const Lab lab = template_lab(fabric);
    const PortPairs pairs(lab);
    const auto all = pairs.all("", "");
    ASSERT_TRUE(all.has_value()) << fabric;
    EXPECT_EQ(all->size(), lab.hosts.size() * (lab.hosts.size() - 1)) << fabric;
    for (const PortPair& pair : *all) EXPECT_FALSE(pair.client.is_switch() || pair.server.is_switch());
    EXPECT_EQ(text(pairs, pairs.first("", "")), "h0 h1");
    EXPECT_EQ(text(pairs, pairs.first("h2", "")), "h2 h0");
    EXPECT_EQ(text(pairs, pairs.first("", "h0:p0")), "h1 h0");
    EXPECT_EQ(text(pairs, pairs.first("h0", "h0:p0")), "client and server are one host, h0");
    EXPECT_EQ(text(pairs, pairs.first(lab.switches[0].name, "h0")),
              "--client " + lab.switches[0].name + ": this is a switch");
  }
}

// A rail is a subnet: the ports of one rail are paired, not every port with every other.
TEST(PortPairs, RailsStayApart) {
  const Lab lab = template_lab(
      "{template: rail-optimised, hosts: 4, rails: 2, leaves: 1, spines: 1, leaf: sn3700c, spine: sn3700c, "
      "host: {nic: cx5-100g}}");
  const PortPairs pairs(lab);
  const auto all = pairs.all("", "");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->size(), 2U * 4 * 3);
  for (const PortPair& pair : *all) EXPECT_EQ(pair.client.nic, pair.server.nic);
  EXPECT_EQ(pairs.all("h0", "h1")->size(), 2U);
  // One end named closer than its subnet says.
  EXPECT_EQ(pairs.switches_between({pairs.all("h0", "h1")->front().client, pairs.all("h1", "h0")->back().client}), 3U);
}

TEST(PortPairs, CountsSwitchesBetween) {
  const Lab lab = template_lab(
      "{template: leaf-spine, hosts: 4, leaves: 2, spines: 2, leaf: sn3700c, spine: sn3700c, host: {nic: cx5-100g}}");
  const PortPairs pairs(lab);
  EXPECT_EQ(pairs.switches_between(*pairs.first("h0", "h1")), 1U);
  EXPECT_EQ(pairs.switches_between(*pairs.first("h0", "h2")), 3U);
}

PerftestMatrix matrix_of(bool latency, std::initializer_list<std::pair<std::uint32_t, double>> cells) {
  PerftestMatrix matrix;
  matrix.options.latency = latency;
  for (const auto& [switches, value] : cells) {
    MatrixCell cell;
    cell.switches = switches;
    cell.value = value;
    if (value < 0) cell.failure = "status 12";
    matrix.cells.push_back(cell);
  }
  find_odd(matrix);
  return matrix;
}

std::string odd(const PerftestMatrix& matrix) {
  std::string text;
  for (const MatrixCell& cell : matrix.cells) text += cell.odd ? 'x' : '.';
  return text;
}

TEST(PerftestMatrix, OutliersAreFarFromMedian) {
  EXPECT_EQ(odd(matrix_of(false, {{1, 98}, {1, 97}, {1, 98}, {1, 92}, {1, 10}, {1, -1}})), "...xxx");
  EXPECT_TRUE(matrix_of(false, {{1, 98}, {1, -1}}).failed());
  // A latency is compared with those that cross as many switches; a bandwidth with all.
  EXPECT_EQ(odd(matrix_of(true, {{1, 2}, {1, 2}, {3, 4}, {3, 4}, {3, 5}, {3, 4}})), "....x.");
  EXPECT_EQ(odd(matrix_of(false, {{1, 98}, {1, 98}, {3, 98}, {3, 40}, {3, 40}})), "...xx");
  const PerftestMatrix far = matrix_of(false, {{1, 100}, {1, 100}, {1, 80}});
  EXPECT_DOUBLE_EQ(far.cells[2].deviation_pct, -20);
}

}  // namespace
}  // namespace weft::lab
