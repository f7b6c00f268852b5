// Frames and messages that are wrong in themselves: integrity, opcode-sequence, message-length.
#include "analyze/planted_case.h"
#include "wire/bytes.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

using wire::Opcode;
using wire::RoceHeaders;

// Ten messages of four packets.
const std::string& writes_lab() {
  static const std::string lab = pair_lab(transfer("write, size: 16 KiB, count: 10"));
  return lab;
}

void wrong_udp_length(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_opcode(Opcode::kWriteMiddle), 3);
  capture.byte(at, kUdpAt + 5) = static_cast<std::uint8_t>(capture.byte(at, kUdpAt + 5) - 8);
  capture.refresh(at);
}

void pad_in_middle(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_opcode(Opcode::kWriteMiddle), 3);
  capture.byte(at, kBthAt + 1) |= 2 << 4;
  capture.refresh(at);
}

// 999 bytes of payload, which PadCnt 0 leaves as they are.
void not_padded(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_opcode(Opcode::kWriteOnly), 3);
  capture.rewrite(at, [](RoceHeaders& headers) { --headers.dma_len; });
  std::vector<std::uint8_t>& bytes = capture.records[at].bytes;
  bytes.pop_back();
  for (const std::size_t length_at : {kIpAt + 2, kUdpAt + 4})
    wire::put_be16(bytes, length_at, static_cast<std::uint16_t>(wire::be16(bytes, length_at) - 1));
  capture.refresh(at);
}

// Sent beside the others: a receiver discards it.
void reserved_opcode(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_opcode(Opcode::kWriteOnly), 3);
  capture.insert_copy(at, 50);
  capture.byte(at + 1, kBthAt) = 0x1f;
  capture.refresh(at + 1);
}

// RoCE over IPv4 has none (0): a wrong one is put in, and the ICRC, which leaves it out, is right.
void wrong_udp_checksum(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_opcode(Opcode::kWriteLast)))
    wire::put_be16(capture.records[at].bytes, kUdpAt + 6, 0x1234);
}

void p_key_changes(EditableCapture& capture) {
  const std::size_t from = capture.find_nth(is_opcode(Opcode::kWriteFirst), 6);
  for (std::size_t at : capture.find(is_data_request))
    if (at >= from) capture.rewrite(at, [](RoceHeaders& headers) { headers.p_key = 0x8123; });
}

void p_key_of_answers(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_positive_ack))
    capture.rewrite(at, [](RoceHeaders& headers) { headers.p_key = 0x8001; });
}

void psn_top_bit(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kWriteMiddle), 7),
                  [](RoceHeaders& headers) { headers.psn ^= 0x800000; });
}

void psn_top_bit_of_first(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kWriteFirst), 4),
                  [](RoceHeaders& headers) { headers.psn ^= 0x800000; });
}

void macs_alternate(EditableCapture& capture) {
  std::size_t n = 0;
  for (std::size_t at : capture.find(is_data_request))
    if (++n % 2 == 0) capture.rewrite(at, [](RoceHeaders& headers) { headers.src_mac[5] ^= 0x40; });
}

void wrong_ip_checksum(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_opcode(Opcode::kWriteLast))) capture.byte(at, kIpAt + 10) ^= 0x55;
}

void fragment(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_opcode(Opcode::kWriteMiddle), 3);
  capture.byte(at, kIpAt + 6) = 0x20;  // more fragments
  capture.refresh(at);
}

// A message whose second packet is four bytes short; the RETH agrees.
void short_middle(EditableCapture& capture) {
  const std::size_t first = capture.find_nth(is_opcode(Opcode::kWriteFirst), 4);
  capture.rewrite(first, [](RoceHeaders& headers) { headers.dma_len -= 4; });
  const std::size_t middle = capture.find_nth(is_opcode(Opcode::kWriteMiddle), 8);
  capture.rewrite_all(middle, [](RoceHeaders&, Payload& payload) { payload.resize(payload.size() - 4); });
}

void middle_in_place_of_last(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kWriteLast), 3),
                  [](RoceHeaders& headers) { headers.opcode = Opcode::kWriteMiddle; });
}

void send_within_write(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kWriteMiddle), 3),
                  [](RoceHeaders& headers) { headers.opcode = Opcode::kSendMiddle; });
}

void first_without_last(EditableCapture& capture) {
  const std::size_t at = capture.find_nth(is_opcode(Opcode::kWriteMiddle), 4);
  const RoceHeaders message = capture.frame(capture.find_nth(is_opcode(Opcode::kWriteFirst), 2)).headers;
  capture.rewrite(at, [&](RoceHeaders& headers) {
    headers.opcode = Opcode::kWriteFirst;
    headers.va = message.va;
    headers.rkey = message.rkey;
    headers.dma_len = 3 * 4096;
  });
}

