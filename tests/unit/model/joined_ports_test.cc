#include "model/joined_ports.h"

#include <gtest/gtest.h>

#include "labfile/reader.h"

namespace weft::lab {
namespace {

// Two hosts on two rails; `more` are further nodes and links.
Lab rails(const std::string& nodes, const std::string& links) {
  std::string text = "version: 1\nname: rails\nnodes:\n";
  for (const char* host : {"1", "2"})
    text += std::string("  h") + host +
            ":\n    kind: host\n    nics:\n      - {model: cx5-100g, ports: {p0: {address: 10.0.0." + host +
            "/24}}}\n      - {model: cx5-100g, ports: {p1: {address: 10.0.1." + host + "/24}}}\n";
  text += "  r0: {kind: switch, model: sn3700c}\n  r1: {kind: switch, model: sn3700c}\n" + nodes + "links:\n";
  for (const char* host : {"1", "2"})
    for (const char* rail : {"0", "1"})
      text += std::string("  - {endpoints: [\"h") + host + ":p" + rail + "\", \"r" + rail + ":swp" + host +
              "\"], cable: {kind: dac, length: 1 m}}\n";
  auto lab = read_lab(text + links + "qos: {profile: roce-lossless}\n", "lab.yaml", {});
  EXPECT_TRUE(lab) << (lab ? "" : lab.error().front().message);
  return std::move(*lab);
}

TEST(JoinedPorts, RailsMeetOnlyAtSwitches) {
  const Lab apart = rails("", "");
  const JoinedPorts ports(apart);
  EXPECT_TRUE(ports.joined({0, 0, 0}, {1, 0, 0}));
  EXPECT_TRUE(ports.joined({0, 1, 0}, {1, 1, 0}));
  EXPECT_FALSE(ports.joined({0, 0, 0}, {1, 1, 0}));
  EXPECT_FALSE(ports.joined({0, 0, 0}, {0, 1, 0}));
  EXPECT_TRUE(ports.joined({0, 0, 0}, {0, 0, 0}));
}

TEST(JoinedPorts, SpinesJoinRails) {
  const Lab joined = rails("  s0: {kind: switch, model: sn3700c}\n",
                           "  - {endpoints: [\"r0:swp32\", \"s0:swp1\"], cable: {kind: dac, length: 1 m}}\n"
                           "  - {endpoints: [\"r1:swp32\", \"s0:swp2\"], cable: {kind: dac, length: 1 m}}\n");
  const JoinedPorts ports(joined);
  EXPECT_TRUE(ports.joined({0, 0, 0}, {1, 1, 0}));
  EXPECT_TRUE(ports.joined({0, 0, 0}, {0, 1, 0}));
}

}  // namespace
}  // namespace weft::lab
