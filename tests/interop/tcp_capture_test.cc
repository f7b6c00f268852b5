// Captures of kernel TCP as tshark sees them: frames, options and checksums, and a connection without a complaint.
#include <gtest/gtest.h>

#include <set>

#include "interop/tshark_fields.h"
#include "labfile/reader.h"
#include "world/runner.h"

namespace weft::interop {
namespace {

constexpr const char* kFields[] = {"frame.len",
                                   "eth.type",
                                   "ip.checksum.status",
                                   "tcp.checksum.status",
                                   "tcp.len",
                                   "tcp.seq",
                                   "tcp.flags",
                                   "tcp.options.mss_val",
                                   "tcp.options.wscale.shift",
                                   "tcp.options.sack_perm",
                                   "tcp.options.timestamp.tsval",
                                   "tcp.options.sack.count",
                                   "tcp.analysis.retransmission",
                                   "tcp.analysis.lost_segment",
                                   "ip.dsfield"};
constexpr std::uint64_t kFin = 1, kSyn = 2, kGood = 1;

// One port's frames of a run of 300 KB.
std::vector<Dissection> tcp_frames(const std::string& address, const std::string& flags, const std::string& more) {
  const std::string text = "version: 1\nname: tcp\nnodes:\n" +
                           std::string("  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: ") + address +
                           "1/64, mtu: 4200 B" + more + "}}}]}\n" +
                           "  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: " + address +
                           "2/64, mtu: 4200 B" + more + "}}}]}\n" +
                           "links: [{endpoints: [\"a:p0\", \"b:p0\"], cable: {kind: dac, length: 1 m}}]\n" +
                           "workloads: [{name: tcp, iperf3: -n 300K " + flags + ", client: a, server: b}]\n";
  std::string fixed = text;
  if (address.find('.') != std::string::npos) {
    for (std::size_t at = fixed.find("/64"); at != std::string::npos; at = fixed.find("/64"))
      fixed.replace(at, 3, "/24");
  }
  auto lab = lab::read_lab(fixed, "lab.yaml");
  EXPECT_TRUE(lab) << (lab ? "" : lab::format_problem("lab.yaml", lab.error().front()));
  lab::SessionOptions options;
  options.capture_ports = {lab->links.front().b};
  // A file of its own: tests run side by side.
  options.capture_path =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + "_tcp.pcapng";
  auto result = lab::run_lab(*lab, options);
  EXPECT_TRUE(result);
  return dissect(options.capture_path, kFields);
}

std::string first(const Dissection& frame, const char* field) {
  const auto found = frame.find(field);
  return found == frame.end() || found->second.empty() ? "" : found->second.front();
}

void expect_good_connection(const std::vector<Dissection>& frames, const std::string& mss) {
  ASSERT_GT(frames.size(), 70U);
  std::uint64_t payload_B = 0, syns = 0, fins = 0;
  std::set<std::string> sequences;
  for (const Dissection& frame : frames) {
    EXPECT_EQ(number(first(frame, "tcp.checksum.status")), kGood);
    EXPECT_FALSE(first(frame, "tcp.options.timestamp.tsval").empty());
    const std::uint64_t flags = hex(first(frame, "tcp.flags").substr(2));
    if ((flags & kSyn) != 0) {
      ++syns;
      EXPECT_EQ(first(frame, "tcp.options.mss_val"), mss);
      EXPECT_FALSE(first(frame, "tcp.options.wscale.shift").empty());
      EXPECT_FALSE(first(frame, "tcp.options.sack_perm").empty());
    }
    fins += (flags & kFin) != 0 ? 1 : 0;
    if (number(first(frame, "tcp.len")) > 0 && sequences.insert(first(frame, "tcp.seq")).second)
      payload_B += number(first(frame, "tcp.len"));
  }
  EXPECT_EQ(payload_B, 300U << 10);
  EXPECT_EQ(syns, 2U);
  EXPECT_GE(fins, 2U);
}

TEST(TcpCapture, Ipv4) {
  const auto frames = tcp_frames("10.0.0.", "", "");
  expect_good_connection(frames, "4160");
  for (const Dissection& frame : frames) {
    EXPECT_EQ(number(first(frame, "ip.checksum.status")), kGood);
    EXPECT_EQ(hex(first(frame, "ip.dsfield").substr(2)), 0U) << "best effort, not ECN-capable";
  }
}

TEST(TcpCapture, Ipv6WithVlanTag) {
  expect_good_connection(tcp_frames("fd00::", "", ", vlan: 7"), "4140");
}

TEST(TcpCapture, DctcpIsEcnCapable) {
  for (const Dissection& frame : tcp_frames("10.0.0.", "-C dctcp", ""))
    EXPECT_EQ(hex(first(frame, "ip.dsfield").substr(2)), 2U);
}

}  // namespace
}  // namespace weft::interop
