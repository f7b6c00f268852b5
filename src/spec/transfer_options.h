// What a verified transfer does: one operation, repeated, with every byte made from the seed, moved
// and compared at the other end; or one of the classic mistakes, to see how a NIC reports it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace weft::workload {

enum class TransferOp : std::uint8_t { kWrite, kWriteImm, kSend, kSendImm, kSendInv, kRead, kFetchAdd, kCompareSwap };
// What is wrong on purpose.
enum class Misuse : std::uint8_t { kNone, kWrongRkey, kBeyondRegion, kNoRemoteWrite, kNoReceive, kDeadPeer };

// A verified transfer: every byte is made from the seed, moved and compared.
struct TransferOptions {
  static constexpr std::string_view kKey = "transfer";  // in the lab file
  static constexpr std::string_view kExample = "write";

  TransferOp op = TransferOp::kWrite;
  bool ud = false;
  std::uint64_t size_B = 65536;
  std::uint64_t count = 1;
  std::uint32_t depth = 16;  // outstanding work requests
  std::uint8_t timeout = 14;
  std::uint8_t retry_cnt = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_timer = 12;
  std::uint32_t receives = 0;    // receives posted in all; 0 = as many as needed
  Time_ps receive_delay_ps = 0;  // the receiver posts each receive so late
  Misuse misuse = Misuse::kNone;
};

}  // namespace weft::workload
