// Captures at the ports of switches, as Wireshark sees them: routed frames, PFC, ERSPAN, INT and IFA. What is expected
// comes from the lab (who is joined to whom, how many routers are on the way) and from the standards' layouts, decoded
// here by hand from the bytes that tshark prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "interop/interop_support.h"
#include "interop/tshark_fields.h"

namespace weft::interop {
namespace {

// h0 and h1 on leaf0, h2 and h3 on leaf1, a spine between: seen from h2, h0 is three routers away. Small pools, so that
// the incast pauses.
constexpr const char* kLab = R"(version: 1
name: seen
fabric: {template: leaf-spine, hosts: 4, leaves: 2, spines: 1, switch: as7726-32x, host: {nic: cx5-100g, mtu: 4200 B}}
qos:
  profile: roce-lossless
  pfc: {watchdog: {action: drop}, quanta: 1000}
  congestion: {algorithm: off}
  buffer: {ingress_pool: 100 kB}
mirrors:
  - {port: "leaf0:Ethernet32", direction: ingress, as: erspan2, session: 9, to: 192.0.2.7}
  - {port: "leaf0:Ethernet1", direction: egress, as: erspan3, session: 5}
  - {port: "leaf1:Ethernet1"}
workloads:
  - {name: incast, flows: incast, hosts: all, to: h0, size: 200 kB}
)";
constexpr std::pair<const char*, const char*> kCables[] = {{"h0:p0", "leaf0:Ethernet1"},
                                                           {"h1:p0", "leaf0:Ethernet2"},
                                                           {"h2:p0", "leaf1:Ethernet1"},
                                                           {"h3:p0", "leaf1:Ethernet2"},
                                                           {"leaf0:Ethernet32", "spine0:Ethernet1"},
                                                           {"leaf1:Ethernet32", "spine0:Ethernet2"}};
constexpr const char* kH0 = "10.0.0.1";
constexpr const char* kH2 = "10.0.1.1";

constexpr const char* kFields[] = {"frame.interface_name",
                                   "frame.packet_flags_direction",
                                   "frame.protocols",
                                   "frame.time_epoch",
                                   "_ws.malformed",
                                   "_ws.expert.message",
                                   "eth.src",
                                   "eth.dst",
                                   "ip.src",
                                   "ip.dst",
                                   "ip.ttl",
                                   "ip.len",
                                   "ip.proto",
                                   "ip.checksum.status",
                                   "udp.length",
                                   "udp.dstport",
                                   "infiniband.bth.opcode",
                                   "infiniband.bth.destqp",
                                   "infiniband.bth.psn",
                                   "infiniband.invariant.crc",
                                   "macc.opcode",
                                   "macc.cbfc.enbv",
                                   "macc.cbfc.pause_time.c0",
                                   "macc.cbfc.pause_time.c1",
                                   "macc.cbfc.pause_time.c2",
                                   "macc.cbfc.pause_time.c3",
                                   "macc.cbfc.pause_time.c4",
                                   "macc.cbfc.pause_time.c5",
                                   "macc.cbfc.pause_time.c6",
                                   "macc.cbfc.pause_time.c7",
                                   "gre.proto",
                                   "gre.sequence_number",
                                   "erspan.version",
                                   "erspan.spanid",
                                   "erspan.truncated",
                                   "erspan.timestamp",
                                   "erspan.gra",
                                   "erspan.direction",
                                   "erspan.pid5.timestamp",
                                   "data.data"};

// One frame; of several values of a field the n-th, "" when there is none.
struct Seen {
  Dissection fields;

