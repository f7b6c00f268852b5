// What is left: migreq, counters, connection-setup, capture, and the contract of a lab.
#include <algorithm>

#include "analyze/planted_case.h"
#include "wire/cm_mad.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

using wire::Opcode;
using wire::RoceHeaders;

// Communication management between the two ends of the lab's first connection.
struct Handshake {
  RoceHeaders to_server, to_client;
  wire::CmReq request;
  wire::CmRep reply;
  std::int64_t time_ns = 0;
};

void add_mad(EditableCapture& capture, RoceHeaders headers, const wire::CmMessage& message, std::int64_t time_ns,
             bool outbound) {
  headers.opcode = Opcode::kUdSendOnly;
  headers.dest_qp = headers.src_qp = wire::kGeneralServicesQp;
  headers.qkey = wire::kGeneralServicesQkey;
  headers.ack_req = false;
  headers.psn = static_cast<std::uint32_t>(time_ns / 1000 % 1000);
  const wire::Mad mad = wire::build_cm_mad(message);
  Record record{time_ns, 0, outbound, {}, 0};
  record.bytes.resize(wire::roce_frame_size_B(headers, mad.size()));
  wire::build_roce_frame(headers, mad, record.bytes);
  capture.insert(std::move(record));
}

// Queue pairs and starting PSNs as the capture has them.
Handshake handshake_of(const EditableCapture& capture) {
  Handshake cm;
  cm.to_server = capture.frame(capture.find_nth(is_data_request)).headers;
  cm.to_client = capture.frame(capture.find_nth(is_positive_ack)).headers;
  cm.time_ns = capture.records.front().time_ns - 1'000'000;
  cm.request.local_comm_id = 0x11;
  cm.request.service_id = wire::ip_service_id(wire::kTcpPortSpace, 7471);
  cm.request.qpn = cm.to_client.dest_qp;
  cm.request.starting_psn = 0x123456;
  cm.request.retry_count = 7;
  cm.request.rnr_retry_count = 7;
  cm.request.path_mtu = 5;
  cm.request.max_retries = 15;
  cm.request.remote_response_timeout = cm.request.local_response_timeout = 20;  // 4.3 s
  cm.request.path.ack_timeout = 14;
  cm.request.responder_resources = cm.request.initiator_depth = 16;
  cm.reply.local_comm_id = 0x22;
  cm.reply.remote_comm_id = 0x11;
  cm.reply.qpn = cm.to_server.dest_qp;
  cm.reply.starting_psn = cm.to_server.psn;
  return cm;
}

