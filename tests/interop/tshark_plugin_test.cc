// The plugin for Wireshark (docs/wireshark.md): what tshark says with it, frame by frame, against Weft's own parsers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "interop/interop_support.h"
#include "interop/tshark_fields.h"
#include "pcap/pcapng.h"
#include "wire/int_md.h"
#include "wire/opcode.h"

namespace weft::interop {
namespace {

const std::string kSource = WEFT_SOURCE_DIR;

class TsharkPlugin : public testing::Test {
 protected:
  TsharkPlugin() {
    if (!has_program("tshark")) return;
    const CommandResult installed = run_command(shell_quoted(WEFT_BINARY) + " wireshark install --dir " +
                                                shell_quoted(dir_.file("config")) + " 2>&1");
    EXPECT_EQ(installed.status, 0) << installed.output;
    setenv("WIRESHARK_CONFIG_DIR", dir_.file("config").c_str(), 1);
  }
  ~TsharkPlugin() override { unsetenv("WIRESHARK_CONFIG_DIR"); }

  static std::string value(const Dissection& seen, const std::string& field) {
    const auto at = seen.find(field);
    return at == seen.end() ? "" : at->second.front();
  }
  // What tshark prints with these arguments.
  static std::string tshark(const std::string& arguments) {
    return run_command("tshark -n " + arguments + " 2>/dev/null").output;
  }
  static std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  TempDir dir_;
};

constexpr const char* kRoce[] = {"weft.opcode",    "weft.cnp",          "weft.becn",
                                 "weft.fecn",      "weft.icrc",         "weft.icrc.status",
                                 "weft.aeth.kind", "weft.aeth.credits", "weft.aeth.rnr_timer_ms",
                                 "weft.aeth.nak",  "weft.comment",      "weft.event",
                                 "_ws.lua.error",  "frame.comment"};

// Credits by code (IBTA vol 1, table 45).
constexpr int kCredits[] = {0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
                            48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
                            2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

// Each RoCE frame of a run as our parser and the plugin see it.
void compare(const CaptureFile& capture, const std::vector<Dissection>& all) {
  ASSERT_EQ(all.size(), capture.capture.packets.size());
  for (const Dissection& seen : all) EXPECT_FALSE(seen.contains("_ws.lua.error"));
  for (const Frame& frame : capture.frames) {
    const Dissection& seen = all[frame.number - 1];
    const auto has = [&](const std::string& field) { return seen.contains(field); };
    const auto value = [&](const std::string& field) { return seen.at(field).front(); };
    SCOPED_TRACE("frame " + std::to_string(frame.number));
    const bool cnp = frame.is(wire::Opcode::kCnp);
    ASSERT_TRUE(has("weft.becn") && has("weft.icrc.status"));
    EXPECT_EQ(has("weft.cnp"), cnp);
    EXPECT_EQ(value("weft.opcode") == "CNP", cnp);
    EXPECT_EQ(value("weft.becn") == "1" || value("weft.becn") == "True", frame.headers().becn);
    EXPECT_EQ(value("weft.fecn") == "1" || value("weft.fecn") == "True", frame.headers().fecn);
    EXPECT_EQ(number(value("weft.icrc.status")), frame.roce.icrc_ok ? 1U : 0U);
    EXPECT_EQ(has("weft.aeth.kind"), wire::has_aeth(frame.headers().opcode));
    if (has("weft.aeth.kind")) {
      const int code = frame.headers().aeth_syndrome & 31;
      EXPECT_EQ(number(value("weft.aeth.kind")), frame.headers().aeth_syndrome >> 5 & 3U);
      if (has("weft.aeth.credits")) {
        EXPECT_EQ(number(value("weft.aeth.credits")), static_cast<std::uint64_t>(kCredits[code]));
      }
      if (value("weft.aeth.kind") == "3") {
        EXPECT_EQ(number(value("weft.aeth.nak")), static_cast<std::uint64_t>(code));
      }
    }
    EXPECT_EQ(has("weft.comment"), frame.says("weft: "));
    if (has("weft.comment")) {
      EXPECT_NE(frame.comment.find(value("weft.comment")), std::string::npos);
    }
  }
}

TEST_F(TsharkPlugin, AgreesWithParsersOnFaults) {
  for (const char* lab : {"corrupt", "loss", "rnr", "ce-mark", "duplicate", "wrong-rkey"}) {
    SCOPED_TRACE(lab);
    // Four of its twenty messages: the plugin computes each ICRC in Lua.
    const std::vector<std::string> sets = lab == std::string("loss")
                                              ? std::vector<std::string>{"workloads[w].count=4", "expect={}"}
                                              : std::vector<std::string>{};
    const auto run = run_lab_file(kSource + "/labs/faults/" + lab + ".yaml", sets);
    compare(*run->capture, dissect(run->capture_path(), kRoce));
  }
}

TEST_F(TsharkPlugin, OnlyDamagedFrameHasBadIcrc) {
  const auto run = run_lab_file(kSource + "/labs/faults/corrupt.yaml");
  const std::string file = shell_quoted(run->capture_path());
  EXPECT_EQ(lines(tshark("-r " + file + " -Y 'weft.icrc.status == \"Bad\"'")), 1U);
  EXPECT_EQ(lines(tshark("-r " + file + " -Y 'weft.icrc.bad'")), 0U) << "not asked for, not checked";
  EXPECT_EQ(lines(tshark("-r " + file + " -o weft.icrc:'Of each packet' -Y 'weft.icrc.bad'")), 1U);
  EXPECT_EQ(lines(tshark("-r " + file + " -o weft.icrc:Never -Y 'weft.icrc.status'")), 0U);
  EXPECT_EQ(lines(tshark("-r " + file + " -Y 'weft.event == \"retransmission\"'")),
            static_cast<std::size_t>(std::count_if(run->capture->frames.begin(), run->capture->frames.end(),
                                                   [](const Frame& f) { return f.says("retransmission"); })));
}

TEST_F(TsharkPlugin, NamesCnpsInPacketList) {
  const auto run = run_lab_file(kSource + "/labs/faults/ce-mark.yaml");
  const auto cnps =
      static_cast<std::size_t>(std::count_if(run->capture->frames.begin(), run->capture->frames.end(),
                                             [](const Frame& frame) { return frame.is(wire::Opcode::kCnp); }));
  ASSERT_GT(cnps, 0U);
  const auto named = [](const std::string& text) {
    std::size_t found = 0;
    for (const std::string& line : split(text, '\n')) found += line.find(" CNP QP=0x") != line.npos ? 1 : 0;
    return found;
  };
  const std::string file = shell_quoted(run->capture_path());
  EXPECT_EQ(named(tshark("-r " + file)), cnps) << "without fields";
  EXPECT_EQ(named(tshark("-r " + file + " -Y frame")), cnps) << "with fields";
  EXPECT_EQ(tshark("-r " + file).find("Unknown OpCode"), std::string::npos);
}

TEST_F(TsharkPlugin, IcrcOfIpv6VlanAndRocev1) {
  TwoHosts six;
  six.addresses[0] = "fd00::1/64";
  six.addresses[1] = "fd00::2/64";
  six.port_extra = ", vlan: 42";
  six.sections = "workloads:\n  - {name: w, transfer: write, client: h0, server: h1, size: 5001 B, count: 3}\n";
  const auto run = run_lab_text(six.text());
  compare(*run->capture, dissect(run->capture_path(), kRoce));

  wire::RoceHeaders headers;
  headers.src_ip[15] = 1;
  headers.dst_ip[15] = 2;
  headers.opcode = wire::Opcode::kAck;
  headers.aeth_syndrome = 0x20 | 14;
  headers.msn = 9;
  std::vector<std::uint8_t> frame(512);
  frame.resize(wire::build_rocev1_frame(headers, {}, frame));
  std::vector<std::uint8_t> damaged = frame;
  damaged[14 + 40 + 11] ^= 1;
  frame.resize(frame.size() + 6);  // padding of Ethernet
  {
    auto writer = pcap::PcapngWriter::create(dir_.file("v1.pcapng"));
    ASSERT_TRUE(writer);
    const std::uint32_t port = writer->add_interface("p0", 0);
    writer->write(port, 0, true, frame);
    writer->write(port, 1, true, damaged);
    ASSERT_TRUE(writer->close());
  }
  const auto seen = dissect(dir_.file("v1.pcapng"), kRoce);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(value(seen[0], "weft.icrc.status"), "1");
  EXPECT_EQ(value(seen[1], "weft.icrc.status"), "0");
  EXPECT_EQ(value(seen[0], "weft.aeth.rnr_timer_ms"), "1.28");
}

TEST_F(TsharkPlugin, DissectsTelemetry) {
  constexpr const char* kFields[] = {"weft.int.hops",
                                     "weft.int.hop.node",
                                     "weft.int.hop.latency",
                                     "weft.int.hop.queue_occupancy",
                                     "weft.int.hop.egress_time",
                                     "weft.ifa.hops",
                                     "weft.ifa.hop.device",
                                     "weft.ifa.hop.ttl",
                                     "weft.ifa.hop.residence_ns",
                                     "weft.icrc.status",
                                     "infiniband.bth.psn",
                                     "_ws.lua.error"};
  for (const char* format : {"int", "ifa"}) {
    SCOPED_TRACE(format);
    const auto run = run_lab_file(kSource + "/labs/fabric/telemetry-and-mirrors.yaml",
                                  {std::string("workloads[incast].telemetry=") + format});
    const std::string prefix = std::string("weft.") + format;
    for (const char* file : {"out/capture.pcapng", "out/mirror.pcapng"}) {
      const auto all = dissect(run->dir.file(file), kFields);
      std::set<std::string> hops;
      for (const Dissection& seen : all) {
        ASSERT_FALSE(seen.contains("_ws.lua.error"));
        EXPECT_EQ(value(seen, "weft.icrc.status"), "1");
        EXPECT_TRUE(seen.contains("infiniband.bth.psn"));
        if (!seen.contains(prefix + ".hops")) continue;
        const std::uint64_t count = number(value(seen, prefix + ".hops"));
        hops.insert(value(seen, prefix + ".hops"));
        const auto records = seen.find(prefix + (format == std::string("int") ? ".hop.node" : ".hop.device"));
        EXPECT_EQ(records == seen.end() ? 0U : records->second.size(), count);
      }
      EXPECT_GE(hops.size(), 2U) << file;
    }
  }
}

// The values of one INT stack, field by field.
TEST_F(TsharkPlugin, IntRecordsHaveValuesOfParser) {
  const auto run = run_lab_file(kSource + "/labs/fabric/telemetry-and-mirrors.yaml");
  constexpr const char* kFields[] = {"weft.int.hop.node", "weft.int.hop.latency", "weft.int.hop.queue_occupancy",
                                     "weft.int.hop.egress_time", "weft.int.hop.tx_utilisation"};
  const auto all = dissect(run->capture_path(), kFields);
  ASSERT_EQ(all.size(), run->capture->capture.packets.size());
  std::size_t compared = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& bytes = run->capture->capture.packets[i].bytes;
    const auto view = wire::IntMdView::parse(bytes.subspan(std::min<std::size_t>(42, bytes.size())));
    if (!view || view->hop_count() == 0 || !all[i].contains("weft.int.hop.node")) continue;
    ++compared;
    for (std::size_t hop = 0; hop < view->hop_count(); ++hop) {
      const wire::IntMdHop ours = view->hop(hop);
      const std::size_t place = view->hop_count() - 1 - hop;  // the last hop first
      EXPECT_EQ(number(all[i].at(kFields[0]).at(place)), ours.node_id);
      EXPECT_EQ(number(all[i].at(kFields[1]).at(place)), ours.hop_latency);
      EXPECT_EQ(number(all[i].at(kFields[2]).at(place)), ours.queue_occupancy);
      EXPECT_EQ(number(all[i].at(kFields[3]).at(place)), ours.egress_time);
      EXPECT_EQ(number(all[i].at(kFields[4]).at(place)), ours.tx_utilisation);
    }
  }
  EXPECT_GT(compared, 500U);
}

std::vector<std::uint8_t> from_hex(const std::string& digits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

// Ultra Ethernet frames made by hand, the CRC by another program.
const std::string kEthernet = "020000000002020000000001080045";
const std::string kUetFrames[] = {
    // RUD request, SYN and AR, standard WRITE of 8192 bytes, SOM
    kEthernet +
        "00007800014000401126720a0000010a000002beef12b900640000118cffff000003e8000700050101002a0300004d0005000f0000"
        "000000001000000000101122334455667788000000000000abcd000020007878787878787878787878787878787878787878787878"
        "787878787878787878413ae371",
    // ROD request with credit target, retransmitted, small SEND, without UDP
    kEthernet +
        "0000500001400040fd25ae0a0000010a000002beef000070900000000007d0000700090400012c050300640300004d0005000f0000"
        "0000000000407979797979797979797979797979797975463588",
    // ACK_CC: M, SACK, NSCC; response
    kEthernet +
        "00004c000140004011269e0a0000010a000002beef12b90038000042200002000003e80009000700080001000000000000000500648"
        "300004d00010101002a0300004d00002000ee592fe8",
    // NACK: trimmed
    kEthernet + "00003000014000401126ba0a0000010a000002beef12b9001c000050000100000003e900090007000003eb79e0721b",
    // control: probe
    kEthernet + "00003000014000401126ba0a0000010a000002beef12b9001c00005b081234000003ed00070009000003e81abab4b6",
    // NACK: trimmed at the last hop; the CRC is wrong
    kEthernet + "00003000014000401126ba0a0000010a000002beef12b9001c000050000200000003ea00090007000003eb9c4681f9",
};

TEST_F(TsharkPlugin, DissectsUltraEthernet) {
  {
    auto writer = pcap::PcapngWriter::create(dir_.file("uet.pcapng"));
    ASSERT_TRUE(writer);
    const std::uint32_t port = writer->add_interface("p0", 0);
    std::int64_t time_ns = 0;
    for (const std::string& frame : kUetFrames) writer->write(port, ++time_ns, true, from_hex(frame));
    ASSERT_TRUE(writer->close());
  }
  constexpr const char* kFields[] = {"uet.pds.type",
                                     "uet.pds.psn",
                                     "uet.pds.clear_psn",
                                     "uet.pds.start_psn",
                                     "uet.pds.flags.syn",
                                     "uet.pds.entropy",
                                     "uet.pds.flags.retx",
                                     "uet.pds.cc_state.credit_target",
                                     "uet.ses.std.opcode",
                                     "uet.ses.std.request_length",
                                     "uet.ses.std.short_length",
                                     "uet.pds.cack_psn",
                                     "uet.pds.ack_psn",
                                     "uet.pds.ack.sack_base",
                                     "uet.pds.ack.sack_bitmap",
                                     "uet.pds.ack.cc_state.service_time",
                                     "uet.pds.ack.cc_state.rcv_cwnd_pend",
                                     "uet.pds.ack.cc_state.rcvd_bytes",
                                     "uet.ses.rsp.return_code",
                                     "uet.pds.nack.code",
                                     "uet.pds.nack.psn",
                                     "uet.pds.ctl_type",
                                     "uet.pds.ctrl_probe_opaque",
                                     "weft.uet.crc.status",
                                     "_ws.lua.error",
                                     "uet.ses.std.job_id"};
  const auto all = dissect(dir_.file("uet.pcapng"), kFields);
  ASSERT_EQ(all.size(), std::size(kUetFrames));
  const auto expect = [&](std::size_t frame, const std::string& field, std::uint64_t wanted) {
    ASSERT_TRUE(all[frame].contains(field)) << frame << " " << field;
    EXPECT_EQ(number(value(all[frame], field)), wanted) << frame << " " << field;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(all[i].contains("_ws.lua.error"));
    expect(i, "weft.uet.crc.status", i == 5 ? 0 : 1);
  }
  const std::uint64_t types[] = {2, 14, 8, 10, 11, 10};
  for (std::size_t i = 0; i < all.size(); ++i) expect(i, "uet.pds.type", types[i]);
  expect(0, "uet.pds.psn", 1000);
  expect(0, "uet.pds.clear_psn", 999);
  expect(0, "uet.pds.start_psn", 995);
  expect(0, "uet.pds.flags.syn", 1);
  expect(0, "uet.ses.std.opcode", 1);
  expect(0, "uet.ses.std.job_id", 77);
  expect(0, "uet.ses.std.request_length", 8192);
  expect(1, "uet.pds.entropy", 0xbeef);
  expect(1, "uet.pds.flags.retx", 1);
  expect(1, "uet.pds.cc_state.credit_target", 300);
  expect(1, "uet.ses.std.short_length", 100);
  expect(2, "uet.pds.cack_psn", 1000);
  expect(2, "uet.pds.ack_psn", 1002);
  expect(2, "uet.pds.ack.sack_base", 1001);
  expect(2, "uet.pds.ack.sack_bitmap", 5);
  expect(2, "uet.pds.ack.cc_state.service_time", 100);
  expect(2, "uet.pds.ack.cc_state.rcv_cwnd_pend", 3);
  expect(2, "uet.pds.ack.cc_state.rcvd_bytes", 77);
  expect(2, "uet.ses.rsp.return_code", 1);
  expect(3, "uet.pds.nack.code", 1);
  expect(3, "uet.pds.nack.psn", 1001);
  expect(4, "uet.pds.ctl_type", 6);
  expect(4, "uet.pds.ctrl_probe_opaque", 0x1234);
}

}  // namespace
}  // namespace weft::interop