  std::string text(const std::string& name, std::size_t n = 0) const {
    const auto at = fields.find(name);
    return at == fields.end() || n >= at->second.size() ? "" : at->second[n];
  }
  std::string last(const std::string& name) const {
    const auto at = fields.find(name);
    return at == fields.end() ? "" : at->second.back();
  }
  std::uint64_t value(const std::string& name, std::size_t n = 0) const { return number(text(name, n)); }
  std::string port() const { return text("frame.interface_name"); }
  bool out() const { return value("frame.packet_flags_direction") == 2; }
  bool is_pause() const { return text("frame.protocols") == "eth:ethertype:macc"; }
  std::uint64_t time_ns() const {
    const std::string epoch = text("frame.time_epoch");  // seconds, nine places
    return number(epoch.substr(0, epoch.find('.'))) % 1'000'000 * 1'000'000'000 +
           std::strtoull(epoch.c_str() + epoch.find('.') + 1, nullptr, 10);
  }
  // Which packet it is, wherever it is met.
  std::string packet() const {
    return last("infiniband.bth.destqp") + "/" + last("infiniband.bth.psn") + "/" + last("infiniband.bth.opcode");
  }
};

std::vector<Seen> look(const std::string& path) {
  std::vector<Seen> all;
  for (Dissection& fields : dissect(path, kFields)) all.push_back({std::move(fields)});
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].text("_ws.malformed") + all[i].text("_ws.expert.message"), "") << path << ", frame " << i + 1;
    for (const std::string& status : all[i].fields["ip.checksum.status"])
      EXPECT_EQ(status, "1") << path << ", frame " << i + 1 << ": IP checksum";
  }
  return all;
}

// A counter of a switch port, summed over classes.
std::uint64_t counted(const LabRun& run, const std::string& port, const char* name) {
  std::uint64_t sum = 0;
  for (const auto& device : run.results.at("switches")) {
    for (const auto& each : device.at("ports")) {
      if (device.at("name").get<std::string>() + ":" + each.at("name").get<std::string>() != port) continue;
      for (const auto& one : each.at("classes")) sum += one.value(name, std::uint64_t{0});
    }
  }
  return sum;
}

class TsharkFabric : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("tshark")) GTEST_SKIP() << "tshark is not installed";
  }
  void play(const std::vector<std::string>& sets = {}) {
    run_ = run_lab_text(kLab, sets);
    ASSERT_EQ(run_->status, 0) << run_->output;
    frames_ = look(run_->capture_path());
    ASSERT_FALSE(frames_.empty());
  }
  template <class Test>
  std::vector<const Seen*> those(Test test) const {
    std::vector<const Seen*> list;
    for (const Seen& seen : frames_) {
      if (test(seen)) list.push_back(&seen);
    }
    return list;
  }
  // Data of h2 to h0, as it leaves `port`.
  std::vector<const Seen*> crossing(const std::string& port) const {
    return those([&](const Seen& s) {
      return s.port() == port && s.out() && s.text("ip.src") == kH2 && s.text("ip.dst") == kH0;
    });
  }

  std::unique_ptr<LabRun> run_;
  std::vector<Seen> frames_;
};

constexpr const char* kPath[] = {"h2:p0", "leaf1:Ethernet32", "spine0:Ethernet1", "leaf0:Ethernet1"};

