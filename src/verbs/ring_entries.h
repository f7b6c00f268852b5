// The entries of the rings that programs and the world share. Part of verbs/protocol.h.
#pragma once

#include <cstdint>

namespace weft::verbs {

struct Sge {
  std::uint64_t address;
  std::uint32_t length_B, lkey;
};
// An entry of a send queue; then `sges` times Sge, or `inline_B` bytes.
struct SendEntry {
  std::int64_t post_ps;  // when the doorbell rang, by the thread's clock
  std::uint64_t wr_id;
  std::uint32_t opcode, flags;  // ibv_wr_opcode, ibv_send_flags
  std::uint32_t imm;            // as it goes on the wire: network order; or the rkey to invalidate
  std::uint16_t sges, inline_B;
  std::uint64_t remote_va, compare_add, swap;
  std::uint32_t rkey;
  std::uint32_t ah, remote_qpn, qkey;  // UD
};
static_assert(sizeof(SendEntry) == 72);
// An entry of a receive queue; then `sges` times Sge.
struct ReceiveEntry {
  std::int64_t post_ps;
  std::uint64_t wr_id;
  std::uint32_t sges, unused;
};
// An entry of a completion queue. It is written when a CPU could see it, never before.
struct CqEntry {
  std::uint64_t wr_id;
  std::uint32_t status, opcode, vendor_error;  // ibv_wc_status, ibv_wc_opcode
  std::uint32_t byte_len, imm, qpn, src_qp, flags;
  std::uint64_t freed;  // of a send: entries of the send queue that are free up to here
  std::uint32_t sl, unused;
  std::int64_t time_ps;  // from when on a CPU can see it
};
static_assert(sizeof(CqEntry) == 64);

}  // namespace weft::verbs
