// Ultra Ethernet: uet. Forty packets, an ACK for every fourth, and one fault.
#include "analyze/planted_case.h"
#include "analyze/uet_frames.h"

namespace weft::planted {
namespace {

constexpr std::int64_t kPacket_ns = 100, kAckDelay_ns = 1000;
constexpr std::uint32_t kFirstPsn = 1000, kPackets = 40;

// PSNs in order, without the one that a fault is about.
void send_all(UetConversation& uet, std::uint32_t without = 0) {
  for (std::uint32_t n = 0; n < kPackets; ++n) {
    const std::uint32_t psn = kFirstPsn + n;
    const std::int64_t at_ns = n * kPacket_ns;
    if (psn != without) uet.request(at_ns, psn, n % 4 == 3 ? kUetAckRequest : 0);
    const bool stuck = without != 0 && psn > without;
    if (n % 4 == 3 && !stuck) uet.ack(at_ns + kAckDelay_ns, psn);
  }
}

void wrong_crc(EditableCapture& capture) {
  UetConversation uet(capture);
  send_all(uet);
  capture.records[12].bytes.back() ^= 0x40;
}

// A SACK of packets beyond the last one that was sent.
void sack_of_unsent(EditableCapture& capture) {
  UetConversation uet(capture);
  send_all(uet);
  uet.sack(kPackets * kPacket_ns + kAckDelay_ns, kFirstPsn + kPackets - 1, 3, 0x7);
}

void trimmed(EditableCapture& capture) {
  UetConversation uet(capture);
  send_all(uet, 1021);
  uet.nack(21 * kPacket_ns + kAckDelay_ns, 1021, kUetTrimmed);
  uet.request(6000, 1021, kUetRetransmitted);
  uet.ack(7000, kFirstPsn + kPackets - 1);
}

// Captured behind the switch: what is left of the packet is in the capture.
void trimmed_frame(EditableCapture& capture, bool rewrites_ip_length) {
  UetConversation uet(capture);
  send_all(uet, 1021);
  uet.trimmed(21 * kPacket_ns, 1021, rewrites_ip_length);
  uet.nack(21 * kPacket_ns + kAckDelay_ns, 1021, kUetTrimmed);
  uet.request(6000, 1021, kUetRetransmitted);
  uet.ack(7000, kFirstPsn + kPackets - 1);
}

void timed_out(EditableCapture& capture) {
  UetConversation uet(capture);
  send_all(uet, 1021);
  uet.request(8'000'000, 1021, kUetRetransmitted);
  uet.ack(8'001'000, kFirstPsn + kPackets - 1);
}

void duplicated(EditableCapture& capture) {
  UetConversation uet(capture);
  send_all(uet);
  uet.request(21 * kPacket_ns + 50, 1021);
}

}  // namespace

void healthy_uet(EditableCapture& capture) {
  UetConversation uet(capture);
  send_all(uet);
}

std::vector<PlantedCase> uet_faults() {
  std::vector<PlantedCase> rows;
  rows.push_back({"UetCrc", "a UET packet with a wrong CRC", "", "", wrong_crc, "uet.crc"});
  rows.push_back({"UetSackOfUnsent", "a SACK of packets that were not sent", "", "", sack_of_unsent, "uet.sack"});
  rows.push_back({"UetTrimmed", "a packet trimmed by a switch, NACK and retransmission", "", "", trimmed, "uet.trim"});
  rows.push_back({"UetTrimmedFrame", "a packet trimmed as UE 1.0 says: IP length rewritten, UDP length left", "", "",
                  [](EditableCapture& capture) { trimmed_frame(capture, true); }, "uet.trim"});
  rows.push_back({"UetTrimmedLengthsLeft", "a packet trimmed by a switch that leaves both lengths", "", "",
                  [](EditableCapture& capture) { trimmed_frame(capture, false); }, "uet.trim"});
  rows.push_back({"UetTimeout", "a lost packet that only a timeout brings back", "", "", timed_out, "uet.timeout"});
  rows.push_back({"UetDuplicate", "a packet that comes twice", "", "", duplicated, "uet.duplicate"});
  return rows;
}

}  // namespace weft::planted