TEST_F(TsharkFabric, RoutersRewriteMacsAndDecrementTtl) {
  play();
  EXPECT_TRUE(run_->capture->errors.empty());
  for (const Frame& frame : run_->capture->frames) EXPECT_TRUE(frame.roce.icrc_ok) << "frame " << frame.number;
  // A port's address is the source of what it routes or sends by itself, and the destination of its peer's frames.
  std::map<std::string, std::string> mac, peer;
  for (const auto& [a, b] : kCables) {
    peer[a] = b;
    peer[b] = a;
  }
  for (const Seen* seen : those([](const Seen& s) { return s.out() && (s.is_pause() || s.value("ip.ttl") != 64); })) {
    const auto [at, is_new] = mac.try_emplace(seen->port(), seen->text("eth.src"));
    EXPECT_EQ(at->second, seen->text("eth.src")) << seen->port();
  }
  for (const char* host : {"h0:p0", "h1:p0", "h2:p0", "h3:p0"}) {
    for (const Seen* seen : those([&](const Seen& s) { return s.port() == host && s.out(); })) {
      const auto [at, is_new] = mac.try_emplace(host, seen->text("eth.src"));
      EXPECT_EQ(at->second, seen->text("eth.src")) << host;
    }
  }
  std::set<std::string> different;
  for (const auto& [port, address] : mac) different.insert(address);
  EXPECT_EQ(different.size(), mac.size());
  EXPECT_EQ(mac.size(), 12U);
  std::uint64_t ttl = 64;
  for (const char* port : kPath) {
    const auto frames = crossing(port);
    ASSERT_EQ(frames.size(), 49U) << port;  // 200 kB at a path MTU of 4096
    for (const Seen* seen : frames) {
      EXPECT_EQ(seen->value("ip.ttl"), ttl) << port;
      EXPECT_EQ(seen->text("eth.src"), mac[port]);
      EXPECT_EQ(seen->text("eth.dst"), mac[peer[port]]) << port;
    }
    --ttl;
  }
  // Within a subnet nothing is rewritten.
  for (const Seen* seen : those([](const Seen& s) { return s.text("ip.src") == "10.0.0.2"; })) {
    EXPECT_EQ(seen->value("ip.ttl"), 64U);
    EXPECT_EQ(seen->text("eth.src"), mac["h1:p0"]);
    EXPECT_EQ(seen->text("eth.dst"), mac["h0:p0"]);
  }
}

// IBTA Annex A17: what a router changes is masked, so the ICRC is the sender's on every hop.
TEST_F(TsharkFabric, IcrcIsUnchangedOnEveryHop) {
  play();
  std::map<std::string, std::string> first;
  for (const Seen* seen : crossing(kPath[0])) first[seen->packet()] = seen->text("infiniband.invariant.crc");
  EXPECT_EQ(first.size(), 49U);
  for (const char* port : kPath) {
    for (const Seen* seen : crossing(port))
      EXPECT_EQ(seen->text("infiniband.invariant.crc"), first.at(seen->packet())) << port;
  }
}

// 802.1Qbb: opcode 0x0101 to 01-80-C2-00-00-01; class 3 is bit 3; XOFF has the lab's quanta, XON none.
TEST_F(TsharkFabric, PauseFramesCarryClassAndQuanta) {
  play();
  std::map<std::string, std::uint64_t> sent, received;
  std::set<std::uint64_t> times;
  for (const Seen* seen : those([](const Seen& s) { return s.is_pause(); })) {
    EXPECT_EQ(seen->text("eth.dst"), "01:80:c2:00:00:01");
    EXPECT_EQ(seen->value("macc.opcode"), 0x0101U);
    EXPECT_EQ(seen->value("macc.cbfc.enbv"), 1U << 3);
    for (char c = '0'; c < '8'; ++c) {
      if (c != '3') {
        EXPECT_EQ(seen->value(std::string("macc.cbfc.pause_time.c") + c), 0U);
      }
    }
    times.insert(seen->value("macc.cbfc.pause_time.c3"));
    ++(seen->out() ? sent : received)[seen->port()];
  }
  EXPECT_EQ(times, (std::set<std::uint64_t>{0, 1000}));
  for (const auto& [a, b] : kCables) {
    EXPECT_EQ(sent[b], received[a]) << a;
    EXPECT_EQ(sent[b], counted(*run_, b, "pause_tx")) << b;
    if (std::string_view(a).starts_with("h")) {
      EXPECT_EQ(received[a], run_->counter(a, "rx_prio3_pause")) << a;
    }
  }
  EXPECT_GT(sent["leaf1:Ethernet1"], 0U);
}

