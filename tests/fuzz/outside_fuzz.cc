// Hostile frames at a port to the outside, behind which a NIC has queue pairs of every kind with work in both
// directions: whatever comes in, the world goes on, every packet ends once, and no byte is written outside of what was
// registered. The input is a list of records: raw frames, and packets of a peer with right addresses and ICRC.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/targets.h"
#include "support/outside_host.h"
#include "wire/opcode.h"

namespace {

using weft::fuzz::Input;
using namespace weft;
using support::OutsideHost;
using wire::Opcode;

constexpr std::uint32_t kPsn = 1000, kPeerQpn = 0x77;
constexpr std::uint64_t kVa = 0x1000;
constexpr std::size_t kRegion_B = 4096, kGuard_B = 64;

struct Target : OutsideHost {
  Target() {
    memory.assign(kRegion_B + 2 * kGuard_B, 0xee);
    cq = device().create_cq(4096);
    key =
        device().memory().add(kVa, kRegion_B, {true, true, true, true}, std::span(memory).subspan(kGuard_B, kRegion_B));
    for (nic::QpType type : {nic::QpType::kRc, nic::QpType::kUc, nic::QpType::kUd}) {
      std::uint32_t qpn = device().create_qp(type, cq, cq, 64, 64, 0);
      nic::QpAttributes attributes;
      attributes.path_mtu_B = 1024;
      attributes.access = {true, true, true, true};
      attributes.remote_port = support::kOutsidePort;
      attributes.remote_qpn = kPeerQpn;
      attributes.rq_psn = attributes.sq_psn = kPsn;
      attributes.qkey = 0x11;
      for (nic::QpState state : {nic::QpState::kInit, nic::QpState::kRtr, nic::QpState::kRts})
        WEFT_CHECK(device().modify(qpn, state, attributes), "a queue pair comes up");
      for (int i = 0; i < 8; ++i) WEFT_CHECK(device().post_receive(qpn, receive_request()), "room for receives");
      qpns.push_back(qpn);
    }
    for (nic::WrOpcode opcode : {nic::WrOpcode::kWrite, nic::WrOpcode::kRead, nic::WrOpcode::kFetchAdd,
                                 nic::WrOpcode::kSend, nic::WrOpcode::kRead}) {
      nic::SendRequest request;
      request.opcode = opcode;
      request.local_va = request.remote_va = kVa;
      request.lkey = request.rkey = key;
      request.length_B = opcode == nic::WrOpcode::kFetchAdd ? 8 : 3000;
      device().post_send(qpns[0], request, now_ps());
    }
    pass(us(20));
  }
  nic::ReceiveRequest receive_request() const {
    nic::ReceiveRequest request;
    request.va = kVa;
    request.lkey = key;
    request.length_B = 2048;
    return request;
  }
  std::vector<std::uint8_t> memory;
  std::uint32_t cq = 0, key = 0;
  std::vector<std::uint32_t> qpns;
};

// A packet that gets as far as the queue pair.
void play(Target& target, Input& input) {
  std::uint8_t opcode = static_cast<std::uint8_t>(input.byte());
  if (!wire::is_valid_opcode(opcode)) opcode %= 0x18;
  if (!wire::is_valid_opcode(opcode)) return;
  wire::RoceHeaders h = OutsideHost::headers(static_cast<Opcode>(opcode), target.qpns[input.byte() % 3],
                                             (kPsn + input.byte() - 64) & 0xffffff);
  std::uint32_t bits = input.byte();
  h.ack_req = (bits & 1) != 0;
  h.solicited = (bits & 2) != 0;
  h.va = kVa + ((bits & 4) != 0 ? input.word() : 0) * ((bits & 8) != 0 ? 8 : 1);
  h.rkey = (bits & 16) != 0 ? input.word() : target.key;
  h.dma_len = input.word();
  h.aeth_syndrome = static_cast<std::uint8_t>(input.byte());
  h.msn = input.byte();
  h.qkey = (bits & 32) != 0 ? input.word() : 0x11;
  h.ieth_rkey = (bits & 64) != 0 ? target.key : input.word();
  h.tos = static_cast<std::uint8_t>(bits >> 6);
  std::vector<std::uint8_t> payload(wire::has_payload(h.opcode) ? input.word() % 4200 : 0, 0x5a);
  target.receive(OutsideHost::frame(h, payload), us(1 + (bits & 3)));
}

}  // namespace

int weft::fuzz::outside_fuzz(const std::uint8_t* data, std::size_t size) {
  Target target;
  Input input(data, size);
  while (!input.empty()) {
    if (input.byte() % 4 == 0) {
      target.receive(input.take(input.word() % 4600), us(1));
    } else {
      play(target, input);
    }
  }
  target.pass(kSecond_ps);
  for (std::uint32_t from : {0u, 1u}) {
    fabric::LinkDirection& link = target.link(from);
    WEFT_CHECK(link.sent.sent + link.sent.copies == link.sent.ended() + link.received.ended() + link.in_flight(),
               "every packet ends once");
  }
  for (std::size_t i = 0; i < kGuard_B; ++i) {
    WEFT_CHECK(target.memory[i] == 0xee && target.memory[target.memory.size() - 1 - i] == 0xee,
               "nothing outside of the region is written");
  }
  return 0;
}
