// What the responder answers, and what it should not: nak, ack, msn, credits, rnr.
#include "analyze/planted_case.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

using wire::Opcode;
using wire::RoceFrame;
using wire::RoceHeaders;

void operational_error(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_nak), [](RoceHeaders& headers) { headers.aeth_syndrome = 0x63; });
}

// Of NAK codes 5 to 31, and of kinds of answers 2 and, with bit 7, all (IBTA vol 1, 9.7.5.2.4).
void reserved_nak_code(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_nak), [](RoceHeaders& headers) { headers.aeth_syndrome = 0x67; });
}

void reserved_syndrome(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_positive_ack, 4), [](RoceHeaders& headers) { headers.aeth_syndrome = 0x5f; });
  capture.rewrite(capture.find_nth(is_positive_ack, 5), [](RoceHeaders& headers) { headers.aeth_syndrome = 0x9f; });
}

void second_nak(EditableCapture& capture) {
  capture.insert_copy(capture.find_nth(is_nak), 200);
}

// A sequence NAK of a packet that was acknowledged.
void nak_below_acked(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_positive_ack, 6);
  const std::uint32_t old = capture.frame(capture.find_nth(is_positive_ack, 2)).headers.psn;
  capture.rewrite(at, [old](RoceHeaders& headers) {
    headers.aeth_syndrome = 0x60;
    headers.psn = old;
  });
}

void nak_of_unsent(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_nak), [](RoceHeaders& headers) { headers.psn += 1000; });
}

void ack_backwards(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_positive_ack, 6);
  const RoceHeaders old = capture.frame(capture.find_nth(is_positive_ack, 2)).headers;
  capture.rewrite(at, [&old](RoceHeaders& headers) {
    headers.psn = old.psn;
    headers.msn = old.msn;
  });
}

void ack_of_unsent(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_positive_ack, 5), [](RoceHeaders& headers) { headers.psn += 1000; });
}

// The first connection ends without the ACK that its last packet asks for.
void ack_missing(EditableCapture& capture) {
  const std::size_t first = capture.find_nth(is_positive_ack);
  const std::uint32_t qp = capture.frame(first).headers.dest_qp;
  std::size_t last = first;
  for (std::size_t at : capture.find(is_positive_ack))
    if (capture.frame(at).headers.dest_qp == qp) last = at;
  capture.erase(last);
}

void msn_ahead(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_positive_ack, 5), [](RoceHeaders& headers) { headers.msn += 5; });
}

void msn_stuck(EditableCapture& capture) {
  const std::uint32_t msn = capture.frame(capture.find_nth(is_positive_ack, 3)).headers.msn;
  for (std::size_t at : capture.find(is_positive_ack))
    if (capture.frame(at).headers.msn > msn) capture.rewrite(at, [msn](RoceHeaders& headers) { headers.msn = msn; });
}

// No credit from the third answer on, and the sender goes on all the same.
void no_credit(EditableCapture& capture) {
  const std::vector<std::size_t> acks = capture.find(is_positive_ack);
  for (std::size_t i = 2; i < acks.size(); ++i)
    capture.rewrite(acks[i], [](RoceHeaders& headers) { headers.aeth_syndrome = 0; });
}

bool is_rnr_nak(const RoceFrame& frame) {
  return frame.headers.opcode == Opcode::kAck && (frame.headers.aeth_syndrome & 0x60) == 0x20;
}

// What follows an RNR NAK comes 600 us earlier than the timer (655 us and more) allows.
void early_after_rnr(EditableCapture& capture) {
  capture.delay_from(capture.find_nth(is_rnr_nak) + 1, -600'000);
}

}  // namespace

