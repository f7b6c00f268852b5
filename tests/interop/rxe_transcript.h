// A capture as a protocol transcript: for each kind of exchange (WRITE of 8192 B at MTU 4096, ...) and each place in
// it, the set of values that every field takes, with what belongs to one connection (QPNs, start PSN, addresses,
// keys) taken out. Two captures agree when their transcripts are equal.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "interop/interop_support.h"
#include "wire/flow.h"
#include "wire/opcode.h"

namespace weft::interop {

using Transcript = std::map<std::string, std::set<std::string>>;  // field -> values

// One message: its request packets and what answers them.
struct Exchange {
  std::string kind;
  std::size_t index = 0;  // among the messages of its requester, from 0
  std::uint32_t psns = 0;
  std::vector<const Frame*> requests, responses;

  const wire::RoceHeaders& first() const { return requests[0]->headers(); }
};

inline constexpr std::uint32_t kPsnMask24 = 0xffffff;

inline std::string kind_of(const Exchange& exchange, std::uint32_t mtu_B) {
  using wire::Opcode;
  const wire::RoceHeaders& h = exchange.first();
  std::size_t size_B = 0;
  for (const Frame* frame : exchange.requests) size_B += frame->roce.payload.size();
  switch (h.opcode) {
    case Opcode::kFetchAdd:
      return "FETCH_ADD";
    case Opcode::kCompareSwap:
      return "CMP_SWAP";
    case Opcode::kReadRequest:
      return fmt::format("READ {} B at MTU {}", h.dma_len, mtu_B);
    case Opcode::kUdSendOnly:
      return fmt::format("UD SEND {} B", size_B);
    default:
      return fmt::format("{} {} B at MTU {}", wire::has_reth(h.opcode) ? "WRITE" : "SEND", size_B, mtu_B);
  }
}

// Frames of one connection in the order in which they were sent: both directions share the UDP source port.
inline std::vector<std::vector<const Frame*>> connections(const std::vector<Frame>& frames) {
  std::map<std::uint16_t, std::vector<const Frame*>> by_port;
  for (const Frame& frame : frames) by_port[frame.headers().src_port].push_back(&frame);
  std::vector<std::vector<const Frame*>> result;
  for (auto& [port, list] : by_port) result.push_back(std::move(list));
  return result;
}

// The messages that `from` sends on this connection.
inline std::vector<Exchange> exchanges(const std::vector<const Frame*>& connection, const wire::IpAddress& from,
                                       std::uint32_t mtu_B) {
  std::vector<Exchange> found;
  for (const Frame* frame : connection) {
    const wire::RoceHeaders& h = frame->headers();
    if (h.src_ip != from || !wire::is_request(h.opcode)) continue;
    const bool continues = !found.empty() && !wire::is_first(h.opcode) && !wire::is_only(h.opcode) &&
                           !wire::has_atomic_eth(h.opcode) && h.opcode != wire::Opcode::kReadRequest;
    if (!continues) found.push_back({"", found.size(), 0, {}, {}});
    found.back().requests.push_back(frame);
    found.back().psns = h.opcode == wire::Opcode::kReadRequest
                            ? std::max(1u, (h.dma_len + mtu_B - 1) / mtu_B)
                            : static_cast<std::uint32_t>(found.back().requests.size());
  }
  for (Exchange& exchange : found) {
    exchange.kind = kind_of(exchange, mtu_B);
    for (const Frame* frame : connection) {
      const wire::RoceHeaders& h = frame->headers();
      if (h.src_ip == from || wire::is_request(h.opcode)) continue;
      if (((h.psn - exchange.first().psn) & kPsnMask24) < exchange.psns) exchange.responses.push_back(frame);
    }
  }
  return found;
}

class TranscriptBuilder {
 public:
  explicit TranscriptBuilder(Transcript& transcript) : transcript_(transcript) {}

  void add_connection(const std::vector<const Frame*>& connection, std::uint32_t mtu_B) {
    std::set<wire::IpAddress> ends;
    std::map<wire::IpAddress, std::uint32_t> qp_of;
    for (const Frame* frame : connection) {
      ends.insert(frame->headers().src_ip);
      qp_of[frame->headers().dst_ip] = frame->headers().dest_qp;
      add_envelope(*frame);
    }
    for (const wire::IpAddress& end : ends) {
      const std::vector<Exchange> list = exchanges(connection, end, mtu_B);
      for (std::size_t i = 0; i < list.size(); ++i) {
        add_exchange(list[i]);
        if (i > 0) add_step(list[i - 1], list[i]);
        note(list[i].kind, "UDP source port", source_port(list[i].first(), qp_of));
      }
    }
  }

 private:
  void note(const std::string& where, const std::string& field, const std::string& value) {
    transcript_[where + ": " + field].insert(value);
  }

