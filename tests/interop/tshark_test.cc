// Every frame that weft writes, as Wireshark sees it: valid ICRC, rebuilt byte for byte, dissected by tshark without
// a malformed or expert warning, and with the same values in every field.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "interop/interop_support.h"
#include "interop/tshark_cases.h"
#include "interop/tshark_fields.h"
#include "wire/opcode.h"

namespace weft::interop {
namespace {

using wire::Opcode;

// (a) What our own reader has to say against a capture; empty when every frame is whole.
std::vector<std::string> complaints(const CaptureFile& file) {
  std::vector<std::string> found = file.errors;
  if (file.frames.empty()) found.push_back("no RoCEv2 frame");
  if (file.frames.size() + file.errors.size() != file.capture.packets.size())
    found.push_back("frames that are not RoCEv2");
  std::vector<std::uint8_t> rebuilt(16384);
  for (const Frame& frame : file.frames) {
    const std::string which = "frame " + std::to_string(frame.number);
    const bool corrupted = frame.says("corrupted");
    if (!frame.roce.icrc_ok && !corrupted) found.push_back(which + ": bad ICRC");
    const std::size_t size_B = wire::build_roce_frame(frame.headers(), frame.roce.payload, rebuilt);
    const bool same =
        size_B == frame.bytes.size() && std::equal(frame.bytes.begin(), frame.bytes.end(), rebuilt.begin());
    if (!same && frame.roce.icrc_ok) found.push_back(which + ": rebuilt with other bytes");
    if (!same && !frame.roce.icrc_ok && !corrupted) found.push_back(which + ": rebuilt with other bytes");
  }
  return found;
}

std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < 10; ++i) text += "  " + lines[i] + "\n";
  if (lines.size() > 10) text += "  and " + std::to_string(lines.size() - 10) + " more\n";
  return text;
}

// The known gaps of tshark 4.0, by name. The first is an expert entry of severity error, the second a field that
// tshark does not have.
constexpr const char* kGapIpv6Checksum = "IPv6 with UDP checksum 0: RFC 8200 forbids what Annex A17 asks for";
constexpr const char* kGapCnp = "CNP, opcode 0x81: Unknown, and no ICRC";

bool is_ipv6_checksum_gap(const Frame& frame, const std::string& message) {
  return !frame.headers().v4 && frame.roce.udp_checksum == 0 &&
         message.find("Illegal checksum value (0)") != std::string::npos;
}

constexpr const char* kFields[] = {
    "frame.protocols",
    "frame.interface_name",
    "frame.comment",
    "frame.packet_flags_direction",
    "_ws.expert.severity",
    "_ws.expert.message",
    "_ws.malformed",
    "infiniband.bth.opcode",
    "infiniband.bth.se",
    "infiniband.bth.m",
    "infiniband.bth.padcnt",
    "infiniband.bth.tver",
    "infiniband.bth.p_key",
    "infiniband.bth.destqp",
    "infiniband.bth.a",
    "infiniband.bth.psn",
    "infiniband.aeth.msn",
    "infiniband.aeth.syndrome",
    "infiniband.reth.va",
    "infiniband.reth.r_key",
    "infiniband.reth.dmalen",
    "infiniband.atomiceth.swapdt",
    "infiniband.atomiceth.cmpdt",
    "infiniband.atomicacketh.origremdt",
    "infiniband.immdt",
    "infiniband.ieth",
    "infiniband.deth.q_key",
    "infiniband.deth.srcqp",
    "infiniband.invariant.crc",
    "vlan.id",
    "vlan.priority",
    "ip.dsfield",
    "ipv6.tclass",
    "udp.srcport",
};

class Comparison {
 public:
  Comparison(const Frame& frame, const Dissection& seen, std::vector<std::string>& found)
      : frame_(frame), seen_(seen), found_(found) {}

  // `present`: should tshark have the field at all?
  void field(const std::string& name, bool present, std::uint64_t ours,
             std::uint64_t (*read)(const std::string&) = number) {
    const auto at = seen_.find(name);
    if ((at != seen_.end()) != present) {
      say(name + (present ? " is not there" : " is there"));
    } else if (present && read(at->second.front()) != ours) {
      say(name + " is " + at->second.front() + ", we read " + std::to_string(ours));
    }
  }
  void text(const std::string& name, const std::string& ours) {
    const auto at = seen_.find(name);
    if ((at == seen_.end() ? "" : at->second.front()) != ours) say(name + " is not '" + ours + "'");
  }
  void say(const std::string& what) { found_.push_back("frame " + std::to_string(frame_.number) + ": " + what); }

 private:
  const Frame& frame_;
  const Dissection& seen_;
  std::vector<std::string>& found_;
};

