// Nodes that are ports to the outside.
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kGuestLab = R"(version: 1
name: guest
nodes:
  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}}]}
  vm: {kind: outside, address: 10.0.0.9/24, mtu: 4200 B, mac: "52:54:00:12:34:5f", udp: {listen: "127.0.0.1:7001", peer: "127.0.0.2:7002"}}
links:
  - {endpoints: ["a:p0", "vm:p0"], cable: {rate: 25 Gbps}}
)";

std::string guest_lab_with(std::string_view old_text, std::string_view new_text) {
  std::string text(kGuestLab);
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
  return text;
}

TEST(LabOutside, IsNodeWithOnePort) {
  const auto lab = read_lab(kGuestLab, "lab.yaml");
  ASSERT_TRUE(lab.has_value()) << testing::PrintToString(problems_of(kGuestLab));
  ASSERT_EQ(lab->hosts.size(), 2U);
  EXPECT_FALSE(lab->hosts[0].outside);
  const HostConfig& vm = lab->hosts[1];
  EXPECT_EQ(first_outside(*lab), &vm);
  ASSERT_TRUE(vm.outside);
  EXPECT_EQ(to_string(vm.outside->listen), "127.0.0.1:7001");
  EXPECT_EQ(to_string(vm.outside->peer), "127.0.0.2:7002");
  EXPECT_EQ(vm.outside->mac, (std::array<std::uint8_t, 6>{0x52, 0x54, 0, 0x12, 0x34, 0x5f}));
  EXPECT_TRUE(vm.outside->tap.empty());
  ASSERT_EQ(vm.nics.size(), 1U);
  EXPECT_EQ(to_string(vm.nics[0].ports[0].address), "10.0.0.9");
  EXPECT_EQ(vm.nics[0].ports[0].netdev_mtu_B, 4200);
  EXPECT_EQ(lab->links[0].rate_bps, 25'000'000'000);
}

TEST(LabOutside, TapNeedsNoOtherKey) {
  const auto lab =
      read_lab(guest_lab_with("udp: {listen: \"127.0.0.1:7001\", peer: \"127.0.0.2:7002\"}", "tap: weft0"), "lab.yaml");
  ASSERT_TRUE(lab.has_value());
  EXPECT_EQ(lab->hosts[1].outside->tap, "weft0");
}

TEST(LabOutside, Problems) {
  const auto expect = [](std::string_view old_text, std::string_view new_text, std::string_view message) {
    const auto problems = problems_of(guest_lab_with(old_text, new_text));
    const bool found = std::any_of(problems.begin(), problems.end(),
                                   [&](const std::string& each) { return each.find(message) != each.npos; });
    EXPECT_TRUE(found) << new_text << ": " << testing::PrintToString(problems);
  };
  expect(", udp: {listen: \"127.0.0.1:7001\", peer: \"127.0.0.2:7002\"}", "", "nothing carries the frames");
  expect("udp:", "tap: weft0, udp:", "both tap and udp");
  expect("127.0.0.1:7001", "localhost:7001", "listen \"localhost:7001\" is not ADDRESS:PORT");
  expect("127.0.0.1:7001", "127.0.0.1:0", "is not ADDRESS:PORT");
  expect("127.0.0.1:7001", "127.0.0.256:70", "is not ADDRESS:PORT");
  expect(", peer: \"127.0.0.2:7002\"", "", "peer");
  expect("52:54:00:12:34:5f", "53:54:00:12:34:5f", "is not the address of one station");
  expect("52:54:00:12:34:5f", "52:54:0:12:34:5f", "is not the address of one station");
  expect("52:54:00:12:34:5f", "52:54:00:12:34:5f:00", "is not the address of one station");
  expect("udp: {listen: \"127.0.0.1:7001\", peer: \"127.0.0.2:7002\"}", "tap: a-name-that-is-long", "too long");
  expect("address: 10.0.0.9/24, mtu", "mtu", "address");
  expect("10.0.0.9/24", "10.0.0.1/24", "both ends have the address");
  expect("10.0.0.9/24", "10.0.1.9/24", "two subnets");
  expect("kind: outside", "kind: outsider", "is not known");
  expect("kind: outside", "kind: outside, nics: []", "nics");
}

}  // namespace
}  // namespace weft::lab