  // A datagram has no pair of QPs to take it from.
  static std::string source_port(const wire::RoceHeaders& h, const std::map<wire::IpAddress, std::uint32_t>& qp_of) {
    if (wire::has_deth(h.opcode) || qp_of.size() != 2) return h.src_port >= 0xc000 ? "0xc000 or above" : "below 0xc000";
    const bool by_formula = h.src_port == wire::udp_source_port(qp_of.begin()->second, qp_of.rbegin()->second);
    return by_formula ? "of the QPNs" : "other";
  }

  // Fields that are alike in every frame of a capture.
  void add_envelope(const Frame& frame) {
    const wire::RoceHeaders& h = frame.headers();
    const std::string where = wire::is_request(h.opcode) ? "every request" : "every response";
    note(where, "IP TOS", fmt::format("0x{:02x}", h.tos));
    note(where, "IP TTL", fmt::format("{}", h.ttl));
    note(where, "IP DF", fmt::format("{:d}", h.dont_fragment));
    note(where, "IP identification", h.ip_id == 0 ? "0" : "counts");
    note(where, "UDP checksum", fmt::format("{}", frame.roce.udp_checksum));
    note(where, "BTH SE", fmt::format("{:d}", h.solicited));
    note(where, "BTH MigReq", fmt::format("{:d}", h.mig_req));
    note(where, "BTH P_Key", fmt::format("0x{:04x}", h.p_key));
    note(where, "BTH FECN, BECN and reserved bits",
         fmt::format("{:d}{:d} {} {}", h.fecn, h.becn, h.bth_reserved6, h.bth_reserved7));
    note(where, "ICRC", frame.roce.icrc_ok ? "good" : "bad");
    const bool zero_pad =
        std::all_of(frame.roce.pad.begin(), frame.roce.pad.begin() + frame.roce.pad_B, [](auto b) { return b == 0; });
    note(where, "pad bytes", zero_pad ? "0" : "not 0");
  }

  void add_exchange(const Exchange& exchange) {
    const wire::RoceHeaders& first = exchange.first();
    note(exchange.kind, "request packets", fmt::format("{}", exchange.requests.size()));
    note(exchange.kind, "response packets", fmt::format("{}", exchange.responses.size()));
    for (std::size_t i = 0; i < exchange.requests.size(); ++i) {
      add_packet(fmt::format("{}, request {}", exchange.kind, i + 1), *exchange.requests[i], first);
    }
    for (std::size_t i = 0; i < exchange.responses.size(); ++i) {
      const Frame& frame = *exchange.responses[i];
      const std::string where = fmt::format("{}, response {}", exchange.kind, i + 1);
      add_packet(where, frame, first);
      if (!wire::has_aeth(frame.headers().opcode)) continue;
      note(where, "AETH syndrome", fmt::format("0x{:02x}", frame.headers().aeth_syndrome));
      // The n-th message is answered with MSN n.
      const std::uint32_t expected = static_cast<std::uint32_t>(exchange.index + 1) & kPsnMask24;
      note(where, "AETH MSN",
           frame.headers().msn == expected ? "number of the message"
                                           : fmt::format("{} for message {}", frame.headers().msn, expected));
    }
  }

  void add_packet(const std::string& where, const Frame& frame, const wire::RoceHeaders& first) {
    const wire::RoceHeaders& h = frame.headers();
    note(where, "opcode", fmt::format("0x{:02x}", static_cast<int>(h.opcode)));
    note(where, "PSN", fmt::format("first + {}", (h.psn - first.psn) & kPsnMask24));
    note(where, "AckReq", fmt::format("{:d}", h.ack_req));
    note(where, "payload", fmt::format("{} B", frame.roce.payload.size()));
    note(where, "PadCnt", fmt::format("{}", frame.roce.pad_B));
    note(where, "frame", fmt::format("{} B", frame.bytes.size()));
    if (wire::has_reth(h.opcode))
      note(where, "RETH", fmt::format("first VA + {}, DMALen {}", h.va - first.va, h.dma_len));
    if (wire::has_atomic_eth(h.opcode)) note(where, "AtomicETH compare", fmt::format("{}", h.compare));
    if (wire::has_atomic_eth(h.opcode)) note(where, "AtomicETH VA", h.va % 8 == 0 ? "aligned" : "not aligned");
  }

  void add_step(const Exchange& before, const Exchange& after) {
    const std::uint32_t step = (after.first().psn - before.first().psn) & kPsnMask24;
    note(after.kind, "first PSN",
         step == before.psns ? "follows the message before" : fmt::format("jumps by {}", step));
    const bool remote = wire::has_reth(after.first().opcode) || wire::has_atomic_eth(after.first().opcode);
    if (remote && before.kind == after.kind)
      note(after.kind, "VA of the next message", fmt::format("+ {}", after.first().va - before.first().va));
  }

  Transcript& transcript_;
};

}  // namespace weft::interop