void reth_too_long(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kWriteFirst), 3),
                  [](RoceHeaders& headers) { headers.dma_len += 4096; });
}

void reth_too_short(EditableCapture& capture) {
  capture.rewrite(capture.find_nth(is_opcode(Opcode::kWriteOnly), 3),
                  [](RoceHeaders& headers) { headers.dma_len = 512; });
}

}  // namespace

std::vector<PlantedCase> integrity_faults() {
  const std::string small = pair_lab(transfer("write, size: 1000 B, count: 10"));
  const std::string corrupt = pair_lab(
      "faults:\n  - {link: \"node00:p0\", action: corrupt, frames: request, qp: 0, psn: 5, transmission: 1}\n" +
      transfer("write, size: 16 KiB, count: 10"));
  std::vector<PlantedCase> rows;
  rows.push_back({"CorruptedFrame",
                  "a bit error on the cable",
                  corrupt,
                  "node01:p0",
                  nullptr,
                  "integrity.icrc",
                  {},
                  {"psn.lost"}});
  rows.push_back({"UdpLength",
                  "UDP length eight bytes short",
                  writes_lab(),
                  "node00:p0",
                  wrong_udp_length,
                  "integrity.length",
                  {},
                  {"integrity.path-mtu", "message-length.reth"}});
  rows.push_back({"PadInMiddle",
                  "PadCnt 2 in a MIDDLE packet",
                  writes_lab(),
                  "node00:p0",
                  pad_in_middle,
                  "integrity.path-mtu",
                  {},
                  {"integrity.padding", "message-length.reth"}});
  rows.push_back(
      {"NotPadded", "a payload that is not padded to four bytes", small, "node00:p0", not_padded, "integrity.padding"});
  rows.push_back(
      {"ReservedOpcode", "a packet with opcode 0x1f", small, "node00:p0", reserved_opcode, "integrity.opcode"});
  rows.push_back({"IpChecksum", "IPv4 header checksums that are wrong", writes_lab(), "node00:p0", wrong_ip_checksum,
                  "integrity.ip-checksum"});
  rows.push_back({"UdpChecksum", "UDP checksums that are wrong", writes_lab(), "node00:p0", wrong_udp_checksum,
                  "integrity.udp-checksum"});
  rows.push_back({"PKeyChanges", "a P_Key that changes within a queue pair", writes_lab(), "node00:p0", p_key_changes,
                  "integrity.p-key"});
  rows.push_back({"PKeyOfAnswers", "answers with another P_Key than the requests", writes_lab(), "node01:p0",
                  p_key_of_answers, "integrity.p-key"});
  const std::vector<std::string> stray_follows = {"message-length.reth", "opcode-sequence.broken", "msn.wrong"};
  rows.push_back({"PsnTopBit",
                  "a packet whose PSN has its top bit flipped",
                  writes_lab(),
                  "node00:p0",
                  psn_top_bit,
                  "psn.stray",
                  {},
                  stray_follows});
  rows.push_back({"PsnTopBitOfFirst",
                  "the same of the first packet of a message",
                  writes_lab(),
                  "all",
                  psn_top_bit_of_first,
                  "psn.stray",
                  {},
                  stray_follows});
  rows.push_back({"TwoMacs", "packets of one address from two MAC addresses in turn", writes_lab(), "node01:p0",
                  macs_alternate, "path-entropy.two-macs"});
  rows.push_back({"Fragment", "a RoCE packet with the more-fragments bit", writes_lab(), "node00:p0", fragment,
                  "integrity.fragment"});
  rows.push_back({"ShortMiddle", "a MIDDLE packet four bytes short", writes_lab(), "node00:p0", short_middle,
                  "integrity.path-mtu"});
  rows.push_back({"MissingLast",
                  "a message that ends with MIDDLE",
                  writes_lab(),
                  "node00:p0",
                  middle_in_place_of_last,
                  "opcode-sequence.broken",
                  {},
                  {"message-length.reth", "msn.wrong"}});
  rows.push_back({"SendWithinWrite",
                  "a SEND MIDDLE within a WRITE",
                  writes_lab(),
                  "node00:p0",
                  send_within_write,
                  "opcode-sequence.broken",
                  {},
                  {"message-length.reth", "msn.wrong"}});
  rows.push_back({"FirstWithoutLast",
                  "a FIRST within a message",
                  writes_lab(),
                  "node00:p0",
                  first_without_last,
                  "opcode-sequence.broken",
                  {},
                  {"message-length.reth", "msn.wrong"}});
  rows.push_back({"RethTooLong", "a RETH that announces 4096 bytes more than follow", writes_lab(), "node00:p0",
                  reth_too_long, "message-length.reth"});
  rows.push_back({"RethTooShort", "a WRITE ONLY with more payload than its RETH says", small, "node00:p0",
                  reth_too_short, "message-length.reth"});
  return rows;
}

}  // namespace weft::planted
