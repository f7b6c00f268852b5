// Packets that are lost, duplicated, late or retransmitted: psn, timeout, recovery, read-response, nak-latency,
// livelock.
#include "analyze/planted_case.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

using wire::Opcode;
using wire::RoceFrame;
using wire::RoceHeaders;

std::string faulty(const std::string& fault, const std::string& what, const PairLab& pair = {}) {
  return pair_lab("faults:\n  - {link: \"node00:p0\", " + fault + "}\n" + transfer(what), pair);
}

std::string lost_packet(const PairLab& pair = {}) {
  return faulty("action: drop, frames: request, qp: 0, psn: 5, transmission: 1", "write, size: 16 KiB, count: 10",
                pair);
}

// The requester never sends the packet that the responder asks for, and goes on with the others.
void psn_never_sent(EditableCapture& capture) {
  const std::size_t nak = capture.find_nth(is_nak);
  const std::uint32_t missing = capture.frame(nak).headers.psn;
  capture.delay_from(nak + 1, 200'000);
  for (std::size_t at = capture.records.size(); at-- > 0;) {
    const RoceHeaders headers = capture.frame(at).headers;
    const bool is_answer = !wire::is_request(headers.opcode);
    if (is_answer ? at > nak : headers.psn == missing) capture.erase(at);
  }
}

// After the NAK the whole message is retransmitted, from its FIRST on.
void restart_message(EditableCapture& capture) {
  const std::size_t nak = capture.find_nth(is_nak);
  const std::uint32_t lost = capture.frame(nak).headers.psn;
  std::size_t again = nak;
  for (std::size_t at : capture.find([&](const RoceFrame& each) { return each.headers.psn == lost; }))
    if (at > nak && is_data_request(capture.frame(at))) again = again == nak ? at : again;
  const std::int64_t until_ns = capture.records[again].time_ns;
  const std::size_t first = capture.find_nth(is_opcode(Opcode::kWriteFirst), lost % 4 == 0 ? 0 : 1);
  std::vector<Record> copies;
  for (std::size_t at = first; capture.frame(at).headers.psn != lost; ++at) copies.push_back(capture.records[at]);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    copies[i].time_ns = until_ns - static_cast<std::int64_t>(copies.size() - i) * 340;
    capture.insert(copies[i]);
  }
}

// The message of the first pass, over and over: each pass ends with the NAK, and begins with FIRST again.
void endless_restarts(EditableCapture& capture) {
  const std::size_t nak = capture.find_nth(is_nak);
  const std::vector<Record> pass(capture.records.begin(),
                                 capture.records.begin() + static_cast<std::ptrdiff_t>(nak) + 1);
  const std::int64_t period_ns = pass.back().time_ns - pass.front().time_ns + 5000;
  capture.records.clear();
  for (int n = 0; n < 60; ++n) {
    for (Record each : pass) {
      each.time_ns += n * period_ns;
      capture.records.push_back(std::move(each));
    }
  }
}

// Retransmissions at times that fit no power of two and no constant.
void odd_timeouts(EditableCapture& capture) {
  const std::int64_t at_ms[] = {0, 3, 40, 47, 200, 230, 700, 705, 1900, 1960, 4000};
  const std::int64_t start_ns = capture.records.front().time_ns;
  for (std::size_t i = 0; i < capture.records.size(); ++i)
    capture.records[i].time_ns =
        start_ns + (i < std::size(at_ms) ? at_ms[i] : 4000 + static_cast<std::int64_t>(i * i) * 37) * 1'000'000;
}

// A message that was acknowledged is retransmitted 5 us later: neither NAK nor timeout asks for it.
void repeat_acknowledged(EditableCapture& capture) {
  const std::size_t ack = capture.find_nth(is_positive_ack, 4);
  const std::uint32_t last = capture.frame(ack).headers.psn;
  const std::int64_t from_ns = capture.records[ack].time_ns + 5'000;
  std::vector<Record> copies;
  for (std::size_t at : capture.find(is_data_request))
    if (at < ack && last - capture.frame(at).headers.psn < 4) copies.push_back(capture.records[at]);
  capture.delay_from(ack + 1, 10'000);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    copies[i].time_ns = from_ns + static_cast<std::int64_t>(i) * 340;
    capture.insert(copies[i]);
  }
}