// draft-foschiano-erspan-03. Each session holds every frame of its port and direction once, and nothing else.
TEST_F(TsharkFabric, MirrorsHoldEachFrameOnce) {
  play();
  const std::vector<Seen> mirrored = look(run_->dir.file("out/mirror.pcapng"));
  const auto session = [&](const std::string& port) {
    std::vector<const Seen*> list;
    for (const Seen& seen : mirrored) {
      if (seen.port() == port) list.push_back(&seen);
    }
    return list;
  };
  // What the ordinary capture has of that port, in its order.
  const auto packets = [&](const std::string& port, bool in, bool out) {
    std::vector<std::string> list;
    for (const Seen* seen : those([&](const Seen& s) { return s.port() == port && (s.out() ? out : in); }))
      list.push_back(seen->packet());
    std::sort(list.begin(), list.end());
    return list;
  };
  const auto names = [](const std::vector<const Seen*>& list) {
    std::vector<std::string> result;
    for (const Seen* seen : list) result.push_back(seen->packet());
    std::sort(result.begin(), result.end());
    return result;
  };

  const auto two = session("leaf0:Ethernet32");
  EXPECT_EQ(names(two), packets("leaf0:Ethernet32", true, false));
  EXPECT_EQ(two.size(), counted(*run_, "leaf0:Ethernet32", "rx_packets"));
  EXPECT_EQ(two.size(), 98U);  // h2 and h3, 49 each
  for (std::size_t i = 0; i < two.size(); ++i) {
    const Seen& s = *two[i];
    EXPECT_EQ(s.value("gre.proto"), 0x88beU);
    EXPECT_EQ(s.value("gre.sequence_number"), i);
    EXPECT_EQ(s.value("erspan.version"), 1U);
    EXPECT_EQ(s.value("erspan.spanid"), 9U);
    EXPECT_EQ(s.value("erspan.truncated"), 0U);
    EXPECT_EQ(s.text("ip.dst"), "192.0.2.7");
    EXPECT_EQ(s.value("ip.len"), s.value("ip.len", 1) + 14 + 20 + 8 + 8) << "Ethernet, IP, GRE, ERSPAN II";
    EXPECT_EQ(s.value("ip.ttl", 1), 62U) << "leaf1 and the spine were before";
  }

  const auto three = session("leaf0:Ethernet1");
  EXPECT_EQ(names(three), packets("leaf0:Ethernet1", false, true));
  EXPECT_EQ(three.size(), counted(*run_, "leaf0:Ethernet1", "tx_packets"));
  EXPECT_EQ(three.size(), 147U);
  for (std::size_t i = 0; i < three.size(); ++i) {
    const Seen& s = *three[i];
    EXPECT_EQ(s.value("gre.proto"), 0x22ebU);
    EXPECT_EQ(s.value("gre.sequence_number"), i);
    EXPECT_EQ(s.value("erspan.version"), 2U);
    EXPECT_EQ(s.value("erspan.spanid"), 5U);
    EXPECT_EQ(s.value("erspan.direction"), 1U) << "egress";
    EXPECT_EQ(s.value("erspan.gra"), 2U) << "IEEE 1588";
    EXPECT_EQ(s.value("erspan.timestamp"), s.time_ns() % 1'000'000'000);
    EXPECT_EQ(s.value("erspan.pid5.timestamp"), 0U);
    EXPECT_EQ(s.value("ip.len"), s.value("ip.len", 1) + 14 + 20 + 8 + 12 + 8) << "and the subheader of type III";
    EXPECT_EQ(s.value("ip.ttl", 1), s.text("ip.src", 1) == "10.0.0.2" ? 64U : 61U);
  }

  // SPAN: both directions as they are, pause frames among them.
  const auto span = session("leaf1:Ethernet1");
  EXPECT_EQ(names(span), packets("leaf1:Ethernet1", true, true));
  std::uint64_t total = 0;
  for (const char* name : {"rx_packets", "tx_packets", "pause_tx", "pause_rx"})
    total += counted(*run_, "leaf1:Ethernet1", name);
  EXPECT_EQ(span.size(), total);
  EXPECT_EQ(mirrored.size(), two.size() + three.size() + span.size());
}

std::vector<std::uint8_t> bytes_of(const std::string& hex_digits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex_digits.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(hex(hex_digits.substr(i, 2))));
  return bytes;
}
std::uint64_t big_endian(const std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t size_B) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size_B; ++i) value = value << 8 | bytes.at(at + i);
  return value;
}

