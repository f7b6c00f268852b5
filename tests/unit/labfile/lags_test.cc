#include "labfile/expand.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kBundled = R"(version: 1
name: bundled
nodes:
  h1: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}, p1: {address: 10.1.0.1/24, mtu: 4200 B}}}]}
  h2: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}}]}
  s1: {kind: switch, model: sn3700c}
  s2: {kind: switch, model: sn3700c}
  s3: {kind: switch, model: sn3700c}
links:
  - {endpoints: ["h1:p0", "s1:swp1"]}
  - {endpoints: ["h2:p0", "s2:swp1"]}
  - {endpoints: ["s1:swp31", "s2:swp31"], lag: po1}
  - {endpoints: ["s2:swp32", "s1:swp32"], lag: po1}
)";

std::string bundled_with(std::string_view old_text, std::string_view new_text) {
  std::string text(kBundled);
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
  return text;
}

TEST(LabLags, LinksOfOneName) {
  const Lab lab = read_good(kBundled);
  ASSERT_EQ(lab.lags.size(), 1U);
  EXPECT_EQ(lab.lags[0].name, "po1");
  EXPECT_EQ(lab.lags[0].links, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_FALSE(lab.links[0].lag);
  EXPECT_EQ(lab.links[3].lag, 0U);
  EXPECT_TRUE(lab.switches[0].routing.lag_hash_ports);
  const Lab by_address = read_good(std::string(kBundled) + "routing: {lag_hash: layer2+3}\n");
  EXPECT_FALSE(by_address.switches[1].routing.lag_hash_ports);
}

TEST(LabLags, Problems) {
  expect_problem(bundled_with("  - {endpoints: [\"s2:swp32\", \"s1:swp32\"], lag: po1}\n", ""),
                 "12:48 \"po1\" has one link | give it to the parallel links too");
  expect_problem(bundled_with("\"s1:swp32\"], lag: po1", "\"s1:swp32\"], cable: {rate: 25 Gbps}, lag: po1"),
                 "13:72 \"po1\" has links of 100 Gbps and 25 Gbps | 802.1AX takes members of one rate");
  expect_problem(bundled_with("\"s2:swp32\", \"s1:swp32\"", "\"s2:swp32\", \"s3:swp32\""),
                 "13:48 \"po1\" joins s2 and s3 here and s1 and s2 before | its links join the same two switches");
  expect_problem(bundled_with("\"s2:swp32\", \"s1:swp32\"", "\"h1:p1\", \"s1:swp32\""),
                 "13:45 \"po1\" joins two switches before, and h1:p1 is a host's port | a bond has a name of its own");
  expect_problem(std::string(kBundled) + "routing: {balancing: spray}\n", "14:22 s1 has a LAG and balancing: spray");
  expect_problem(std::string(kBundled) + "routing: {lag_hash: layer4}\n", "14:21 lag_hash \"layer4\"");
}

constexpr std::string_view kClos = R"(version: 1
name: clos
fabric:
  template: leaf-spine
  hosts: 4
  leaves: 2
  spines: 1
  uplinks: 2
  uplink_lag: true
  switch: sn3700c
  host: {nic: cx5-100g, mtu: 4200 B}
)";

TEST(LabLags, UplinksOfTemplate) {
  const Lab lab = read_good(kClos);
  ASSERT_EQ(lab.lags.size(), 2U);
  EXPECT_EQ(lab.lags[1].name, "leaf1-spine0");
  for (const LagConfig& lag : lab.lags) {
    ASSERT_EQ(lag.links.size(), 2U);
    EXPECT_EQ(lab.links[lag.links[0]].a.host, lab.links[lag.links[1]].a.host);
  }
  // What is written out is the same lab.
  const Lab again = read_good(expand_lab(lab, kClos));
  ASSERT_EQ(again.lags.size(), 2U);
  EXPECT_EQ(again.lags[1].name, "leaf1-spine0");
  EXPECT_EQ(again.lags[1].links, lab.lags[1].links);
  std::string single(kClos);
  single.replace(single.find("uplinks: 2"), 10, "uplinks: 1");
  expect_problem(single, "9:15 uplink_lag joins the cables between two switches, and there is one");
}

}  // namespace
}  // namespace weft::lab
