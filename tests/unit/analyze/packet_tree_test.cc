#include "analyze/show/packet_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "pcap/link_type.h"
#include "wire/aeth_syndrome.h"
#include "wire/pfc.h"
#include "wire/roce_frame.h"

namespace weft::analyze {
namespace {

using TreeBytes = std::vector<std::uint8_t>;

TreeBytes tree_frame(wire::Opcode opcode, std::size_t payload_B, std::uint8_t syndrome = 0) {
  wire::RoceHeaders headers;
  headers.src_ip = wire::ipv4_mapped(10, 0, 0, 1);
  headers.dst_ip = wire::ipv4_mapped(10, 0, 0, 2);
  headers.v4 = true;
  headers.tos = 26 << 2 | 3;
  headers.src_port = 0xc123;
  headers.opcode = opcode;
  headers.dest_qp = 0x1234;
  headers.psn = 77;
  headers.dma_len = 5000;
  headers.aeth_syndrome = syndrome;
  headers.msn = 9;
  const TreeBytes payload(payload_B, 0x5a);
  TreeBytes frame(wire::roce_frame_size_B(headers, payload_B));
  wire::build_roce_frame(headers, payload, frame);
  return frame;
}

std::vector<TreeLayer> ethernet_tree(const TreeBytes& frame) {
  return packet_tree(pcap::kLinkTypeEthernet, frame, static_cast<std::uint32_t>(frame.size()));
}

TreeField tree_field(const std::vector<TreeLayer>& tree, std::string_view filter) {
  for (const TreeLayer& layer : tree)
    for (const TreeField& field : layer.fields)
      if (field.filter == filter) return field;
  return {};
}

TEST(PacketTree, NamesFieldsAndWhatTheyMean) {
  const TreeBytes frame = tree_frame(wire::Opcode::kWriteFirst, 1024);
  const auto tree = ethernet_tree(frame);
  EXPECT_EQ(tree_field(tree, "ip.dsfield.dscp").note, "AF31");
  EXPECT_EQ(tree_field(tree, "ip.dsfield.ecn").value, "3");
  EXPECT_EQ(tree_field(tree, "ip.dsfield.ecn").note.substr(0, 2), "CE");
  EXPECT_EQ(tree_field(tree, "ip.dst").value, "10.0.0.2");
  EXPECT_EQ(tree_field(tree, "infiniband.bth.opcode").note, "RC RDMA WRITE First");
  EXPECT_EQ(tree_field(tree, "infiniband.bth.destqp").value, "0x001234");
  EXPECT_EQ(tree_field(tree, "infiniband.bth.psn").value, "77");
  EXPECT_EQ(tree_field(tree, "infiniband.bth.psn").offset, 51u);
  EXPECT_EQ(tree_field(tree, "infiniband.bth.psn").length, 3u);
  EXPECT_EQ(tree_field(tree, "infiniband.reth.dmalen").value, "5000");
  EXPECT_EQ(tree_field(tree, "infiniband.invariant.crc").note, "good");
}

TEST(PacketTree, TellsBadIcrcAndCutFrames) {
  TreeBytes frame = tree_frame(wire::Opcode::kWriteFirst, 1024);
  frame[100] ^= 1;
  EXPECT_EQ(tree_field(ethernet_tree(frame), "infiniband.invariant.crc").note.substr(0, 3), "bad");
  frame.resize(80);
  const auto cut = packet_tree(pcap::kLinkTypeEthernet, frame, 1100);
  EXPECT_EQ(tree_field(cut, "infiniband.bth.psn").value, "77");
  EXPECT_EQ(tree_field(cut, "infiniband.invariant.crc").value, "");
}

TEST(PacketTree, ReadsSyndromes) {
  const auto note = [](std::uint8_t syndrome) {
    return tree_field(ethernet_tree(tree_frame(wire::Opcode::kAck, 0, syndrome)), "infiniband.aeth.syndrome").note;
  };
  EXPECT_EQ(note(wire::ack_syndrome()), "ACK");
  EXPECT_EQ(note(wire::nak_syndrome(wire::NakCode::kPsnSequenceError)), "NAK: PSN sequence error");
  EXPECT_EQ(note(wire::rnr_nak_syndrome(14)), "RNR NAK: receiver not ready");
  const auto ack = ethernet_tree(tree_frame(wire::Opcode::kAck, 0, wire::ack_syndrome()));
  EXPECT_EQ(tree_field(ack, "infiniband.aeth.syndrome.credit_count").note, "credits 0x1f: no limit");
}

TEST(PacketTree, ReadsPauses) {
  wire::Pfc pfc;
  pfc.class_enable = 0x18;
  pfc.quanta[3] = 65535;
  const auto bytes = wire::build_pfc_frame(pfc);
  const auto tree = ethernet_tree({bytes.begin(), bytes.end()});
  EXPECT_EQ(tree_field(tree, "macc.cbfc.enbv").note, "C3, C4");
  EXPECT_EQ(tree_field(tree, "macc.cbfc.pause_time.c3").value, "65535");
  EXPECT_EQ(tree_field(tree, "macc.cbfc.pause_time.c4").note, "resume (XON)");
}

// Whatever the bytes are: no field outside them, text and JSON can be made.
RC_GTEST_PROP(PacketTreeProperty, StaysInsideBytes, (std::vector<std::uint8_t> noise)) {
  const auto link_type = *rc::gen::elementOf(
      std::vector<std::uint16_t>{pcap::kLinkTypeEthernet, pcap::kLinkTypeRaw, pcap::kLinkTypeInfiniBand,
                                 pcap::kLinkTypeLinuxCooked, pcap::kLinkTypeLinuxCooked2, pcap::kLinkTypeNull, 999});
  TreeBytes frame = *rc::gen::element(0, 1) == 0 ? TreeBytes{} : tree_frame(wire::Opcode::kWriteFirst, 64);
  for (std::size_t i = 0; i + 1 < noise.size() && !frame.empty(); i += 2) frame[noise[i] % frame.size()] = noise[i + 1];
  frame.insert(frame.end(), noise.begin(), noise.end());
  frame.resize(*rc::gen::inRange<std::size_t>(0, frame.size() + 1));
  const auto more_B = *rc::gen::elementOf(std::vector<std::uint32_t>{0, 1, 100, 0xffff0000});
  const auto tree = packet_tree(link_type, frame, static_cast<std::uint32_t>(frame.size()) + more_B);
  for (const TreeLayer& layer : tree) {
    RC_ASSERT(std::size_t{layer.offset} + layer.length <= frame.size());
    for (const TreeField& field : layer.fields) RC_ASSERT(std::size_t{field.offset} + field.length <= frame.size());
  }
  RC_ASSERT(!packet_tree_json(tree).empty());
  packet_tree_text(tree);
}

}  // namespace
}  // namespace weft::analyze
