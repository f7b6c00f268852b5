// The tree of a frame (analyze/show/packet_tree.h) against tshark's, field by field: the same values at the same places
// in Weft's own captures, in one of two Linux kernels and in frames of public tests.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyze/planted_run.h"
#include "analyze/show/packet_tree.h"
#include "interop/tshark_fields.h"
#include "pcap/capture_stream.h"
#include "pcap/link_type.h"
#include "support/capture_builder.h"

namespace weft::planted {
namespace {

using nlohmann::json;

struct Seen {
  std::uint32_t offset, length;
  std::string value;
};

// All fields of one frame by name, in tshark's order: [hex, offset, length, mask, type] beside the value.
void gather(const json& node, std::map<std::string, std::vector<Seen>>& out) {
  if (!node.is_object()) return;
  for (auto it = node.begin(); it != node.end(); ++it) {
    const std::string& name = it.key();
    if (name.ends_with("_raw")) continue;
    const auto raw = node.find(name + "_raw");
    if (raw != node.end() && it->is_string() && raw->is_array() && raw->size() >= 3 && (*raw)[1].is_number())
      out[name].push_back({(*raw)[1], (*raw)[2], it->get<std::string>()});
    gather(*it, out);
  }
}

bool same_value(const std::string& ours, const std::string& theirs) {
  if (ours == theirs) return true;
  const auto number = [](const std::string& text) -> std::optional<std::uint64_t> {
    std::size_t used = 0;
    try {
      const std::uint64_t value = std::stoull(text, &used, 0);
      if (used == text.size()) return value;
    } catch (const std::exception&) {
    }
    return std::nullopt;
  };
  const auto a = number(ours), b = number(theirs);
  return a && b && *a == *b;
}

class TsharkTree : public testing::Test {
 protected:
  void SetUp() override {
    if (!interop::has_program("tshark")) GTEST_SKIP() << "tshark is not installed";
  }

  // Every field of ours that tshark has, too; returns how often each was equal. tshark does not count the first
  // `before_B` bytes of a record, and shows what is in them without a place.
  static std::map<std::string, int> compare(const std::string& path, int most_frames = 400,
                                            std::uint32_t before_B = 0) {
    const std::string text = interop::run_command("tshark -r " + interop::shell_quoted(path) + " -c " +
                                                  std::to_string(most_frames) + " -T json -x 2>/dev/null")
                                 .output;
    const json frames = json::parse(text, nullptr, false);
    EXPECT_FALSE(frames.is_discarded()) << path;
    std::map<std::string, int> equal;
    auto stream = pcap::CaptureStream::open(path);
    EXPECT_TRUE(stream);
    pcap::CapturedPacket packet;
    for (std::size_t i = 0; i < frames.size() && stream->next(packet); ++i) {
      std::map<std::string, std::vector<Seen>> theirs;
      gather(frames[i].at("_source").at("layers"), theirs);
      const auto tree =
          analyze::packet_tree(stream->interfaces()[packet.interface].link_type, packet.bytes, packet.original_B);
      for (const analyze::TreeLayer& layer : tree) {
        for (const analyze::TreeField& field : layer.fields) {
          const auto at = theirs.find(field.filter);
          if (field.filter.empty() || at == theirs.end()) continue;
          // In a tunnel tshark has a name twice; its JSON then keeps one of them.
          if (at->second.size() != 1) continue;
          if (field.filter == "tcp.options.sack_perm") continue;  // a flag: tshark's JSON has its bytes
          const Seen& seen = at->second.front();
          if (seen.offset != field.offset && is_tunnelled(tree)) continue;
          EXPECT_TRUE(same_value(field.value, seen.value))
              << path << " frame " << i + 1 << " " << field.filter << ": " << field.value << ", tshark " << seen.value;
          ++equal[field.filter];
          if (field.offset < before_B) continue;
          EXPECT_EQ(field.offset - before_B, seen.offset) << path << " frame " << i + 1 << " " << field.filter;
          EXPECT_EQ(field.length, seen.length) << path << " frame " << i + 1 << " " << field.filter;
        }
      }
    }
    return equal;
  }
  static bool is_tunnelled(const std::vector<analyze::TreeLayer>& tree) {
    int links = 0;
    for (const analyze::TreeLayer& layer : tree) links += layer.name == "Ethernet II";
    return links > 1;
  }
  static std::string value_of(const std::vector<analyze::TreeLayer>& tree, std::string_view filter) {
    for (const analyze::TreeLayer& layer : tree)
      for (const analyze::TreeField& field : layer.fields)
        if (field.filter == filter) return field.value;
    return "";
  }
  static void has(const std::map<std::string, int>& equal, std::initializer_list<const char*> filters) {
    for (const char* filter : filters) EXPECT_GT(equal.count(filter), 0u) << filter << " was never compared";
  }
};

TEST_F(TsharkTree, AgreesOnLinuxKernels) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/../shared/captures/linux-rxe-6.1.pcap";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  has(compare(path, 600), {"eth.src",
                           "ip.dsfield.dscp",
                           "ip.dsfield.ecn",
                           "ip.src",
                           "ip.ttl",
                           "udp.srcport",
                           "udp.length",
                           "infiniband.bth.opcode",
                           "infiniband.bth.psn",
                           "infiniband.bth.destqp",
                           "infiniband.bth.padcnt",
                           "infiniband.reth.va",
                           "infiniband.reth.r_key",
                           "infiniband.reth.dmalen",
                           "infiniband.aeth.syndrome",
                           "infiniband.aeth.msn",
                           "infiniband.atomiceth.swapdt",
                           "infiniband.atomicacketh.origremdt",
                           "infiniband.invariant.crc",
                           "arp.opcode",
                           "tcp.srcport",
                           "ipv6.src"});
}

