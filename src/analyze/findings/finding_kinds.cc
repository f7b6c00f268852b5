// Every kind of finding, in order of suspicion: what is wrong with the capture itself makes all else doubtful; then
// what stands still; then causes before their symptoms.
#include <array>

#include "analyze/findings/finding.h"

namespace weft::analyze {
namespace {

using enum Severity;

constexpr std::array kKinds = std::to_array<FindingKind>({
    // The capture itself.
    {"capture.lost", kWarning, "the capture is not complete: frames were not captured"},
    {"capture.order", kWarning, "timestamps run backwards"},
    {"capture.cut", kWarning, "the file ends within a record"},
    {"capture.damaged", kWarning, "the file is damaged"},
    // With a lab: a leg of the QoS contract that is broken on the wire explains most of what follows.
    {"contract.dscp", kError, "DSCP is not what the lab says"},
    {"contract.priority", kError, "VLAN priority is not what the lab says"},
    {"contract.ecn", kError, "ECN codepoint is not what the lab says"},
    {"contract.mtu", kError, "path MTU is not what the lab says"},
    {"contract.pause-class", kError, "a class is paused that the lab does not make lossless"},
    {"contract.unknown-flow", kWarning, "a flow that the lab does not have"},
    // Standstill.
    {"pause.cycle", kError, "pauses wait for each other: deadlock"},
    {"pause.storm", kError, "pause storm"},
    {"livelock.no-progress", kError, "livelock: the wire is busy and nothing completes"},
    // Frames that are wrong.
    {"integrity.icrc", kError, "wrong ICRC"},
    {"integrity.length", kError, "lengths of IP, UDP and headers do not agree"},
    {"integrity.padding", kError, "PadCnt does not fit the payload"},
    {"integrity.opcode", kError, "opcode or transport version that is not defined"},
    {"integrity.ip-checksum", kError, "wrong IPv4 header checksum"},
    {"integrity.fragment", kError, "RoCE packet fragmented by IP"},
    {"integrity.path-mtu", kError, "FIRST or MIDDLE packet that is not a whole path MTU"},
    {"integrity.p-key", kError, "P_Key changes within a queue pair"},
    {"integrity.udp-checksum", kError, "wrong UDP checksum"},
    {"psn.stray", kError, "PSN far away from its neighbours"},
    {"opcode-sequence.broken", kError, "packets of a message in an order that is not allowed"},
    {"message-length.reth", kError, "RETH length is not that of the payload"},
    // Wrong class: explains loss and pauses.
    {"traffic-class.rewritten", kWarning, "DSCP changes on the way"},
    {"traffic-class.mixed", kWarning, "packets of one queue pair in several classes"},
    {"traffic-class.cnp", kWarning, "CNPs in the class of the data"},
    {"traffic-class.not-ect", kWarning, "RoCE data that is not ECN-capable"},
    {"traffic-class.wrong", kWarning, "data in another class than its peers"},
    {"migreq.mix", kWarning, "MigReq differs between peers"},
    {"path-entropy.two-macs", kWarning, "one IP address, two MAC addresses"},
    {"path-entropy.one-port", kWarning, "many queue pairs on few UDP source ports"},
    {"path-entropy.polarised", kWarning, "two tiers choose by the same hash"},
    {"path-entropy.collision", kWarning, "flows likely share a path"},
    // Setting up.
    {"connection-setup.rejected", kError, "connection rejected"},
    {"connection-setup.no-answer", kError, "connection request without answer"},
    {"connection-setup.mismatch", kError, "packets do not keep what CM agreed on"},
    {"connection-setup.retry", kWarning, "CM repeats a request otherwise than it says"},
    // The remote end refuses.
    {"nak.remote-access", kError, "remote access error"},
    {"nak.invalid-request", kError, "invalid request"},
    {"nak.remote-operational", kError, "remote operational error"},
    {"nak.reserved", kError, "answer with a reserved AETH syndrome"},
    {"rnr.exhausted", kError, "RNR retries used up"},
    {"rnr.early", kError, "retransmitted before the RNR timer had passed"},
    {"rnr.no-receive", kError, "receiver not ready: no receive posted"},
    {"credits.exceeded", kError, "sent beyond the credit limit"},
    // Pauses.
    {"pause.unpaired", kError, "XOFF without XON: the pause runs out"},
    {"pause.violated", kError, "data sent while paused"},
    {"pause.slow-response", kError, "a port stops too late after XOFF"},
    {"pause.global", kWarning, "802.3x pauses stop all classes"},
    {"pause.spread", kWarning, "pauses spread upstream"},
    {"pause.share", kWarning, "a class is paused much of the time"},
    // Congestion control.
    {"cnp.missing", kError, "CE marks without CNPs"},
    {"cnp.lost", kError, "CNPs are lost on the way"},
    {"cnp.stray", kWarning, "CNPs to a queue pair that nothing else goes to"},
    {"cnp.unasked", kWarning, "CNPs without CE marks"},
    {"cnp.format", kError, "malformed CNP"},
    {"cnp.interval", kWarning, "CNPs closer or wider apart than their interval"},
    {"cnp.late", kWarning, "CNP long after the CE mark"},
    {"rate-reaction.none", kError, "the sender does not slow down for CNPs"},
    {"rate-reaction.slow-recovery", kWarning, "the rate recovers slowly after CNPs"},
    {"traffic-class.ce-share", kWarning, "most packets are CE-marked"},
    // Loss and its recovery.
    {"psn.outage", kError, "a link was down: nothing passed for a time"},
    {"psn.mtu", kError, "large packets are lost: an MTU on the way is too small"},
    {"timeout.retries-exhausted", kError, "retries used up: the queue pair ends in an error"},
    {"psn.lost", kError, "packets lost"},
    {"psn.gap", kError, "PSNs that were never sent"},
    {"psn.duplicate", kWarning, "packets duplicated"},
    {"psn.reordered", kWarning, "packets reordered"},
    {"recovery.go-back-0", kError, "messages start over after a loss"},
    {"timeout.waited", kWarning, "retransmission only after a timeout"},
    {"timeout.interval", kWarning, "timeout intervals that no setting explains"},
    {"psn.spurious", kWarning, "retransmitted though nothing was lost"},
    {"read-response.lost", kError, "READ responses lost"},
    {"read-response.broken", kError, "READ responses that do not fit the request"},
    {"nak-latency.generation", kWarning, "NAK long after the gap"},
    {"nak-latency.reaction", kWarning, "retransmission long after the NAK"},
    // Rules of acknowledgements.
    {"nak.repeated", kError, "several NAKs for one gap"},
    {"nak.psn", kError, "NAK with a PSN that is not the expected one"},
    {"ack.backwards", kError, "ACKs run backwards"},
    {"ack.unsent", kError, "ACK of a packet that was not sent"},
    {"ack.missing", kError, "AckReq without an answer"},
    {"msn.wrong", kError, "MSN is not the number of completed messages"},
    // Counters.
    {"counters.differ", kError, "counters and capture disagree"},
    // Ultra Ethernet.
    {"uet.crc", kError, "wrong CRC of Ultra Ethernet packets"},
    {"uet.sack", kError, "SACK does not fit the gaps"},
    {"uet.trim", kWarning, "trimmed packets"},
    {"uet.timeout", kWarning, "retransmission only after a timeout"},
    {"uet.duplicate", kWarning, "duplicated packets"},
    // Notes: unusual and legal.
    {"integrity.other-opcode", kNote, "opcodes that are not looked into"},
    {"capture.snapped", kNote, "frames are cut to a snap length"},
    {"capture.streams", kNote, "more streams than are looked into"},
    {"capture.clocks", kNote, "clocks of the files differ"},
    {"capture.twice", kNote, "packets were mirrored twice"},
    {"capture.one-way", kNote, "only one direction was captured"},
    {"recovery.selective", kNote, "selective repeat"},
    {"migreq.clear", kNote, "MigReq is 0"},
    {"path-entropy.moved", kNote, "a queue pair takes another way"},
    {"path-entropy.single-path", kNote, "many flows on one of several ports"},
    {"path-entropy.estimate", kNote, "how likely flows share a path"},
    {"path-entropy.source-port", kNote, "UDP source ports outside 0xC000 to 0xFFFF"},
    {"cnp.source-port", kNote, "CNPs with source port 0"},
    {"cnp.pacing", kNote, "interval and scope of CNPs"},
    {"traffic-class.no-ecn", kNote, "no RoCE packet is ECN-capable"},
    {"connection-setup.timeout", kNote, "timeouts and retries against the handshake"},
    {"counters.elsewhere", kNote, "counters of a port that was not captured itself"},
    {"uet.seen", kNote, "Ultra Ethernet packets"},
});

constexpr std::array kChecks = std::to_array<CheckName>({
    {"integrity", "frame integrity: ICRC, lengths, padding, path MTU"},
    {"opcode-sequence", "order of packets within messages"},
    {"message-length", "RETH length against payload"},
    {"psn", "PSN continuity and what was retransmitted"},
    {"nak", "rules of NAKs"},
    {"ack", "acknowledgements: order, coalescing, AckReq"},
    {"msn", "message sequence numbers"},
    {"credits", "end-to-end credits"},
    {"read-response", "READ responses"},
    {"rnr", "receiver not ready"},
    {"timeout", "retransmission timeouts"},
    {"recovery", "how losses are recovered"},
    {"nak-latency", "time to NAK and to react to it"},
    {"cnp", "CE marks and CNPs"},
    {"rate-reaction", "how senders react to CNPs"},
    {"traffic-class", "DSCP, priority, ECN"},
    {"pause", "PFC and 802.3x"},
    {"path-entropy", "source ports and ECMP"},
    {"migreq", "MigReq between peers"},
    {"counters", "counters against the capture"},
    {"connection-setup", "connection management"},
    {"capture", "the capture itself"},
    {"uet", "Ultra Ethernet transport"},
    {"livelock", "busy without progress"},
    {"contract", "the lab's QoS contract on the wire"},
});

}  // namespace

std::span<const FindingKind> finding_kinds() {
  return kKinds;
}

std::span<const CheckName> check_names() {
  return kChecks;
}

}  // namespace weft::analyze
