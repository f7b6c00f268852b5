// The InfiniBand part of packet_tree.h: GRH of RoCEv1, BTH, the extension headers of its opcode, payload, ICRC.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/show/tree_maker.h"
#include "wire/aeth_syndrome.h"
#include "wire/cm_mad.h"
#include "wire/opcode.h"

namespace weft::analyze::detail {
namespace {

constexpr std::size_t kIcrcTail_B = 4;

const char* nak_text(std::uint8_t code) {
  constexpr const char* kNames[] = {"PSN sequence error", "invalid request", "remote access error",
                                    "remote operational error", "invalid RD request"};
  return code < std::size(kNames) ? kNames[code] : "reserved code";
}

// Attributes of the class of communication management (IBTA vol 1, table 105).
const char* cm_attribute(std::uint16_t attribute) {
  constexpr const char* kNames[] = {"ConnectRequest",  "MsgRcptAck",      "ConnectReject",
                                    "ConnectReply",    "ReadyToUse",      "DisconnectRequest",
                                    "DisconnectReply", "ServiceIDResReq", "ServiceIDResReqResp"};
  return attribute >= 0x10 && attribute <= 0x18 ? kNames[attribute - 0x10] : "";
}

}  // namespace

void TreeMaker::global_route(std::size_t at, std::size_t end) {
  constexpr std::size_t kHeader_B = 40;
  if (!has(at, kHeader_B, end)) return data(at, end);
  layer("Global Route Header", at, kHeader_B);
  field("IP Version", "infiniband.grh.ipver", fmt::format("{}", u8(at) >> 4), at, 1);
  field("Traffic Class", "infiniband.grh.tclass", fmt::format("{}", u16(at) >> 4 & 0xff), at, 2);
  field("Flow Label", "infiniband.grh.flowlabel", fmt::format("{}", u32(at) & 0xfffff), at, 4);
  const std::size_t payload_B = u16(at + 4);
  const bool too_long = payload_B > end - at - kHeader_B;
  decimal("Payload Length", "infiniband.grh.paylen", at + 4, 2, too_long ? "more than the frame had" : "");
  decimal("Next Header", "infiniband.grh.nxthdr", at + 6, 1, u8(at + 6) == 27 ? "BTH" : "");
  decimal("Hop Limit", "infiniband.grh.hoplmt", at + 7, 1);
  field("Source GID", "infiniband.grh.sgid", ip_text(at + 8, 16), at + 8, 16);
  field("Destination GID", "infiniband.grh.dgid", ip_text(at + 24, 16), at + 24, 16);
  const std::size_t stop = too_long ? end : at + kHeader_B + payload_B;
  transport(at + kHeader_B, stop);
  data(stop, end, "Trailer: padding or FCS");
}

void TreeMaker::transport(std::size_t at, std::size_t end) {
  if (!has(at, wire::kBthSize_B, end)) return data(at, end);
  const std::uint8_t opcode = u8(at);
  layer("InfiniBand: Base Transport Header", at, wire::kBthSize_B);
  decimal("Opcode", "infiniband.bth.opcode", at, 1,
          wire::is_valid_opcode(opcode) ? wire::name(static_cast<wire::Opcode>(opcode)) : "not known");
  flag("Solicited Event", "infiniband.bth.se", (u8(at + 1) & 0x80) != 0, at + 1);
  flag("MigReq", "infiniband.bth.m", (u8(at + 1) & 0x40) != 0, at + 1);
  const std::size_t pad_B = u8(at + 1) >> 4 & 3;
  field("Pad Count", "infiniband.bth.padcnt", fmt::format("{}", pad_B), at + 1, 1);
  field("Header Version", "infiniband.bth.tver", fmt::format("{}", u8(at + 1) & 0xf), at + 1, 1);
  decimal("Partition Key", "infiniband.bth.p_key", at + 2, 2, u16(at + 2) == 0xffff ? "default" : "");
  flag("FECN", "", (u8(at + 4) & 0x80) != 0, at + 4);
  flag("BECN", "", (u8(at + 4) & 0x40) != 0, at + 4,
       (u8(at + 4) & 0x40) != 0 ? "congestion ahead of the receiver" : "");
  hex("Destination Queue Pair", "infiniband.bth.destqp", at + 5, 3, fmt::format("{}", u24(at + 5)));
  flag("Acknowledge Request", "infiniband.bth.a", (u8(at + 8) & 0x80) != 0, at + 8);
  decimal("Packet Sequence Number", "infiniband.bth.psn", at + 9, 3);
  const std::uint32_t dest_qp = u24(at + 5);
  at += wire::kBthSize_B;
  // Name of the trailer, where the packet is whole.
  const bool has_tail = end >= at + kIcrcTail_B;
  const std::size_t stop = has_tail ? end - kIcrcTail_B : end;
  extension_headers(opcode, at, stop);
  if (dest_qp <= wire::kGeneralServicesQp && opcode == static_cast<std::uint8_t>(wire::Opcode::kUdSendOnly)) {
    mad(at, stop);
  } else if (at < stop) {
    const std::size_t content = stop - std::min(pad_B, stop - at);
    data(at, content, "Payload");
    data(content, stop, "Pad");
  }
  if (!has_tail || !has(stop, kIcrcTail_B, end)) return;
  const char* state = decoded_.icrc == IcrcState::kGood  ? "good"
                      : decoded_.icrc == IcrcState::kBad ? "bad: not what the bytes give"
                                                         : "not checked";
  layer("InfiniBand: Invariant CRC", stop, kIcrcTail_B);
  hex("Invariant CRC", "infiniband.invariant.crc", stop, kIcrcTail_B, state);
}

// In the order in which they follow; ends where one is cut.
void TreeMaker::extension_headers(std::uint8_t byte, std::size_t& at, std::size_t end) {
  if (!wire::is_valid_opcode(byte)) return;
  const auto opcode = static_cast<wire::Opcode>(byte);
  const auto begins = [&](bool expected, const char* name, std::size_t size_B) {
    if (!expected || !has(at, size_B, end)) return false;
    layer(name, at, size_B);
    return true;
  };
  if (begins(wire::has_deth(opcode), "DETH: Datagram Extended Transport Header", wire::kDethSize_B)) {
    hex("Queue Key", "infiniband.deth.q_key", at, 4, u32(at) == wire::kGeneralServicesQkey ? "of queue pair 1" : "");
    hex("Source Queue Pair", "infiniband.deth.srcqp", at + 5, 3, fmt::format("{}", u24(at + 5)));
    at += wire::kDethSize_B;
  }
  if (begins(wire::has_xrc_eth(opcode), "XRCETH: XRC Extended Transport Header", wire::kXrcEthSize_B)) {
    hex("XRC Shared Receive Queue", "", at + 1, 3);
    at += wire::kXrcEthSize_B;
  }
  if (begins(wire::has_reth(opcode), "RETH: RDMA Extended Transport Header", wire::kRethSize_B)) {
    hex("Virtual Address", "infiniband.reth.va", at, 8);
    hex("Remote Key", "infiniband.reth.r_key", at + 8, 4);
    decimal("DMA Length", "infiniband.reth.dmalen", at + 12, 4, "bytes of the message");
    at += wire::kRethSize_B;
  }
  if (begins(wire::has_atomic_eth(opcode), "AtomicETH: Atomic Extended Transport Header", wire::kAtomicEthSize_B)) {
    atomic(at);
    at += wire::kAtomicEthSize_B;
  }
  if (begins(wire::has_aeth(opcode), "AETH: ACK Extended Transport Header", wire::kAethSize_B)) {
    ack(at);
    at += wire::kAethSize_B;
  }
  if (begins(wire::has_atomic_ack_eth(opcode), "AtomicAckETH: Atomic ACK Extended Transport Header",
             wire::kAtomicAckEthSize_B)) {
    decimal("Original Remote Data", "infiniband.atomicacketh.origremdt", at, 8);
    at += wire::kAtomicAckEthSize_B;
  }
  if (begins(wire::has_imm(opcode), "ImmDt: Immediate Data", wire::kImmDtSize_B)) {
    hex("Immediate Data", "infiniband.immdt", at, 4);
    at += wire::kImmDtSize_B;
  }
  if (begins(wire::has_ieth(opcode), "IETH: Invalidate Extended Transport Header", wire::kIethSize_B)) {
    hex("RKey", "infiniband.ieth", at, 4);
    at += wire::kIethSize_B;
  }
  if (begins(opcode == wire::Opcode::kCnp, "CNP: Congestion Notification Packet", wire::kCnpReservedSize_B)) {
    field("Reserved", "", "16 bytes", at, wire::kCnpReservedSize_B, "the sender of this queue pair shall slow down");
    at += wire::kCnpReservedSize_B;
  }
}

void TreeMaker::atomic(std::size_t at) {
  hex("Virtual Address", "infiniband.reth.va", at, 8);
  hex("Remote Key", "infiniband.reth.r_key", at + 8, 4);
  decimal("Swap (Or Add) Data", "infiniband.atomiceth.swapdt", at + 12, 8);
  decimal("Compare Data", "infiniband.atomiceth.cmpdt", at + 20, 8);
}

void TreeMaker::ack(std::size_t at) {
  const std::uint8_t syndrome = u8(at), value = wire::aeth_value(syndrome);
  const auto number = fmt::format("{}", value);
  switch (wire::aeth_kind(syndrome)) {
    case wire::AethKind::kAck: {
      const auto credits = wire::credits_of_code(value);
      decimal("Syndrome", "infiniband.aeth.syndrome", at, 1, "ACK");
      field("OpCode", "infiniband.aeth.syndrome.opcode", "0", at, 1, "Ack");
      field("Credit Count", "infiniband.aeth.syndrome.credit_count", number, at, 1,
            credits ? fmt::format("credits 0x{:02x}: {} messages", value, *credits)
                    : fmt::format("credits 0x{:02x}: no limit", value));
      break;
    }
    case wire::AethKind::kRnrNak:
      decimal("Syndrome", "infiniband.aeth.syndrome", at, 1, "RNR NAK: receiver not ready");
      field("OpCode", "infiniband.aeth.syndrome.opcode", "1", at, 1, "RNR Nak");
      field("Timer", "infiniband.aeth.syndrome.timer", number, at, 1,
            fmt::format("wait {:.2f} ms", static_cast<double>(wire::rnr_timer_ps(value)) / 1e9));
      break;
    case wire::AethKind::kNak:
      decimal("Syndrome", "infiniband.aeth.syndrome", at, 1, fmt::format("NAK: {}", nak_text(value)));
      field("OpCode", "infiniband.aeth.syndrome.opcode", "3", at, 1, "Nak");
      field("Error Code", "infiniband.aeth.syndrome.error_code", number, at, 1, nak_text(value));
      break;
    case wire::AethKind::kReserved:
      decimal("Syndrome", "infiniband.aeth.syndrome", at, 1, "reserved");
      break;
  }
  decimal("Message Sequence Number", "infiniband.aeth.msn", at + 1, 3);
}

// IBTA vol 1, 13.4.3; of communication management which message it is.
void TreeMaker::mad(std::size_t at, std::size_t end) {
  constexpr std::size_t kHeader_B = 24;
  constexpr unsigned kCmClass = 7;
  if (!has(at, kHeader_B, end)) return data(at, end, "Payload");
  layer("MAD Header - Common Management Datagram", at, kHeader_B);
  hex("Base Version", "infiniband.mad.baseversion", at, 1);
  hex("Management Class", "infiniband.mad.mgmtclass", at + 1, 1, u8(at + 1) == kCmClass ? "communication" : "");
  hex("Class Version", "infiniband.mad.classversion", at + 2, 1);
  hex("Method", "infiniband.mad.method", at + 3, 1);
  hex("Status", "infiniband.mad.status", at + 4, 2);
  hex("Transaction ID", "infiniband.mad.transactionid", at + 8, 8);
  hex("Attribute ID", "infiniband.mad.attributeid", at + 16, 2,
      u8(at + 1) == kCmClass ? cm_attribute(u16(at + 16)) : "");
  hex("Attribute Modifier", "infiniband.mad.attributemodifier", at + 20, 4);
  data(at + kHeader_B, end, "MAD data");
}

}  // namespace weft::analyze::detail