TEST_F(TsharkTree, AgreesOnDatagrams) {
  const interop::TempDir directory;
  std::ofstream(directory.file("lab.yaml")) << R"(version: 1
name: verbs
fabric: {template: direct, host: {nic: cx5-100g, mtu: 4200 B}}
workloads:
  - {name: ud, client: h0, server: h1, transfer: send, connection: UD, size: 64 B, count: 2}
)";
  interop::run_command(interop::shell_quoted(WEFT_BINARY) + " run " +
                       interop::shell_quoted(directory.file("lab.yaml")) + " --capture all --out " +
                       interop::shell_quoted(directory.file("run")) + " 2>&1");
  has(compare(directory.file("run/capture.pcapng")),
      {"infiniband.deth.q_key", "infiniband.deth.srcqp", "infiniband.bth.opcode"});
}

TEST_F(TsharkTree, AgreesOnPublicVectors) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/../shared/captures/public_vectors.pcap";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  has(compare(path), {"infiniband.bth.psn", "infiniband.grh.sgid", "infiniband.grh.tclass", "infiniband.reth.dmalen"});
}

// Native InfiniBand as ibdump and Endace cards write it: an ERF record, LRH, perhaps a GRH, BTH, ICRC and VCRC; and as
// the link type of InfiniBand, from the LRH on. Every header is a layer of its own, nothing of it "Data".
TEST_F(TsharkTree, AgreesOnNativeInfiniBand) {
  const interop::TempDir directory;
  const auto infiniband = [](bool global) {
    support::CaptureBuilder packet{true};
    const std::size_t payload_B = 64, size_B = 8 + (global ? 40 : 0) + 12 + 16 + payload_B + 4;
    packet.number(0x10, 1).number(global ? 0x33 : 0x32, 1).u16(7).u16(size_B / 4).u16(9);  // LRH: VL 1, SL 3
    if (global) {
      packet.u32(0x60000000).u16(12 + 16 + payload_B + 4).number(0x1b, 1).number(64, 1);
      for (const std::uint64_t last : {1, 2}) packet.u64(0xfe80'0000'0000'0000).u64(0x0002'c903'0000'0000 + last);
    }
    packet.number(0x0a, 1).number(0x40, 1).u16(0xffff).u32(0x000248).u32(0x80000000 + 77);  // RC WRITE ONLY
    packet.u64(0x7000'0000'1000).u32(0x1234).u32(payload_B);
    for (std::size_t i = 0; i < payload_B; ++i) packet.number(i, 1);
    return packet.u32(0x01020304).u16(0x0506).bytes;  // ICRC, VCRC
  };
  for (const bool has_record : {true, false}) {
    support::CaptureBuilder file;
    file.u32(0xa1b23c4d).u16(2).u16(4).u32(0).u32(0).u32(262144);
    file.u32(has_record ? pcap::kLinkTypeErf : pcap::kLinkTypeInfiniBand);
    std::vector<analyze::TreeLayer> first;
    for (const bool global : {false, true}) {
      const support::Buffer packet = infiniband(global);
      support::CaptureBuilder record;
      if (has_record) {
        const std::size_t length_B = (16 + packet.size() + 7) / 8 * 8;
        record.u64(0x6000'0000'8000'0000).number(21, 1).number(4, 1);
        record.big_endian = true;
        record.u16(length_B).u16(0).u16(packet.size());
      }
      record.bytes.insert(record.bytes.end(), packet.begin(), packet.end());
      while (has_record && record.bytes.size() % 8 != 0) record.bytes.push_back(0);
      file.u32(1000).u32(0).u32(record.bytes.size()).u32(record.bytes.size());
      file.bytes.insert(file.bytes.end(), record.bytes.begin(), record.bytes.end());
      const auto tree = analyze::packet_tree(has_record ? pcap::kLinkTypeErf : pcap::kLinkTypeInfiniBand, record.bytes,
                                             static_cast<std::uint32_t>(record.bytes.size()));
      for (const analyze::TreeLayer& layer : tree) EXPECT_FALSE(layer.name.starts_with("Data")) << layer.name;
      if (first.empty()) first = tree;
    }
    if (!has_record) continue;  // tshark does not know the link type of InfiniBand
    const std::string path = directory.file("erf.pcap");
    interop::write_bytes(path, file.bytes.data(), file.bytes.size());
    has(compare(path, 400, 16),
        {"infiniband.lrh.dlid", "infiniband.lrh.slid", "infiniband.lrh.pktlen", "infiniband.grh.sgid",
         "infiniband.bth.psn", "infiniband.reth.dmalen", "infiniband.invariant.crc", "infiniband.variant.crc"});
    // The record's own header has no bytes in tshark's JSON.
    const std::string header =
        interop::run_command("tshark -r " + interop::shell_quoted(path) +
                             " -c 1 -T fields -e erf.types.type -e erf.rlen -e erf.wlen 2>/dev/null")
            .output;
    EXPECT_EQ(header, "21\t" + value_of(first, "erf.rlen") + "\t" + value_of(first, "erf.wlen") + "\n");
  }
}

TEST_F(TsharkTree, AgreesOnPauses) {
  const interop::TempDir directory;
  const std::string path = directory.file("capture.pcapng"), pauses = directory.file("pauses.pcapng");
  const std::string lab = std::string(WEFT_SOURCE_DIR) + "/labs/fabric/pause-propagation.yaml";
  interop::run_command(interop::shell_quoted(WEFT_BINARY) + " run " + interop::shell_quoted(lab) +
                       " --capture all --snaplen 256 --out " + interop::shell_quoted(directory.file(".")) + " 2>&1");
  // Pauses come late in a capture: those alone.
  interop::run_command("tshark -r " + interop::shell_quoted(path) + " -Y macc -w " + interop::shell_quoted(pauses) +
                       " 2>&1");
  has(compare(pauses), {"macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "eth.dst"});
  has(compare(path), {"infiniband.bth.psn", "ip.dsfield.ecn"});
}

}  // namespace
}  // namespace weft::planted