void compare_fields(const Frame& frame, const Dissection& seen, std::vector<std::string>& found) {
  const wire::RoceHeaders& h = frame.headers();
  const Opcode op = h.opcode;
  const bool cnp = op == Opcode::kCnp;
  const bool atomic = wire::has_atomic_eth(op);
  Comparison same(frame, seen, found);
  same.text("frame.interface_name", frame.interface);
  same.text("frame.comment", frame.comment);
  same.field("frame.packet_flags_direction", true, frame.outbound ? 2 : 1);
  same.field("vlan.id", h.vlan_tci.has_value(), h.vlan_tci.value_or(0) & 0xfff);
  same.field("vlan.priority", h.vlan_tci.has_value(), h.vlan_tci.value_or(0) >> 13);
  same.field("ip.dsfield", h.v4, h.tos);
  same.field("ipv6.tclass", !h.v4, h.tos);
  same.field("udp.srcport", true, h.src_port);
  same.field("infiniband.bth.opcode", true, static_cast<std::uint64_t>(op));
  same.field("infiniband.bth.se", true, h.solicited);
  same.field("infiniband.bth.m", true, h.mig_req);
  same.field("infiniband.bth.padcnt", true, frame.roce.pad_B);
  same.field("infiniband.bth.tver", true, 0);
  same.field("infiniband.bth.p_key", true, h.p_key);
  same.field("infiniband.bth.destqp", true, h.dest_qp);
  same.field("infiniband.bth.a", true, h.ack_req);
  same.field("infiniband.bth.psn", true, h.psn);
  same.field("infiniband.aeth.msn", wire::has_aeth(op), h.msn);
  same.field("infiniband.aeth.syndrome", wire::has_aeth(op), h.aeth_syndrome);
  same.field("infiniband.reth.va", wire::has_reth(op) || atomic, h.va);
  same.field("infiniband.reth.r_key", wire::has_reth(op) || atomic, h.rkey);
  same.field("infiniband.reth.dmalen", wire::has_reth(op), h.dma_len);
  same.field("infiniband.atomiceth.swapdt", atomic, h.swap_add);
  same.field("infiniband.atomiceth.cmpdt", atomic, h.compare);
  same.field("infiniband.atomicacketh.origremdt", wire::has_atomic_ack_eth(op), h.atomic_original);
  same.field("infiniband.immdt", wire::has_imm(op), h.imm, hex);
  same.field("infiniband.ieth", wire::has_ieth(op), h.ieth_rkey, hex);
  same.field("infiniband.deth.q_key", wire::has_deth(op), h.qkey);
  same.field("infiniband.deth.srcqp", wire::has_deth(op), h.src_qp);
  // The ICRC goes out low byte first; tshark prints it in the order of the bytes.
  if (!cnp) same.field("infiniband.invariant.crc", true, __builtin_bswap32(frame.roce.icrc));
}

// (b) and (c). Gaps of tshark that were met are counted by name.
std::vector<std::string> tshark_complaints(const CaptureFile& file, const std::string& path,
                                           std::map<std::string, int>& gaps) {
  constexpr std::uint64_t kWarning = 0x600000;
  std::vector<std::string> found;
  const std::vector<Dissection> seen = dissect(path, kFields);
  if (seen.size() != file.frames.size()) return {"tshark has " + std::to_string(seen.size()) + " frames"};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Frame& frame = file.frames[i];
    const auto values = [&](const char* name) {
      const auto at = seen[i].find(name);
      return at == seen[i].end() ? std::vector<std::string>{} : at->second;
    };
    Comparison same(frame, seen[i], found);
    const std::vector<std::string> protocols = values("frame.protocols");
    if (protocols.empty() || protocols[0].find(":udp:infiniband") == std::string::npos)
      same.say("not dissected as RRoCE");
    if (!values("_ws.malformed").empty()) same.say("malformed");
    const std::vector<std::string> severities = values("_ws.expert.severity"), messages = values("_ws.expert.message");
    for (std::size_t e = 0; e < severities.size(); ++e) {
      if (number(severities[e]) < kWarning) continue;
      const std::string message = e < messages.size() ? messages[e] : "";
      if (is_ipv6_checksum_gap(frame, message)) {
        ++gaps[kGapIpv6Checksum];
      } else {
        same.say("expert: " + message);
      }
    }
    compare_fields(frame, seen[i], found);
    if (frame.is(Opcode::kCnp) && values("infiniband.invariant.crc").empty()) ++gaps[kGapCnp];
  }
  return found;
}

bool has(const CaptureFile& file, Opcode opcode) {
  return std::any_of(file.frames.begin(), file.frames.end(), [&](const Frame& frame) { return frame.is(opcode); });
}

