// Marks, notifications and classes: cnp, rate-reaction, traffic-class, path-entropy.
#include <algorithm>

#include "analyze/planted_case.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

using wire::Opcode;
using wire::RoceFrame;
using wire::RoceHeaders;

const std::string kContract = "dscp: 26, priority: 3, ecn: true, cnp_dscp: 48, cnp_priority: 6";
const std::string kHeaders = "--snaplen '128 B'";

std::string marked(const std::string& fault, const PairLab& pair, const std::string& what) {
  return pair_lab(
      "faults:\n  - {link: \"node00:p0\", action: ce-mark, frames: request, " + fault + "}\n" + transfer(what), pair);
}

PairLab contract() {
  PairLab pair;
  pair.qos = kContract;
  return pair;
}

void without_cnps(EditableCapture& capture) {
  std::erase_if(capture.records, [](const Record& each) {
    const auto frame = wire::parse_roce_frame(each.bytes);
    return frame && frame->headers.opcode == Opcode::kCnp;
  });
}

// Those that come to the sender's port; so many of ten.
void lose_cnps(EditableCapture& capture, std::size_t of_ten) {
  std::size_t n = 0;
  std::erase_if(capture.records, [&](const Record& each) {
    if (capture.interfaces[each.interface].name != "node00:p0") return false;
    const auto frame = wire::parse_roce_frame(each.bytes);
    return frame && frame->headers.opcode == Opcode::kCnp && n++ % 10 < of_ten;
  });
}

void without_cnps_at_sender(EditableCapture& capture) {
  lose_cnps(capture, 10);
}

void with_few_cnps_at_sender(EditableCapture& capture) {
  lose_cnps(capture, 6);
}

void cnps_to_nobody(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_opcode(Opcode::kCnp)))
    capture.rewrite(at, [](RoceHeaders& headers) { headers.dest_qp = 0xabcdef; });
}

// The receiver never tells the host with the highest address.
void without_cnps_to_one(EditableCapture& capture) {
  wire::IpAddress last{};
  const std::vector<std::size_t> cnps = capture.find(is_opcode(Opcode::kCnp));
  for (std::size_t at : cnps) last = std::max(last, capture.frame(at).headers.dst_ip);
  std::erase_if(capture.records, [&](const Record& each) {
    const auto frame = wire::parse_roce_frame(each.bytes);
    return frame && frame->headers.opcode == Opcode::kCnp && frame->headers.dst_ip == last;
  });
}

void without_marks(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_data_request))
    capture.rewrite(at,
                    [](RoceHeaders& headers) { headers.tos = static_cast<std::uint8_t>((headers.tos & 0xfc) | 2); });
}

// BECN is not under the ICRC.
void without_becn(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_opcode(Opcode::kCnp))) capture.byte(at, kBthAt + 4) = 0;
}

void cnp_bursts(EditableCapture& capture) {
  std::vector<Record> copies;
  for (std::size_t at : capture.find(is_opcode(Opcode::kCnp))) {
    for (int n = 1; n <= 5; ++n) {
      copies.push_back(capture.records[at]);
      copies.back().time_ns += n * 100;
    }
  }
  for (Record& each : copies) capture.insert(std::move(each));
}

// Every third data packet comes with DSCP 0.
void mixed_dscp(EditableCapture& capture) {
  std::size_t n = 0;
  for (std::size_t at : capture.find(is_data_request))
    if (++n % 3 == 0)
      capture.rewrite(at, [](RoceHeaders& headers) { headers.tos = static_cast<std::uint8_t>(headers.tos & 3); });
}

// What arrives has DSCP 0: a switch on the way does not trust that of the sender.
void rewritten_dscp(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_data_request)) {
    if (capture.interfaces[capture.records[at].interface].name != "node01:p0") continue;
    capture.rewrite(at, [](RoceHeaders& headers) { headers.tos = static_cast<std::uint8_t>(headers.tos & 3); });
  }
}

void one_source_port(EditableCapture& capture) {
  for (std::size_t at : capture.find([](const RoceFrame&) { return true; }))
    capture.rewrite(at, [](RoceHeaders& headers) { headers.src_port = 0xc123; });
}

}  // namespace

