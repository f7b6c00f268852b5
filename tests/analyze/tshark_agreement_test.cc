// The capture of two Linux kernels with rxe, and frames of public tests: conversations, queue pairs, verbs, messages
// and their sizes are the same to weft analyze and to tshark, and nothing is found that is not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "analyze/planted_run.h"
#include "interop/tshark_fields.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

using interop::Dissection;
using nlohmann::json;
using wire::Opcode;

const std::string kCaptures = std::string(WEFT_SOURCE_DIR) + "/../shared/captures/";

// Packets from one address to a queue pair of another, and the messages that they carry.
struct Requests {
  std::set<std::string> verbs;
  std::vector<std::uint64_t> sizes_B;  // of messages
  std::uint64_t packets = 0;           // requests, and responses with data
  std::uint64_t most_payload_B = 0;    // of packets that are followed by others of their message
  std::uint64_t open_B = 0;            // of the message that has not ended
};
using StreamKey = std::tuple<std::string, std::string, std::uint64_t>;

std::string verb_of(Opcode opcode) {
  if (opcode == Opcode::kReadRequest) return "READ";
  if (opcode == Opcode::kCompareSwap) return "CMP_SWAP";
  if (opcode == Opcode::kFetchAdd) return "FETCH_ADD";
  return wire::is_write(opcode) ? "WRITE" : "SEND";
}

std::string first(const Dissection& frame, const char* field) {
  const auto at = frame.find(field);
  return at == frame.end() || at->second.empty() ? "" : at->second.front();
}

std::map<StreamKey, Requests> streams_of_tshark(const std::string& path) {
  static constexpr const char* kFields[] = {"ip.src",
                                            "ip.dst",
                                            "infiniband.bth.destqp",
                                            "infiniband.bth.opcode",
                                            "infiniband.bth.padcnt",
                                            "infiniband.reth.dmalen",
                                            "udp.length"};
  std::map<StreamKey, Requests> streams;
  for (const Dissection& frame : interop::dissect(path, kFields)) {
    if (first(frame, "infiniband.bth.opcode").empty()) continue;
    const auto opcode = static_cast<Opcode>(interop::number(first(frame, "infiniband.bth.opcode")));
    Requests& stream = streams[{first(frame, "ip.src"), first(frame, "ip.dst"),
                                interop::number(first(frame, "infiniband.bth.destqp"))}];
    const std::uint64_t payload_B = interop::number(first(frame, "udp.length")) - 8 - wire::header_size_B(opcode) - 4 -
                                    interop::number(first(frame, "infiniband.bth.padcnt"));
    if (wire::is_first(opcode) || wire::is_middle(opcode))
      stream.most_payload_B = std::max(stream.most_payload_B, payload_B);
    if (wire::is_request(opcode) || wire::has_payload(opcode)) ++stream.packets;
    if (!wire::is_request(opcode)) continue;
    stream.verbs.insert(verb_of(opcode));
    stream.open_B += wire::has_atomic_eth(opcode) ? 8 : payload_B;
    if (opcode == Opcode::kReadRequest) stream.open_B = interop::number(first(frame, "infiniband.reth.dmalen"));
    if (!wire::is_last(opcode) && !wire::is_only(opcode)) continue;
    stream.sizes_B.push_back(stream.open_B);
    stream.open_B = 0;
  }
  return streams;
}

class TsharkAgreement : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kCaptures)) GTEST_SKIP() << kCaptures << " is not here";
    if (!interop::has_program("tshark")) GTEST_SKIP() << "tshark is not installed";
  }
};

TEST_F(TsharkAgreement, SameConversations) {
  const std::string path = kCaptures + "linux-rxe-6.1.pcap";
  const AnalyzeRun analysis = analyze(interop::shell_quoted(path));
  ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
  EXPECT_EQ(joined(named(analysis).findings), "");
  EXPECT_EQ(analysis.status, 0);
  EXPECT_EQ(analysis.json.at("capture").at("icrc_good"), 491);
  EXPECT_EQ(analysis.json.at("capture").at("icrc_bad"), 0);

  std::map<StreamKey, Requests> streams = streams_of_tshark(path);
  EXPECT_EQ(streams.size(), 12u);
  std::size_t covered = 0;
  for (const json& each : analysis.json.at("conversations")) {
    SCOPED_TRACE(each.dump());
    const bool datagrams = each.at("transport") == "UD";
    std::set<std::string> verbs;
    std::vector<std::uint64_t> sizes_B;
    std::uint64_t packets = 0, mtu_B = 0;
    const auto add = [&](const std::string& from, const std::string& to, std::uint64_t qp) {
      const auto at = streams.find({from, to, qp});
      ASSERT_NE(at, streams.end()) << "tshark has no packet from " << from << " to queue pair " << qp;
      ++covered;
      verbs.insert(at->second.verbs.begin(), at->second.verbs.end());
      sizes_B.insert(sizes_B.end(), at->second.sizes_B.begin(), at->second.sizes_B.end());
      packets += at->second.packets;
      mtu_B = std::max(mtu_B, at->second.most_payload_B);
    };
    add(each.at("a"), each.at("b"), each.at("b_qp"));
    if (!datagrams) add(each.at("b"), each.at("a"), each.at("a_qp"));
    const std::set<std::string> said = each.at("verbs");
    EXPECT_EQ(said, verbs);
    EXPECT_EQ(each.at("packets"), packets);
    EXPECT_EQ(each.at("path_mtu_B"), mtu_B);
    ASSERT_FALSE(sizes_B.empty());
    EXPECT_EQ(each.at("messages"), sizes_B.size());
    EXPECT_EQ(each.at("message_B_least"), *std::min_element(sizes_B.begin(), sizes_B.end()));
    EXPECT_EQ(each.at("message_B_most"), *std::max_element(sizes_B.begin(), sizes_B.end()));
  }
  EXPECT_EQ(covered, streams.size());
}

// A CNP of a ConnectX-4 Lx with source port 0, a READ request, RoCEv1: legal, so there are notes alone.
TEST_F(TsharkAgreement, PublicVectorsAreHealthy) {
  const AnalyzeRun analysis = analyze(interop::shell_quoted(kCaptures + "public_vectors.pcap"));
  ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
  EXPECT_EQ(joined(named(analysis).findings), "");
  EXPECT_EQ(analysis.json.at("capture").at("roce"), 4);
  EXPECT_EQ(analysis.json.at("capture").at("icrc_good"), 4);
}

}  // namespace
}  // namespace weft::planted
