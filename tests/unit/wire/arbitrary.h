// rapidcheck generators for headers and payloads.
#pragma once

#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <vector>

#include "wire/opcode.h"
#include "wire/roce_frame.h"

namespace weft::wire {

template <typename T>
T any() {
  return *rc::gen::arbitrary<T>();
}
inline std::uint32_t any_below(std::uint32_t bound) {
  return *rc::gen::inRange<std::uint32_t>(0, bound);
}
inline std::uint32_t any_u24() {
  return any_below(1 << 24);
}

inline std::vector<Opcode> all_opcodes() {
  std::vector<Opcode> opcodes;
  for (int byte = 0; byte < 256; ++byte) {
    if (is_valid_opcode(static_cast<std::uint8_t>(byte))) opcodes.push_back(static_cast<Opcode>(byte));
  }
  return opcodes;
}
inline Opcode any_opcode() {
  return *rc::gen::elementOf(all_opcodes());
}

template <std::size_t kSize>
std::array<std::uint8_t, kSize> any_bytes() {
  std::array<std::uint8_t, kSize> bytes;
  for (auto& byte : bytes) byte = any<std::uint8_t>();
  return bytes;
}

// As a parser would return them: what the opcode does not have is zero.
inline RoceHeaders any_roce_headers() {
  RoceHeaders h;
  h.dst_mac = any_bytes<6>();
  h.src_mac = any_bytes<6>();
  if (any<bool>()) h.vlan_tci = any<std::uint16_t>();
  h.v4 = any<bool>();
  h.src_ip = any_bytes<16>();
  h.dst_ip = any_bytes<16>();
  if (h.v4) {
    h.src_ip = ipv4_mapped(h.src_ip[0], h.src_ip[1], h.src_ip[2], h.src_ip[3]);
    h.dst_ip = ipv4_mapped(h.dst_ip[0], h.dst_ip[1], h.dst_ip[2], h.dst_ip[3]);
    h.ip_id = any<std::uint16_t>();
    h.dont_fragment = any<bool>();
  } else {
    h.flow_label = any_below(1 << 20);
  }
  h.tos = any<std::uint8_t>();
  h.ttl = any<std::uint8_t>();
  h.src_port = any<std::uint16_t>();
  h.opcode = any_opcode();
  h.solicited = any<bool>();
  h.mig_req = any<bool>();
  h.ack_req = any<bool>();
  h.becn = any<bool>() || h.opcode == Opcode::kCnp;
  h.fecn = any<bool>();
  h.p_key = any<std::uint16_t>();
  h.dest_qp = any_u24();
  h.psn = any_u24();
  h.bth_reserved6 = static_cast<std::uint8_t>(any_below(64));
  h.bth_reserved7 = static_cast<std::uint8_t>(any_below(128));
  if (has_reth(h.opcode) || has_atomic_eth(h.opcode)) {
    h.va = any<std::uint64_t>();
    h.rkey = any<std::uint32_t>();
  }
  if (has_reth(h.opcode)) h.dma_len = any<std::uint32_t>();
  if (has_atomic_eth(h.opcode)) {
    h.swap_add = any<std::uint64_t>();
    h.compare = any<std::uint64_t>();
  }
  if (has_atomic_ack_eth(h.opcode)) h.atomic_original = any<std::uint64_t>();
  if (has_aeth(h.opcode)) {
    h.aeth_syndrome = any<std::uint8_t>();
    h.msn = any_u24();
  }
  if (has_imm(h.opcode)) h.imm = any<std::uint32_t>();
  if (has_ieth(h.opcode)) h.ieth_rkey = any<std::uint32_t>();
  if (has_xrc_eth(h.opcode)) {
    h.xrc_srq = any_u24();
    h.xrc_eth_reserved = any<std::uint8_t>();
  }
  if (has_deth(h.opcode)) {
    h.qkey = any<std::uint32_t>();
    h.src_qp = any_u24();
    h.deth_reserved = any<std::uint8_t>();
  }
  if (h.opcode == Opcode::kCnp) h.cnp_reserved = any_bytes<kCnpReservedSize_B>();
  return h;
}

inline std::vector<std::uint8_t> any_payload(Opcode opcode) {
  if (!has_payload(opcode)) return {};
  return any<std::vector<std::uint8_t>>();
}

}  // namespace weft::wire