class TsharkTest : public testing::TestWithParam<TsharkCase> {};

TEST_P(TsharkTest, AgreesOnEveryFrame) {
  const TsharkCase& c = GetParam();
  const auto run = c.file.empty() ? run_lab_text(c.lab.text(), c.sets) : run_lab_file(c.file, c.sets);
  ASSERT_EQ(run->status, run->meant_status()) << run->output;
  const CaptureFile& file = *run->capture;
  const std::vector<std::string> ours = complaints(file);
  EXPECT_TRUE(ours.empty()) << listed(ours);
  for (Opcode opcode : c.shows) EXPECT_TRUE(has(file, opcode)) << "no frame with opcode " << static_cast<int>(opcode);
  EXPECT_EQ(file.frames.size(), run->results.at("captured_frames").get<std::size_t>());
  if (!has_program("tshark")) GTEST_SKIP() << "tshark is not installed";
  std::map<std::string, int> gaps;
  const std::vector<std::string> theirs = tshark_complaints(file, run->capture_path(), gaps);
  EXPECT_TRUE(theirs.empty()) << listed(theirs);
  // A gap that is no longer one belongs off the list.
  EXPECT_EQ(gaps.contains(kGapIpv6Checksum), !file.frames[0].headers().v4);
  EXPECT_EQ(gaps.contains(kGapCnp), has(file, Opcode::kCnp));
}

std::string name_of(const testing::TestParamInfo<TsharkCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Labs, TsharkTest, testing::ValuesIn(lab_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Own, TsharkTest, testing::ValuesIn(own_cases()), name_of);

// The check above can fail: every byte from the IP header on is noticed when it changes, except the FECN, BECN and
// reserved bits of the BTH, which no check covers.
TEST(TsharkTestItself, DetectsEveryChangedByte) {
  TwoHosts lab;
  lab.sections = "workloads:\n  - {name: w, transfer: write, client: h0, server: h1, size: 30 B}\n";
  const auto run = run_lab_text(lab.text());
  ASSERT_EQ(run->status, run->meant_status()) << run->output;
  ASSERT_TRUE(complaints(*run->capture).empty());
  const Frame& victim = run->capture->frames[0];
  ASSERT_TRUE(victim.is(Opcode::kWriteOnly));
  const auto at = static_cast<std::size_t>(victim.bytes.data() - run->capture->bytes.data());
  constexpr std::size_t kIp = 14, kBthByte4 = kIp + 20 + 8 + 4;
  const std::string path = run->dir.file("changed.pcapng");
  for (std::size_t offset = kIp; offset < victim.bytes.size(); ++offset) {
    if (offset == kBthByte4) continue;
    std::vector<std::uint8_t> changed = run->capture->bytes;
    changed[at + offset] ^= 0x10;
    write_bytes(path, changed.data(), changed.size());
    EXPECT_FALSE(complaints(*open_capture(path)).empty()) << "byte " << offset;
  }
}

TEST(TsharkTestItself, DetectsDisagreement) {
  if (!has_program("tshark")) GTEST_SKIP() << "tshark is not installed";
  TwoHosts lab;
  lab.sections = "workloads:\n  - {name: w, transfer: write, client: h0, server: h1, size: 30 B}\n";
  const auto run = run_lab_text(lab.text());
  ASSERT_EQ(run->status, run->meant_status()) << run->output;
  std::map<std::string, int> gaps;
  ASSERT_TRUE(tshark_complaints(*run->capture, run->capture_path(), gaps).empty());
  run->capture->frames[0].roce.headers.dma_len += 1;
  ASSERT_TRUE(run->capture->frames[2].is(Opcode::kAck));
  run->capture->frames[2].roce.headers.msn += 1;
  run->capture->frames[1].comment = "weft: dropped";
  EXPECT_EQ(tshark_complaints(*run->capture, run->capture_path(), gaps).size(), 3u);
}

TEST(TsharkInterfaces, HaveNameAndSpeed) {
  if (!has_program("capinfos")) GTEST_SKIP() << "capinfos is not installed";
  const auto run = run_lab_file(std::string(WEFT_SOURCE_DIR) + "/labs/first-light.yaml", {"workloads[lat].args=-n 5"});
  const std::string text = run_command("capinfos " + shell_quoted(run->capture_path()) + " 2>/dev/null").output;
  for (const char* wanted :
       {"Name = vm00:p0", "Name = vm01:p0", "Speed = 25000000000", "Time precision = nanoseconds (9)"}) {
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << " is not in\n" << text;
  }
}

}  // namespace
}  // namespace weft::interop