std::vector<PlantedCase> notification_faults() {
  const std::string large = "write, size: 64 KiB, count: 100";
  const std::string marks = marked("probability: 2 %", contract(), large);
  PairLab silent = contract(), slow = contract(), deaf = contract(), eager = contract();
  silent.server_set = "min_time_between_cnps: 100 ms";
  silent.set = "min_time_between_cnps: 4 us";
  slow.server_set = "cnp_generation: 300 us";
  slow.set = "cnp_generation: 1 us";
  deaf.client_qos = "congestion: {algorithm: off}";
  eager.qos += ", congestion: {RPG_TIME_RESET: 50000, RPG_BYTE_RESET: 32767, RPG_AI_RATE: 1, RPG_HAI_RATE: 1}";
  PairLab cnp_in_data = contract();
  cnp_in_data.qos = "dscp: 26, priority: 3, ecn: true, cnp_dscp: 26, cnp_priority: 3";
  PairLab not_ect = contract();
  not_ect.client_qos = "ecn: false";
  const std::string both =
      "workloads:\n"
      "  - {name: a, client: node00, server: node01, transfer: write, size: 16 KiB, count: 20}\n"
      "  - {name: b, client: node01, server: node00, transfer: write, size: 16 KiB, count: 20}\n";
  const std::string incast =
      "qos: {profile: roce-lossless}\nnodes: {h3: {qos: {dscp: 0, priority: 0}}}\n"
      "workloads:\n  - {name: incast, flows: incast, hosts: all, to: h0, size: 200 kB}\n";

  const std::string four_senders =
      "qos: {profile: roce-lossless}\n"
      "workloads:\n  - {name: incast, flows: incast, hosts: all, to: h0, size: 8 MB}\n";

  std::vector<PlantedCase> rows;
  rows.push_back({"SilentNotificationPoint",
                  "a NIC that sends one CNP in 100 ms",
                  marked("probability: 2 %", silent, "write, size: 64 KiB, count: 800"),
                  "node01:p0",
                  nullptr,
                  "cnp.missing",
                  {},
                  {"cnp.interval"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"NoCnp", "CE marks that no CNP answers", marks, "node01:p0", without_cnps, "cnp.missing"});
  rows.push_back({"CnpsLostOnTheWay", "CNPs that leave the receiver and do not come to the sender", marks, "all",
                  without_cnps_at_sender, "cnp.lost"});
  rows.push_back({"SixInTenCnpsLost", "six of ten CNPs that do not come to the sender", marks, "all",
                  with_few_cnps_at_sender, "cnp.lost"});
  rows.push_back(
      {"CnpsToNobody", "CNPs with a queue pair that nobody has", marks, "node01:p0", cnps_to_nobody, "cnp.stray"});
  rows.push_back({"OneSenderWithoutCnps",
                  "an incast of four senders, one of which gets no CNP",
                  switch_lab(5, four_senders),
                  "h0:p0",
                  without_cnps_to_one,
                  "cnp.missing",
                  {},
                  {},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"CnpWithoutMark", "CNPs though nothing was marked", marks, "all", without_marks, "cnp.unasked"});
  rows.push_back({"CnpWithoutBecn", "CNPs without BECN", marks, "node01:p0", without_becn, "cnp.format"});
  rows.push_back({"CnpBursts",
                  "CNPs in bursts, 100 ns apart",
                  marks,
                  "node01:p0",
                  cnp_bursts,
                  "cnp.interval",
                  {},
                  {"cnp.unasked"}});
  rows.push_back({"LateCnp",
                  "a NIC that takes 300 us to send a CNP",
                  marked("probability: 2 %", slow, "write, size: 64 KiB, count: 400"),
                  "node01:p0",
                  nullptr,
                  "cnp.late",
                  {},
                  {"cnp.missing", "cnp.interval"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"SenderIgnoresCnps",
                  "a sender without congestion control",
                  marked("probability: 2 %", deaf, "write, size: 64 KiB, count: 400"),
                  "node00:p0",
                  nullptr,
                  "rate-reaction.none",
                  {},
                  {},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"SlowRecovery",
                  "DCQCN timers set to 50 ms: the rate does not come back",
                  marked("end: 100 us, probability: 20 %", eager, "write, size: 64 KiB, count: 400"),
                  "node00:p0",
                  nullptr,
                  "rate-reaction.slow-recovery",
                  {},
                  {},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"EveryPacketMarked",
                  "all packets CE-marked",
                  marked("probability: 100 %", contract(), "write, size: 64 KiB, count: 80"),
                  "node01:p0",
                  nullptr,
                  "traffic-class.ce-share",
                  {},
                  {},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"NotEct", "a host that sends RoCE without ECT", pair_lab(both, not_ect), "node00:p0", nullptr,
                  "traffic-class.not-ect"});
  rows.push_back({"CnpInDataClass", "CNPs sent with the DSCP of the data",
                  marked("probability: 2 %", cnp_in_data, large), "node01:p0", nullptr, "traffic-class.cnp"});
  rows.push_back({"RewrittenDscp", "packets that leave with DSCP 26 and arrive with 0",
                  pair_lab(transfer("write, size: 16 KiB, count: 20"), contract()), "all", rewritten_dscp,
                  "traffic-class.rewritten"});
  rows.push_back({"MixedDscp", "every third packet with DSCP 0",
                  pair_lab(transfer("write, size: 16 KiB, count: 20"), contract()), "node00:p0", mixed_dscp,
                  "traffic-class.mixed"});
  rows.push_back({"OneHostWrongDscp", "one host of four sends DSCP 0", switch_lab(5, incast), "h0:p0", nullptr,
                  "traffic-class.wrong"});
  rows.push_back(
      {"OneSourcePort", "eight queue pairs on one UDP source port",
       pair_lab("workloads:\n  - {name: w, perftest: write_bw, client: node00, server: node01, args: \"-q 8 -s "
                "4096 -n 40\"}\n",
                contract()),
       "node00:p0", one_source_port, "path-entropy.one-port"});
  rows.push_back({"Polarised",
                  "a fat tree whose tiers hash with one seed",
                  "version: 1\nname: planted\nseed: 1\nfabric:\n  template: fat-tree\n  k: 4\n  switch: sn3700c\n"
                  "  host: {nic: cx5-100g, mtu: 4200 B}\nqos: {profile: roce-lossless}\nrouting: {hash_seed: 5}\n"
                  "workloads:\n  - {name: all, flows: all-to-all, hosts: all, size: 16 kB}\n",
                  "all",
                  nullptr,
                  "path-entropy.polarised",
                  {},
                  {},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"EcmpCollision",
                  "two flows hashed on one of two uplinks",
                  std::string(WEFT_SOURCE_DIR) + "/labs/fabric/ecmp-collision.yaml",
                  "leaf0:swp31,leaf0:swp32",
                  nullptr,
                  "path-entropy.collision",
                  {},
                  {"pause.share"},
                  {"workloads[pairs].size=2 MB", "expect={}"},
                  "",
                  "--snaplen '128 B'"});
  return rows;
}

}  // namespace weft::planted
