// A Pair with one connected queue pair on each side, and short names for what a test of a transport does: post from
// side 0, look at the wire, the memory and the completions.
#pragma once

#include "base/check.h"
#include "support/pair.h"

namespace weft::support {

struct RcOptions {
  PairOptions pair;
  nic::QpType type = nic::QpType::kRc;
  const nic::Transport* transport = nullptr;  // in place of the type's
  nic::QpAttributes attributes;               // both sides; the addresses are filled in
  std::uint32_t psn[2] = {1000, 5000};
  std::uint32_t depth = 64;

  RcOptions() {
    attributes.access = {true, true, true, true};
    attributes.path_mtu_B = 1024;
    attributes.qkey = 0x1234;
    attributes.rnr_retry = 7;
    attributes.min_rnr_timer = 1;  // 10 us
  }
};

inline fabric::FaultRule fault(fabric::FaultAction action, fabric::FaultFrames frames, std::uint32_t psn,
                               std::uint32_t transmission = 1) {
  fabric::FaultRule rule;
  rule.name = "test";
  rule.action = action;
  rule.frames = frames;
  rule.psn = psn;
  rule.transmission = transmission;
  return rule;
}
inline fabric::FaultRule drop_request(std::uint32_t psn, std::uint32_t transmission = 1) {
  return fault(fabric::FaultAction::kDrop, fabric::FaultFrames::kRequest, psn, transmission);
}
inline fabric::FaultRule drop_response(std::uint32_t psn, std::uint32_t transmission = 1) {
  return fault(fabric::FaultAction::kDrop, fabric::FaultFrames::kResponse, psn, transmission);
}
inline fabric::FaultRule always(fabric::FaultAction action) {
  fabric::FaultRule rule;
  rule.name = "always";
  rule.action = action;
  return rule;
}

class RcPair : public Pair {
 public:
  explicit RcPair(RcOptions options = {}) : Pair(options.pair), options_(options) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      Node& n = node(side);
      const nic::Transport& transport =
          options.transport != nullptr ? *options.transport : nic::transport_of(options.type);
      qp[side] = device(side).create_qp(transport, n.send_cq, n.receive_cq, options.depth, options.depth);
    }
    for (std::uint32_t side = 0; side < 2; ++side) up(side);
  }

  nic::QpAttributes attributes(std::uint32_t side) const {
    nic::QpAttributes a = options_.attributes;
    a.remote_port = 1 - side;
    a.remote_qpn = qp[1 - side];
    a.sq_psn = options_.psn[side];
    a.rq_psn = options_.psn[1 - side];
    return a;
  }
  bool up(std::uint32_t side) {
    nic::QpAttributes a = attributes(side);
    return device(side).modify(qp[side], nic::QpState::kInit, a) &&
           device(side).modify(qp[side], nic::QpState::kRtr, a) && device(side).modify(qp[side], nic::QpState::kRts, a);
  }
  nic::QpState state(std::uint32_t side) { return device(side).qp(qp[side]).state; }

  // Side 0 to side 1: `local` and `remote` are offsets into the memory of each.
  nic::SendRequest request(nic::WrOpcode opcode, std::uint32_t length_B, std::uint64_t local = 0,
                           std::uint64_t remote = 0) {
    nic::SendRequest r;
    r.wr_id = next_id_++;
    r.opcode = opcode;
    r.length_B = length_B;
    r.local_va = node(0).va() + local;
    r.lkey = node(0).key;
    r.remote_va = node(1).va() + remote;
    r.rkey = node(1).key;
    r.dest_port = 1;
    r.dest_qp = qp[1];
    r.qkey = options_.attributes.qkey;
    return r;
  }
  bool post(const nic::SendRequest& r, Time_ps at_ps = 0) {
    return device(0).post_send(qp[0], r, at_ps) && wake(0, at_ps);
  }
  bool post(nic::WrOpcode opcode, std::uint32_t length_B, std::uint64_t local = 0, std::uint64_t remote = 0) {
    return post(request(opcode, length_B, local, remote));
  }
  bool receive(std::uint32_t length_B, std::uint64_t offset = 0, std::uint64_t wr_id = 0) {
    return device(1).post_receive(qp[1], {wr_id, node(1).va() + offset, node(1).key, length_B});
  }
  std::vector<nic::Completion> sent_completions() { return node(0).poll(node(0).send_cq); }
  std::vector<nic::Completion> received() { return node(1).poll(node(1).receive_cq); }

  // The one completion that there must be.
  nic::Completion only_completion() {
    std::vector<nic::Completion> all = sent_completions();
    WEFT_CHECK(all.size() == 1, "the test expects one completion");
    return all.front();
  }
  bool same_bytes(std::uint64_t local, std::uint64_t remote, std::size_t size_B) {
    return std::equal(node(0).bytes().begin() + static_cast<std::ptrdiff_t>(local),
                      node(0).bytes().begin() + static_cast<std::ptrdiff_t>(local + size_B),
                      node(1).bytes().begin() + static_cast<std::ptrdiff_t>(remote));
  }
  // Opcodes that left a side.
  std::vector<wire::Opcode> opcodes(std::uint32_t from) const {
    std::vector<wire::Opcode> list;
    for (const Frame& frame : sent(from)) list.push_back(frame.opcode());
    return list;
  }
  // PSNs that left a side, relative to the requests of side 0.
  std::vector<std::uint32_t> psns(std::uint32_t from) const {
    std::vector<std::uint32_t> list;
    for (const Frame& frame : sent(from)) list.push_back((frame.psn() - options_.psn[0]) & 0xffffff);
    return list;
  }

  std::uint32_t qp[2] = {};

 private:
  bool wake(std::uint32_t side, Time_ps at_ps) {
    node(side).at(at_ps, [] {});
    return true;
  }

  RcOptions options_;
  std::uint64_t next_id_ = 0;
};

}  // namespace weft::support
