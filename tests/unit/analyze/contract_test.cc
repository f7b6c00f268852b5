#include "analyze/classes/contract.h"

#include <gtest/gtest.h>

#include "unit/analyze/finding_ids.h"

namespace weft::analyze {
namespace {

struct ContractTest : testing::Test {
  ContractTest() {
    ContractPort port;
    port.name = "a:p0";
    port.address = wire::ipv4_mapped(10, 0, 0, 1);
    port.dscps = std::uint64_t{1} << 26;
    port.cnp_dscps = std::uint64_t{1} << 48;
    port.priorities = 1 << 3;
    port.cnp_priorities = 1 << 6;
    port.tagged = true;
    port.path_mtu_B = 1024;
    Contract contract;
    contract.lab = "lab";
    contract.ports.push_back(port);
    port.name = "b:p0";
    port.address = wire::ipv4_mapped(10, 0, 0, 2);
    contract.ports.push_back(port);
    contract.lossless["a:p0"] = 1 << 3;
    contract.lossless_anywhere = 1 << 3;
    check.use(contract);
    frame.kind = FrameKind::kRoce;
    frame.src = addresses.id_of(wire::ipv4_mapped(10, 0, 0, 1));
    frame.dst = addresses.id_of(wire::ipv4_mapped(10, 0, 0, 2));
    frame.dest_qp = 0x11;
    frame.payload_B = 1024;
    frame.tos = 26 << 2 | 2;
    frame.vlan_tci = 3 << 13 | 100;
  }
  Ids ids() {
    if (frame.kind == FrameKind::kRoce) {
      streams.see(frame);
      check.see(frame, addresses);
    } else {
      check.see_pause(frame, "a:p0");
    }
    Findings findings;
    check.finish(addresses, streams, findings);
    return ids_of(findings);
  }
  Addresses addresses;
  Streams streams;
  ContractCheck check;
  Frame frame;
};

TEST_F(ContractTest, KeptContract) {
  EXPECT_EQ(ids(), Ids{});
}
TEST_F(ContractTest, MarkedPacketKeepsIt) {
  frame.tos |= 3;
  EXPECT_EQ(ids(), Ids{});
}
TEST_F(ContractTest, OtherDscp) {
  frame.tos = 24 << 2 | 2;
  EXPECT_EQ(ids(), Ids{"contract.dscp"});
}
TEST_F(ContractTest, CnpHasItsOwnDscp) {
  frame.opcode = wire::Opcode::kCnp;
  frame.payload_B = 0;
  EXPECT_EQ(ids(), (Ids{"contract.dscp", "contract.priority"}));
}
TEST_F(ContractTest, OtherVlanPriority) {
  frame.vlan_tci = 5 << 13 | 100;
  EXPECT_EQ(ids(), Ids{"contract.priority"});
}
TEST_F(ContractTest, DataThatIsNotEcnCapable) {
  frame.tos = 26 << 2;
  EXPECT_EQ(ids(), Ids{"contract.ecn"});
}
TEST_F(ContractTest, UnwantedEcn) {
  ContractPort port;
  port.name = "a:p0";
  port.address = wire::ipv4_mapped(10, 0, 0, 1);
  port.dscps = std::uint64_t{1} << 26;
  port.ect = false;
  Contract contract;
  contract.ports.push_back(port);
  check = {};
  check.use(contract);
  check.see(frame, addresses);
  Findings findings;
  check.finish(addresses, streams, findings);
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].id, "contract.ecn");
  EXPECT_NE(findings.all()[0].cause.find("has ECN on"), std::string::npos);
}
TEST_F(ContractTest, LargerPacketThanMtu) {
  frame.payload_B = 4096;
  EXPECT_EQ(ids(), Ids{"contract.mtu"});
}
TEST_F(ContractTest, UnknownSender) {
  frame.src = addresses.id_of(wire::ipv4_mapped(10, 9, 9, 9));
  EXPECT_EQ(ids(), Ids{"contract.unknown-flow"});
}
TEST_F(ContractTest, PausedLossyClass) {
  frame.kind = FrameKind::kPfc;
  frame.class_enable = 1 << 3;
  EXPECT_EQ(ids(), Ids{});
  frame.class_enable = 1 << 4;
  EXPECT_EQ(ids(), Ids{"contract.pause-class"});
}

}  // namespace
}  // namespace weft::analyze