void wrong_response_opcode(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kReadResponseLast), 3),
                  [](RoceHeaders& headers) { headers.opcode = Opcode::kReadResponseMiddle; });
}

void mirrored_copies(EditableCapture& capture) {
  capture.mirror_twice(1'900);
}

void leave_out_response(EditableCapture& capture) {
  capture.erase(capture.find_nth(is_opcode(Opcode::kReadResponseMiddle), 9));
}

void leave_out_read_request(EditableCapture& capture) {
  capture.erase(capture.find_nth(is_opcode(Opcode::kReadRequest), 3));
}

void short_read_request(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kReadRequest), 3),
                  [](RoceHeaders& headers) { headers.dma_len = 8 * 1024; });
}

}  // namespace

std::vector<PlantedCase> loss_faults() {
  PairLab formula;  // a NIC whose timeouts are those of the standard
  formula.model = "e810-100g";
  PairLab slow_nak, slow_reaction, selective;
  slow_nak.set = "nak_generation: 2 ms";
  slow_reaction.set = "nak_reaction: 5 ms";
  selective.set = "selective_repeat: true";
  std::string far = pair_lab(transfer("write, size: 4 KiB, count: 10, depth: 1, timeout: 3"), formula);
  const std::string cable = "{kind: dac, length: 1 m}";
  far.replace(far.find(cable), cable.size(), "{kind: fibre, length: 10 km}");
  const std::string lost = lost_packet();
  const std::string small_port = "nodes: {leaf0: {ports: {swp2: {mtu: 1500 B}}}}\n";
  const std::string one = "write, size: 4 KiB, count: 3, depth: 1, timeout: 10";
  const std::string read = "read, size: 16 KiB, count: 10";

  std::vector<PlantedCase> rows;
  rows.push_back(
      {"LossSeenAtSender", "one packet dropped, captured at the sender", lost, "node00:p0", nullptr, "psn.lost"});
  rows.push_back(
      {"LossSeenAtReceiver", "one packet dropped, captured at the receiver", lost, "node01:p0", nullptr, "psn.lost"});
  rows.push_back({"LossSeenAtBothEnds", "one packet dropped, captured at both ends", lost, "all", nullptr, "psn.lost"});
  rows.push_back({"LossMirroredTwice", "one packet dropped, in a capture that holds each frame twice", lost,
                  "node01:p0", mirrored_copies, "psn.lost"});
  rows.push_back({"RandomLoss",
                  "one packet in a hundred dropped",
                  faulty("action: drop, frames: request, probability: 1 %", "write, size: 64 KiB, count: 40"),
                  "all",
                  nullptr,
                  "psn.lost",
                  {},
                  {"timeout.waited"}});
  rows.push_back({"TailLoss",
                  "the last packet of a message dropped: no NAK",
                  faulty("action: drop, frames: request, qp: 0, psn: 1, transmission: 1", one, formula),
                  "all",
                  nullptr,
                  "psn.lost",
                  {"timeout.waited"}});
  rows.push_back({"TailLossSeenAtSender",
                  "the same, captured at the sender alone",
                  faulty("action: drop, frames: request, qp: 0, psn: 1, transmission: 1", one, formula),
                  "node00:p0",
                  nullptr,
                  "timeout.waited",
                  {},
                  {"psn.lost"}});
  rows.push_back(
      {"LostAck",
       "an ACK dropped",
       faulty("both_directions: true, action: drop, frames: response, psn: 1, transmission: 1", one, formula),
       "all",
       nullptr,
       "psn.lost",
       {"timeout.waited"}});
  rows.push_back({"Duplicate", "a packet duplicated on the way",
                  faulty("action: duplicate, delay: 1 us, frames: request, qp: 0, psn: 5, transmission: 1",
                         "write, size: 16 KiB, count: 10"),
                  "node01:p0", nullptr, "psn.duplicate"});
  rows.push_back({"Reordered",
                  "a packet overtaken by others",
                  faulty("action: delay, delay: 3 us, frames: request, qp: 0, psn: 5, transmission: 1",
                         "write, size: 16 KiB, count: 10"),
                  "node01:p0",
                  nullptr,
                  "psn.reordered",
                  {},
                  {"psn.spurious", "psn.duplicate"}});
  const std::string late = faulty("action: delay, delay: 50 us, frames: request, qp: 0, psn: 5, transmission: 1",
                                  "write, size: 16 KiB, count: 10");
  rows.push_back({"LateBehindItsNak", "a packet that comes 50 us late, behind what its NAK brought", late, "all",
                  nullptr, "psn.reordered"});
  rows.push_back(
      {"LateSeenAtReceiver", "the same, captured at the receiver alone", late, "node01:p0", nullptr, "psn.reordered"});
  rows.push_back({"LostAgain",
                  "four packets in a hundred dropped, retransmissions among them, captured at the receiver",
                  faulty("action: drop, frames: request, probability: 4 %",
                         "write, size: 64 KiB, count: 60, timeout: 10", formula),
                  "node01:p0",
                  nullptr,
                  "psn.lost",
                  {},
                  {"timeout.waited"}});
  rows.push_back({"PsnNeverSent",
                  "a PSN that was never sent, though the responder asks for it",
                  lost,
                  "node00:p0",
                  psn_never_sent,
                  "psn.gap",
                  {},
                  {"psn.spurious"}});
  rows.push_back({"LossSelectiveRepeat",
                  "one packet dropped, NICs with selective repeat",
                  lost_packet(selective),
                  "all",
                  nullptr,
                  "psn.lost",
                  {"recovery.selective"}});
  rows.push_back({"GoBackZero",
                  "a loss after which the message starts over",
                  lost,
                  "node00:p0",
                  restart_message,
                  "psn.lost",
                  {"recovery.go-back-0"},
                  {"psn.spurious"}});
  rows.push_back({"SlowNak",
                  "a loss, and a NIC that takes 2 ms to send the NAK",
                  lost_packet(slow_nak),
                  "node01:p0",
                  nullptr,
                  "psn.lost",
                  {"nak-latency.generation"}});
  rows.push_back({"SlowReaction",
                  "a loss, and a NIC that takes 5 ms to react to the NAK",
                  lost_packet(slow_reaction),
                  "node00:p0",
                  nullptr,
                  "psn.lost",
                  {"nak-latency.reaction"}});
  rows.push_back({"TimeoutBelowRoundTrip",
                  "ACK timeout 3 (33 us) on 10 km of fibre",
                  far,
                  "node00:p0",
                  nullptr,
                  "timeout.waited",
                  {},
                  {"psn.spurious"}});
  rows.push_back({"LongTimeout",
                  "ACK timeout 20 (4.3 s) and a lost packet",
                  faulty("action: drop, frames: request, qp: 0, psn: 1, transmission: 1",
                         "write, size: 4 KiB, count: 3, depth: 1, timeout: 20", formula),
                  "all",
                  nullptr,
                  "psn.lost",
                  {"timeout.waited"}});
  rows.push_back(
      {"DeadPeer",
       "a peer whose queue pair is gone (ConnectX-6)",
       pair_lab(transfer("write, size: 4 KiB, timeout: 14, retry_cnt: 7, misuse: dead-peer"), {.model = "cx6-200g"}),
       "node00:p0",
       nullptr,
       "timeout.retries-exhausted",
       {},
       {"timeout.waited", "psn.lost"}});
  rows.push_back({"DeadPeerFormula",
                  "a peer whose queue pair is gone (E810)",
                  pair_lab(transfer("write, size: 4 KiB, timeout: 8, retry_cnt: 7, misuse: dead-peer"), formula),
                  "all",
                  nullptr,
                  "timeout.retries-exhausted",
                  {},
                  {"timeout.waited", "psn.lost"}});
  rows.push_back(
      {"OddTimeouts",
       "retransmissions at times that no timeout gives",
       pair_lab(transfer("write, size: 4 KiB, timeout: 14, retry_cnt: 7, misuse: dead-peer"), {.model = "cx6-200g"}),
       "node00:p0",
       odd_timeouts,
       "timeout.retries-exhausted",
       {"timeout.interval"},
       {"timeout.waited", "psn.lost"}});
  rows.push_back({"RepeatedForNothing", "a message retransmitted though it was acknowledged",
                  pair_lab(transfer("write, size: 16 KiB, count: 10, depth: 1")), "node00:p0", repeat_acknowledged,
                  "psn.spurious"});
  rows.push_back(
      {"MtuBlackHole",
       "a switch port with an MTU of 1500 B: large packets alone are lost",
       switch_lab(
           2, small_port +
                  "workloads:\n"
                  "  - {name: small, client: h0, server: h1, transfer: send, size: 512 B, count: 400, start: 0 s}\n"
                  "  - {name: large, client: h0, server: h1, transfer: write, size: 64 KiB, count: 2, start: 20 us}\n"),
       "h0:p0,h1:p0",
       nullptr,
       "psn.mtu",
       {"timeout.retries-exhausted"}});
  rows.push_back(
      {"MtuBlackHoleRead",
       "the same for READ responses",
       switch_lab(
           2, small_port +
                  "workloads:\n"
                  "  - {name: small, client: h1, server: h0, transfer: read, size: 512 B, count: 400, start: 0 s}\n"
                  "  - {name: large, client: h1, server: h0, transfer: read, size: 64 KiB, count: 2, start: 20 us}\n"),
       "h0:p0,h1:p0",
       nullptr,
       "psn.mtu",
       {"timeout.retries-exhausted"}});
  const std::string many = "write, size: 64 KiB, count: 200";
  rows.push_back({"LinkOutage",
                  "a link down for 20 ms",
                  faulty("both_directions: true, action: cut, start: 300 us, end: 20 ms", many),
                  "all",
                  nullptr,
                  "psn.outage",
                  {"timeout.waited"}});
  rows.push_back({"ShortLinkOutage", "a link down for 40 us, and a NAK behind it",
                  faulty("both_directions: true, action: cut, start: 300 us, end: 340 us", many), "all", nullptr,
                  "psn.outage"});
  rows.push_back({"LinkDown",
                  "a link that goes down and stays so",
                  faulty("both_directions: true, action: cut, start: 300 us, end: 100 s", many),
                  "all",
                  nullptr,
                  "psn.outage",
                  {"timeout.retries-exhausted"}});
  rows.push_back({"LostReadResponse",
                  "a READ response dropped",
                  pair_lab("faults:\n  - {link: \"node01:p0\", action: drop, frames: response, qp: 0, psn: 5, "
                           "transmission: 1}\n" +
                           transfer(read)),
                  "all",
                  nullptr,
                  "read-response.lost",
                  {},
                  {"psn.lost", "psn.spurious"}});
  rows.push_back({"ReadResponseNotCaptured", "a READ response that the capture misses", pair_lab(transfer(read)),
                  "node00:p0", leave_out_response, "capture.lost"});
  rows.push_back({"ReadRequestNotCaptured", "a READ request that the capture misses", pair_lab(transfer(read)),
                  "node01:p0", leave_out_read_request, "capture.lost"});
  rows.push_back({"ReadResponseOpcode",
                  "a READ response that ends with MIDDLE",
                  pair_lab(transfer(read)),
                  "node01:p0",
                  wrong_response_opcode,
                  "read-response.broken",
                  {},
                  {"opcode-sequence.broken"}});
  rows.push_back({"ReadTooMuch",
                  "more READ responses than the request asks for",
                  pair_lab(transfer(read)),
                  "node01:p0",
                  short_read_request,
                  "read-response.broken",
                  {},
                  {"message-length.reth", "psn.gap"}});
  rows.push_back({"Livelock",
                  "a message of 1 MB that starts over at every loss and never completes",
                  faulty("action: drop, frames: request, qp: 0, psn: 60, transmission: 1",
                         "write, size: 1 MiB, count: 1", {.mtu_B = 1500}),
                  "node00:p0",
                  endless_restarts,
                  "livelock.no-progress",
                  {},
                  {"psn.lost", "recovery.go-back-0", "psn.spurious", "nak.repeated", "timeout.retries-exhausted"}});
  return rows;
}

}  // namespace weft::planted
