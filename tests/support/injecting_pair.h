// An RcPair whose side 1 sends, beside what its queue pair sends, any packet at any time: a peer that breaks the
// protocol.
#pragma once

#include "support/bytes.h"
#include "support/rc_pair.h"
#include "support/roce_record.h"
#include "wire/aeth_syndrome.h"

namespace weft::support {

struct Injected {
  wire::Opcode opcode = wire::Opcode::kAck;
  std::uint32_t psn = 0;  // relative: requests to side 1's first PSN, responses to side 0's
  std::uint32_t payload_B = 0;
  std::uint8_t syndrome = wire::ack_syndrome();
  nic::RoceExtension cold{};
  std::uint32_t source = 1;
  std::uint32_t msn = 0;
  std::uint32_t flags = 0;  // BthFlag
};

class InjectingPair : public RcPair {
 public:
  explicit InjectingPair(const RcOptions& options = {}) : RcPair(options), psn_{options.psn[0], options.psn[1]} {}

  // Leaves side 1 at `at_ps`. The payload is 0xab, byte for byte.
  void inject(const Injected& frame, Time_ps at_ps) {
    node(1).at(at_ps, [this, frame, at_ps] {
      engine::Domain& domain = link(1).source();
      engine::Packet packet;
      packet.src = frame.source & engine::kPortMask;
      packet.dst = 0;
      packet.endpoint = qp[0] & engine::kEndpointMask;
      packet.word = frame.flags | (wire::is_request(frame.opcode) ? nic::kAckReq : 0u);
      make_roce(packet, frame.opcode, psn_[wire::is_request(frame.opcode) ? 1 : 0] + frame.psn);
      packet.payload_B = frame.payload_B & engine::kPayloadMask;
      packet.flags = engine::Packet::kHasCold;
      packet.aux = domain.cold.take();
      engine::Cold& cold = domain.cold[packet.aux];
      cold = {};
      nic::extension_of(cold) = frame.cold;
      cold.aux = std::uint32_t{frame.syndrome} << 24 | frame.msn;
      if (frame.payload_B > 0) {
        cold.payload = domain.payload.take();
        domain.payload[cold.payload].fill(0xab);
      }
      link(1).send(packet, fabric::line_B(packet), at_ps);
    });
  }
  // True when every byte of side 0's memory outside of [from, to) is what it was.
  bool kept_outside(std::size_t from, std::size_t to) { return is_pattern_outside(node(0).bytes(), from, to); }
  bool kept_all() { return kept_outside(0, 0); }
  std::vector<nic::Completion> received_by_0() { return node(0).poll(node(0).receive_cq); }

 private:
  std::uint32_t psn_[2];
};

}  // namespace weft::support
