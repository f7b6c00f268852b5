// Work requests and completions: the verbs' own vocabulary (ibv_send_wr, ibv_wc).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace weft::nic {

enum class WrOpcode : std::uint8_t {
  kWrite,
  kWriteImm,
  kSend,
  kSendImm,
  kSendInv,
  kBindWindow,  // these two are done in the NIC, without a packet
  kLocalInvalidate,
  kRead,
  kFetchAdd,
  kCompareSwap,
};
constexpr bool is_local(WrOpcode op) {
  return op == WrOpcode::kBindWindow || op == WrOpcode::kLocalInvalidate;
}
constexpr bool is_atomic(WrOpcode op) {
  return op == WrOpcode::kFetchAdd || op == WrOpcode::kCompareSwap;
}
// READ and atomics wait for a response with data and are limited by max_rd_atomic.
constexpr bool needs_response(WrOpcode op) {
  return op >= WrOpcode::kRead;
}
constexpr bool consumes_receive(WrOpcode op) {
  return op == WrOpcode::kWriteImm || op == WrOpcode::kSend || op == WrOpcode::kSendImm || op == WrOpcode::kSendInv;
}

inline constexpr std::uint32_t kMulticastQpn = 0xffffff;  // the destination of datagrams to a group: IBTA vol 1, 10.5
using GroupGid = std::array<std::uint8_t, 16>;

inline constexpr std::uint32_t kMaxMessage_B = 1U << 31;  // IBTA vol 1, 9.4.3

inline constexpr std::uint8_t kQpFunction = 0xff;

struct SendRequest {
  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kWrite;
  bool signaled = true;
  bool inline_data = false;
  bool solicited = false;
  // UD: the address handle's own traffic class and service level; without, the queue pair's count.
  bool has_class = false;
  std::uint8_t tos = 0;
  std::uint8_t priority = 0;
  bool to_group = false;  // UD: to the multicast group(), and dest_port and dest_qp do not count
  std::uint64_t local_va = 0;
  std::uint32_t lkey = 0;
  std::uint32_t length_B = 0;
  std::uint64_t remote_va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t imm = 0;  // immediate data, or the rkey to invalidate
  // Binding a window: `rkey` becomes its key, `lkey` is the region's, remote_va its address, swap_add its length, and
  // `compare` has the rights that it gives, as WindowRight.
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  // UD: where the address handle points. XRC: dest_qp is the number of the shared receive queue.
  std::uint32_t dest_port = 0;
  std::uint32_t dest_qp = 0;
  std::uint32_t qkey = 0;
  // The PCIe function whose memory the payload of a SEND or WRITE is read from; kQpFunction: the queue pair's own.
  std::uint8_t function = kQpFunction;

  // Where atomics have their operands.
  void set_group(const GroupGid& gid) {
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(gid);
    to_group = true;
    swap_add = words[0];
    compare = words[1];
  }
  GroupGid group() const { return std::bit_cast<GroupGid>(std::array<std::uint64_t, 2>{swap_add, compare}); }
};

enum WindowRight : std::uint64_t { kWindowWrite = 1, kWindowRead = 2, kWindowAtomic = 4 };

struct ReceiveRequest {
  std::uint64_t wr_id = 0;
  std::uint64_t va = 0;
  std::uint32_t lkey = 0;
  std::uint32_t length_B = 0;
};

// ibv_wc_status, same numbers.
enum class WcStatus : std::uint8_t {
  kSuccess = 0,
  kLocalLengthError = 1,
  kLocalQpOperationError = 2,
  kLocalProtectionError = 4,
  kFlushError = 5,
  kWindowBindError = 6,
  kBadResponse = 7,
  kRemoteInvalidRequest = 9,
  kRemoteAccessError = 10,
  kRemoteOperationError = 11,
  kRetryExceeded = 12,
  kRnrRetryExceeded = 13,
};
// As ibv_wc_status_str prints it.
std::string_view name(WcStatus status);
// The vendor syndrome that mlx5 puts beside the status ([fault-characterization]; flush and protection from public
// logs).
std::uint8_t mlx5_vendor_error(WcStatus status);

enum class WcOpcode : std::uint8_t {
  kSend,
  kWrite,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kBindWindow,
  kLocalInvalidate,
  kReceive,  // from here on: of receives
  kReceiveWithImm,
};

struct Completion {
  std::uint64_t wr_id = 0;
  Time_ps visible_ps = 0;  // when the CPU can see the CQE
  std::uint32_t byte_len = 0;
  std::uint32_t imm = 0;
  std::uint32_t qpn = 0;
  std::uint32_t src_qp = 0;  // UD
  // Completion of a send: WQEs of its queue that are done, this one counted in, since RESET and modulo 2^32. Those
  // without a completion of their own are freed by this one.
  std::uint32_t freed = 0;
  WcStatus status = WcStatus::kSuccess;
  WcOpcode opcode = WcOpcode::kSend;
  std::uint8_t vendor_error = 0;
  bool with_imm = false;
  bool with_invalidate = false;
  bool solicited = false;  // of a receive: the sender asks for an event
};

}  // namespace weft::nic