// INT-MD 2.1: shim (type 1, original port), header (version 2, 6 words for a hop), stack with the last hop first. Node,
// latency, queue, egress time and utilisation were asked for: bits 0, 2, 3, 5 and 7.
TEST_F(TsharkFabric, IntGrowsByOneRecordPerSwitch) {
  play({"workloads[incast].telemetry=int"});
  std::map<std::uint64_t, std::uint64_t> length, left_ns;  // of the packet as it left its host, by PSN
  std::set<std::uint64_t> nodes;
  std::uint64_t longest_ns = 0;
  std::size_t hops = 0;
  for (const char* port : kPath) {
    const auto frames = crossing(port);
    ASSERT_EQ(frames.size(), 49U) << port;
    for (const Seen* seen : frames) {
      EXPECT_EQ(seen->text("frame.protocols"), "eth:ethertype:ip:udp:data");
      EXPECT_EQ(seen->value("udp.length"), seen->value("ip.len") - 20);
      const std::vector<std::uint8_t> data = bytes_of(seen->text("data.data"));
      EXPECT_EQ(data.at(0), 0x14) << "type INT-MD, NPT 1: the port is kept";
      EXPECT_EQ(data.at(1), 3 + 6 * hops) << "words behind the shim";
      EXPECT_EQ(big_endian(data, 2, 2), 4791U);
      EXPECT_EQ(data.at(4) >> 4, 2);
      EXPECT_EQ(data.at(6) & 0x1f, 6);
      EXPECT_EQ(data.at(7), 6 - hops) << "remaining";
      EXPECT_EQ(big_endian(data, 8, 2), 0xb500U);
      const std::uint64_t psn = big_endian(data, 16 + 24 * hops + 9, 3);
      if (hops == 0) {
        length[psn] = seen->value("ip.len");
        left_ns[psn] = seen->time_ns();
        continue;
      }
      EXPECT_EQ(seen->value("ip.len"), length.at(psn) + 24 * hops) << port;
      nodes.insert(big_endian(data, 16, 4));
      const std::uint64_t stay_ns = big_endian(data, 20, 4);
      EXPECT_LT(stay_ns, seen->time_ns() - left_ns.at(psn)) << "one hop is part of the way";
      longest_ns = std::max(longest_ns, stay_ns);
      EXPECT_EQ(data.at(24), 3) << "queue";
      EXPECT_EQ(big_endian(data, 28, 8), seen->time_ns() % 1'000'000'000) << "egress time of the last hop";
    }
    ++hops;
  }
  EXPECT_EQ(nodes.size(), 3U);
  EXPECT_GT(longest_ns, 1000U) << "somewhere it stood behind others";
  EXPECT_EQ(length.size(), 49U);
}

// IFA 2.0 (draft-kumar-ippm-ifa-08): IP protocol 131, its header between IP and UDP, records of 32 bytes behind UDP.
TEST_F(TsharkFabric, IfaGrowsByOneRecordPerSwitch) {
  play({"workloads[incast].telemetry=ifa"});
  std::size_t hops = 0;
  for (const char* port : kPath) {
    const auto frames = crossing(port);
    ASSERT_EQ(frames.size(), 49U) << port;
    for (const Seen* seen : frames) {
      EXPECT_EQ(seen->value("ip.proto"), 131U);
      const std::vector<std::uint8_t> data = bytes_of(seen->text("data.data"));
      EXPECT_EQ(data.size(), seen->value("ip.len") - 20);
      EXPECT_EQ(big_endian(data, 0, 2), 0x2011U) << "version 2, UDP follows";
      EXPECT_EQ(big_endian(data, 6, 2), 4791U);
      EXPECT_EQ(big_endian(data, 8, 2), data.size() - 4) << "UDP length";
      EXPECT_EQ(data.at(14), 6 - hops) << "hop limit";
      EXPECT_EQ(data.at(15), 8 * hops) << "words of the stack";
      if (hops > 0) {
        EXPECT_EQ(data.at(16 + 3), 64 - hops) << "TTL of the last hop's record";
      }
    }
    ++hops;
  }
}

}  // namespace
}  // namespace weft::interop