void add_handshake(EditableCapture& capture, const Handshake& cm) {
  add_mad(capture, cm.to_server, {7, cm.request}, cm.time_ns, true);
  add_mad(capture, cm.to_client, {7, cm.reply}, cm.time_ns + 100'000, false);
  wire::CmRtu rtu;
  rtu.local_comm_id = 0x11;
  rtu.remote_comm_id = 0x22;
  add_mad(capture, cm.to_server, {7, rtu}, cm.time_ns + 200'000, true);
}

void rejected(EditableCapture& capture) {
  Handshake cm = handshake_of(capture);
  cm.request.qpn = 0x777;  // another connection than the one that works
  add_mad(capture, cm.to_server, {9, cm.request}, cm.time_ns, true);
  wire::CmRej reject;
  reject.remote_comm_id = 0x11;
  reject.reason = static_cast<std::uint16_t>(wire::CmReason::kInvalidServiceId);
  add_mad(capture, cm.to_client, {9, reject}, cm.time_ns + 100'000, false);
}

void unanswered(EditableCapture& capture) {
  Handshake cm = handshake_of(capture);
  cm.request.qpn = 0x777;
  for (int n = 0; n < 8; ++n) add_mad(capture, cm.to_server, {9, cm.request}, cm.time_ns - n * 4'000'000'000LL, true);
}

// A REQ that is retransmitted every 100 ms, until the server answers.
void impatient(EditableCapture& capture) {
  const Handshake cm = handshake_of(capture);
  for (int n = 1; n < 5; ++n) add_mad(capture, cm.to_server, {7, cm.request}, cm.time_ns - n * 100'000'000LL, true);
  add_handshake(capture, cm);
}

void other_psn(EditableCapture& capture) {
  Handshake cm = handshake_of(capture);
  cm.reply.starting_psn = (cm.reply.starting_psn + 4711) & 0xffffff;
  add_handshake(capture, cm);
}

void smaller_mtu(EditableCapture& capture) {
  Handshake cm = handshake_of(capture);
  cm.request.path_mtu = 3;  // 1024 B; the messages are cut at 4096 B
  add_handshake(capture, cm);
}

// Captured frames that are not in the file: what a mirror port drops.
void mirror_loss(EditableCapture& capture) {
  for (int n : {30, 20, 10})
    capture.erase(capture.find_nth(is_opcode(Opcode::kWriteMiddle), static_cast<std::size_t>(n)));
}

void clock_steps_back(EditableCapture& capture) {
  for (std::size_t i = capture.records.size() / 2; i < capture.records.size(); ++i)
    capture.records[i].time_ns -= 20'000;
}

void cut_within_record(std::vector<std::uint8_t>& file) {
  file.resize(file.size() - 100);
}

// Of the block in the middle of the file: a length that is no multiple of four.
void wrong_record_length(std::vector<std::uint8_t>& file) {
  std::size_t at = 0;
  while (at < file.size() / 2) at += wire::le32(wire::Bytes(file), at + 4);
  wire::put_le32(wire::MutableBytes(file), at + 4, 7);
}

}  // namespace

void add_healthy_handshake(EditableCapture& capture) {
  add_handshake(capture, handshake_of(capture));
}

std::vector<PlantedCase> other_faults() {
  PairLab contract;
  contract.qos = "dscp: 26, priority: 3, ecn: true, cnp_dscp: 48, cnp_priority: 6";
  PairLab mixed = contract, tagged = contract;
  mixed.server_model = "e810-100g";
  tagged.port_extra = ", vlan: 42";
  const std::string writes = pair_lab(transfer("write, size: 16 KiB, count: 20"), contract);
  const std::string both =
      "workloads:\n"
      "  - {name: a, client: node00, server: node01, transfer: write, size: 16 KiB, count: 20}\n"
      "  - {name: b, client: node01, server: node00, transfer: write, size: 16 KiB, count: 20}\n";
  const std::string with_lab = "--lab $LAB";
  const std::string incast =
      "qos: {profile: roce-lossless, queues: {3: {ecn: off}, 4: {ecn: off}}, groups: {3: {alpha: -3}}}\n"
      "workloads:\n  - {name: in, flows: incast, hosts: all, to: h0, size: 4 MB}\n";

  std::vector<PlantedCase> rows;
  rows.push_back(
      {"MigReqMix", "ConnectX-5 and E810: MigReq 1 and 0", pair_lab(both, mixed), "node00:p0", nullptr, "migreq.mix"});
  rows.push_back({"StuckCounter",
                  "a NIC whose np_cnp_sent stays 0",
                  pair_lab("faults:\n  - {link: \"node00:p0\", action: ce-mark, frames: request, probability: 2 %}\n" +
                               transfer("write, size: 64 KiB, count: 100"),
                           contract),
                  "node01:p0",
                  nullptr,
                  "counters.differ",
                  {},
                  {},
                  {},
                  "--counters 10.0.0.2=$OUT/counters.txt"});
  rows.back().counters = "np_ecn_marked_roce_packets: 35\nnp_cnp_sent: 0\n";
  rows.push_back({"CmRejected", "a connection request that is rejected", writes, "node00:p0", rejected,
                  "connection-setup.rejected"});
  rows.push_back({"CmNoAnswer", "a connection request that nothing answers", writes, "node00:p0", unanswered,
                  "connection-setup.no-answer"});
  rows.push_back({"CmImpatient", "a connection request that is retransmitted every 100 ms though its timeout is 4.3 s",
                  writes, "node00:p0", impatient, "connection-setup.retry"});
  rows.push_back({"CmOtherPsn", "packets that do not begin with the PSN of the handshake", writes, "node00:p0",
                  other_psn, "connection-setup.mismatch"});
  rows.push_back({"CmSmallerMtu", "packets larger than the path MTU of the handshake", writes, "node00:p0", smaller_mtu,
                  "connection-setup.mismatch"});
  rows.push_back({"MirrorLoss", "frames that a mirror port dropped", writes, "node00:p0", mirror_loss, "capture.lost"});
  rows.push_back(
      {"ClockStepsBack", "time stamps that go back by 20 us", writes, "node00:p0", clock_steps_back, "capture.order"});
  rows.push_back({"CutFile", "a file that ends within a record", writes, "node00:p0", nullptr, "capture.cut"});
  rows.back().edit_file = cut_within_record;
  rows.push_back(
      {"DamagedFile", "a record whose length cannot be right", writes, "node00:p0", nullptr, "capture.damaged"});
  rows.back().edit_file = wrong_record_length;
  rows.push_back({"ContractDscp",
                  "a host that sends DSCP 0 in place of 26",
                  writes,
                  "node00:p0",
                  nullptr,
                  "contract.dscp",
                  {},
                  {"traffic-class.wrong"},
                  {"nodes.node00.qos={dscp: 0, priority: 0}"},
                  with_lab});
  rows.push_back({"ContractPriority",
                  "a host that tags with priority 0 in place of 3",
                  pair_lab(transfer("write, size: 16 KiB, count: 20"), tagged),
                  "node00:p0",
                  nullptr,
                  "contract.priority",
                  {},
                  {"traffic-class.wrong"},
                  {"nodes.node00.qos={priority: 0}"},
                  with_lab});
  rows.push_back({"ContractEcn",
                  "a host that does not send ECT",
                  writes,
                  "node00:p0",
                  nullptr,
                  "contract.ecn",
                  {},
                  {"traffic-class.not-ect"},
                  {"nodes.node00.qos={ecn: false}"},
                  with_lab});
  rows.push_back({"ContractMtu",
                  "ports with an MTU of 1500 in place of 4200",
                  writes,
                  "node00:p0",
                  nullptr,
                  "contract.mtu",
                  {},
                  {},
                  {"nodes.node00.nics[0].ports.p0.mtu=1500 B", "nodes.node01.nics[0].ports.p0.mtu=1500 B"},
                  with_lab});
  rows.push_back({"ContractPauseClass",
                  "pauses of priority 4, which the lab does not make lossless",
                  switch_lab(5, incast),
                  "h1:p0",
                  nullptr,
                  "contract.pause-class",
                  {},
                  {"contract.dscp", "pause.share"},
                  {"qos={profile: roce-lossless, priority: 4, dscp_to_priority: {26: 4}, pfc: {priorities: [4]}, "
                   "queues: {4: {ecn: off}}, "
                   "priority_to_queue: {4: 4}, priority_to_group: {4: 4}, groups: {4: {alpha: -3}}}"},
                  with_lab,
                  "--snaplen '128 B'"});
  rows.push_back({"ContractUnknownFlow",
                  "hosts with addresses that the lab does not have",
                  writes,
                  "node00:p0",
                  nullptr,
                  "contract.unknown-flow",
                  {},
                  {},
                  {"nodes.node00.nics[0].ports.p0.address=10.0.0.77/24"},
                  with_lab});
  return rows;
}

}  // namespace weft::planted