std::vector<PlantedCase> answer_faults() {
  const std::string writes = pair_lab(transfer("write, size: 4 KiB, count: 20, depth: 2"));
  const std::string sends = pair_lab(transfer("send, size: 1000 B, count: 20, depth: 1"));
  const std::string lost =
      pair_lab("faults:\n  - {link: \"node00:p0\", action: drop, frames: request, qp: 0, psn: 5, transmission: 1}\n" +
               transfer("write, size: 16 KiB, count: 10"));
  const std::string misuse = "write, size: 4 KiB, misuse: ";
  const std::string two =
      "workloads:\n"
      "  - {name: a, client: node00, server: node01, transfer: write, size: 4 KiB, count: 5, start: 0 s}\n"
      "  - {name: b, client: node00, server: node01, transfer: write, size: 4 KiB, count: 5, start: 8 s}\n";
  const std::string never =
      "workloads:\n"
      "  - {name: a, client: node00, server: node01, transfer: send, size: 4 KiB, misuse: no-receive, rnr_retry: 2, "
      "start: 0 s}\n"
      "  - {name: b, client: node00, server: node01, transfer: write, size: 4 KiB, count: 5, start: 50 ms}\n";
  PairLab credits;
  credits.set = "end_to_end_credits: true";
  const std::string slow_receiver =
      pair_lab(transfer("send, size: 4 KiB, count: 10, depth: 1, receive_delay: 100 us, rnr_retry: 7"));

  std::vector<PlantedCase> rows;
  rows.push_back({"WrongRkey", "a WRITE with a wrong R_Key", pair_lab(transfer(misuse + "wrong-rkey")), "node00:p0",
                  nullptr, "nak.remote-access"});
  rows.push_back({"BeyondRegion", "a WRITE beyond the end of the memory region",
                  pair_lab(transfer(misuse + "beyond-region")), "all", nullptr, "nak.remote-access"});
  rows.push_back({"NoRemoteWrite", "a WRITE to a queue pair that does not permit it",
                  pair_lab(transfer(misuse + "no-remote-write")), "node00:p0", nullptr, "nak.invalid-request"});
  rows.push_back({"OperationalError", "a NAK with code 3", pair_lab(transfer(misuse + "wrong-rkey")), "node00:p0",
                  operational_error, "nak.remote-operational"});
  rows.push_back({"ReservedNakCode", "a NAK with code 7, which is reserved", pair_lab(transfer(misuse + "wrong-rkey")),
                  "node00:p0", reserved_nak_code, "nak.reserved"});
  rows.push_back(
      {"ReservedSyndrome", "ACKs whose AETH syndrome is reserved", writes, "all", reserved_syndrome, "nak.reserved"});
  rows.push_back({"SecondNak", "two NAKs for one gap", lost, "node01:p0", second_nak, "psn.lost", {"nak.repeated"}});
  rows.push_back({"NakBelowAcked",
                  "a NAK of a packet that was acknowledged",
                  writes,
                  "node01:p0",
                  nak_below_acked,
                  "nak.psn",
                  {},
                  {"ack.missing"}});
  rows.push_back({"NakOfUnsent",
                  "a NAK of a packet that was not sent",
                  lost,
                  "node01:p0",
                  nak_of_unsent,
                  "psn.lost",
                  {"nak.psn"},
                  {"psn.spurious"},
                  {}});
  rows.push_back({"AckBackwards",
                  "an ACK older than the one before",
                  writes,
                  "node01:p0",
                  ack_backwards,
                  "ack.backwards",
                  {},
                  {"msn.wrong", "ack.missing"}});
  rows.push_back({"AckOfUnsent",
                  "an ACK of a packet that was not sent",
                  writes,
                  "node01:p0",
                  ack_of_unsent,
                  "ack.unsent",
                  {},
                  {"ack.backwards"}});
  rows.push_back({"AckMissing", "the last ACK of a connection is not sent, and the requester waits", pair_lab(two),
                  "node01:p0", ack_missing, "ack.missing"});
  rows.push_back({"MsnAhead", "an ACK whose MSN is 5 too high", writes, "node01:p0", msn_ahead, "msn.wrong"});
  rows.push_back({"MsnStuck", "an MSN that stops counting", writes, "node01:p0", msn_stuck, "msn.wrong"});
  rows.push_back({"NoCredit", "SENDs beyond the credit limit",
                  pair_lab(transfer("send, size: 1000 B, count: 60, depth: 8"), credits), "node00:p0", no_credit,
                  "credits.exceeded"});
  rows.push_back(
      {"NoReceive", "a server that posts receives 100 us late", slow_receiver, "node00:p0", nullptr, "rnr.no-receive"});
  rows.push_back({"RnrExhausted",
                  "a server that never posts a receive, rnr_retry 2",
                  pair_lab(never),
                  "node00:p0",
                  nullptr,
                  "rnr.exhausted",
                  {},
                  {"rnr.no-receive"}});
  rows.push_back({"EarlyAfterRnr",
                  "a SEND repeated before the RNR timer has passed",
                  slow_receiver,
                  "node00:p0",
                  early_after_rnr,
                  "rnr.early",
                  {},
                  {"rnr.no-receive"}});
  return rows;
}

std::vector<PlantedCase> transport_faults() {
  std::vector<PlantedCase> all;
  for (auto* rows : {integrity_faults, loss_faults, answer_faults}) {
    for (PlantedCase& each : rows()) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace weft::planted
