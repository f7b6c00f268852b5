// Regions whose bytes are in another process: every DMA goes through their functions, with the time from which a CPU
// sees it, and fails when the process is gone.
#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using support::RcOptions;
using support::RcPair;

constexpr std::uint64_t kFarVa = 0x7000'0000;
constexpr std::size_t kFar_B = 1 << 16;

struct FarMemory {
  struct Write {
    std::uint64_t va;
    std::size_t size_B;
    Time_ps visible_ps;
  };
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(kFar_B);
  std::vector<Write> writes;
  int operations_left = 1 << 30;  // then the process dies
  RegionAccess access{this, &FarMemory::read, &FarMemory::write};

  static bool read(void* self, std::uint64_t va, std::span<std::uint8_t> out) {
    FarMemory& far = *static_cast<FarMemory*>(self);
    if (far.operations_left-- <= 0) return false;
    std::copy_n(far.bytes.begin() + static_cast<std::ptrdiff_t>(va - kFarVa), out.size(), out.begin());
    return true;
  }
  static bool write(void* self, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps) {
    FarMemory& far = *static_cast<FarMemory*>(self);
    if (far.operations_left-- <= 0) return false;
    std::copy(in.begin(), in.end(), far.bytes.begin() + static_cast<std::ptrdiff_t>(va - kFarVa));
    far.writes.push_back({va, in.size(), visible_ps});
    return true;
  }
};

// Memory elsewhere on both sides.
class FarPair : public RcPair {
 public:
  explicit FarPair(RcOptions options = {}) : RcPair(options) {
    for (std::uint32_t side : {0U, 1U}) {
      far_key[side] = device(side).memory().add(kFarVa, kFar_B, {true, true, true, true}, far[side].access);
      support::fill_pattern(far[side].bytes, side * kFar_B);
    }
  }
  SendRequest far_request(WrOpcode opcode, std::uint32_t length_B) {
    SendRequest r = request(opcode, length_B);
    r.local_va = kFarVa + 100;
    r.lkey = far_key[0];
    r.remote_va = kFarVa + 2048;
    r.rkey = far_key[1];
    return r;
  }
  bool far_receive(std::uint32_t length_B) {
    return device(1).post_receive(qp[1], {1, kFarVa + 2048, far_key[1], length_B});
  }
  bool arrived(std::size_t from, std::size_t to, std::size_t size_B) {
    return std::equal(far[0].bytes.begin() + static_cast<std::ptrdiff_t>(from),
                      far[0].bytes.begin() + static_cast<std::ptrdiff_t>(from + size_B),
                      far[1].bytes.begin() + static_cast<std::ptrdiff_t>(to));
  }

  FarMemory far[2];
  std::uint32_t far_key[2];
};

TEST(FarMemory, WriteGoesFromProcessToProcess) {
  FarPair pair;
  pair.post(pair.far_request(WrOpcode::kWrite, 3000));
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.arrived(100, 2048, 3000));
  ASSERT_EQ(pair.far[1].writes.size(), 3U);
  EXPECT_EQ(pair.far[1].writes[2].va, kFarVa + 2048 + 2048);
  EXPECT_EQ(pair.far[1].writes[2].size_B, 952U);
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

// Posted writes do not pass each other: jitter of memory never shows a completion before its data.
TEST(FarMemory, DataIsVisibleInOrderBeforeCompletion) {
  RcOptions options;
  options.depth = 256;
  options.pair.tune = [](std::uint32_t, DeviceConfig& config) { config.host.memory_jitter_ps = us(5); };
  FarPair pair(options);
  for (int i = 0; i < 100; ++i) {
    pair.far_receive(2048);
    pair.post(pair.far_request(WrOpcode::kSend, 1500));
  }
  pair.run();
  auto received = pair.received();
  ASSERT_EQ(received.size(), 100U);
  ASSERT_EQ(pair.far[1].writes.size(), 200U);
  for (std::size_t i = 0; i < 200; ++i) {
    const FarMemory::Write& write = pair.far[1].writes[i];
    EXPECT_GE(write.visible_ps, pair.far[1].writes[i == 0 ? 0 : i - 1].visible_ps);
    EXPECT_GE(received[i / 2].visible_ps, write.visible_ps) << i;
  }
}

// The only packet of a 100-byte WRITE: visible when it arrived, crossed PCIe (5.0 x16) and the root complex (100 ns).
TEST(FarMemory, BecomesVisibleAtDmaWriteTime) {
  FarPair pair;
  pair.post(pair.far_request(WrOpcode::kWrite, 100));
  pair.run();
  ASSERT_EQ(pair.far[1].writes.size(), 1U);
  Time_ps arrived_ps =
      pair.sent(0)[0].time_ps + (14 + 20 + 8 + 12 + 16 + 100 + 4 + 4 + 20) * 80 + support::kFlight_ps + ns(100);
  EXPECT_GE(pair.far[1].writes[0].visible_ps, arrived_ps + ns(100));
  EXPECT_LT(pair.far[1].writes[0].visible_ps, arrived_ps + ns(100) + ns(10)) << "100 bytes at about 60 GB/s";
}

TEST(FarMemory, HoldsReadDataAndAtomicResults) {
  FarPair pair;
  std::vector<std::uint8_t> remote = pair.far[1].bytes;
  pair.post(pair.far_request(WrOpcode::kRead, 2000));
  SendRequest add = pair.far_request(WrOpcode::kFetchAdd, 8);
  add.local_va = kFarVa + 8000;
  add.remote_va = kFarVa + 9000;
  add.swap_add = 1;
  pair.post(add);
  pair.run();
  for (const Completion& c : pair.sent_completions()) EXPECT_EQ(c.status, WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(remote.begin() + 2048, remote.begin() + 4048, pair.far[0].bytes.begin() + 100));
  EXPECT_TRUE(std::equal(remote.begin() + 9000, remote.begin() + 9008, pair.far[0].bytes.begin() + 8000));
  ASSERT_EQ(pair.far[1].writes.size(), 1U) << "the sum";
  EXPECT_EQ(pair.far[1].bytes[9000], static_cast<std::uint8_t>(remote[9000] + 1));
  ASSERT_EQ(pair.far[0].writes.size(), 3U) << "two READ responses, one result";
}

TEST(FarMemory, DatagramIncludesGrh) {
  RcOptions options;
  options.type = QpType::kUd;
  options.pair.tune = [](std::uint32_t, DeviceConfig& config) {
    config.host.make_grh = [](void*, const engine::Packet& packet, const GroupGid*,
                              std::span<std::uint8_t, kGrh_B> out) {
      std::fill(out.begin(), out.end(), static_cast<std::uint8_t>(0xa0 + packet.dst));
    };
  };
  FarPair pair(options);
  pair.far_receive(1024 + 40);
  pair.post(pair.far_request(WrOpcode::kSend, 500));
  pair.run();
  ASSERT_EQ(pair.received().size(), 1U);
  EXPECT_EQ(pair.far[1].bytes[2048], 0xa1);
  EXPECT_EQ(pair.far[1].bytes[2048 + 39], 0xa1);
  EXPECT_TRUE(pair.arrived(100, 2048 + 40, 500));
}

struct Death {
  WrOpcode opcode;
  std::uint32_t side;  // whose memory dies …
  int after;           // … after so many operations
  WcStatus sender;
  QpState state[2];
};

TEST(FarMemory, DeadProcessFailsOperation) {
  constexpr QpState kRts = QpState::kRts, kErr = QpState::kErr;
  constexpr WcStatus kLocal = WcStatus::kLocalProtectionError, kRemote = WcStatus::kRemoteOperationError;
  const Death deaths[] = {
      {WrOpcode::kWrite, 0, 0, kLocal, {kErr, kRts}},     {WrOpcode::kWrite, 0, 2, kLocal, {kErr, kRts}},
      {WrOpcode::kWrite, 1, 1, kRemote, {kErr, kErr}},    {WrOpcode::kSend, 1, 0, kRemote, {kErr, kErr}},
      {WrOpcode::kRead, 0, 1, kLocal, {kErr, kRts}},      {WrOpcode::kRead, 1, 1, kRemote, {kErr, kErr}},
      {WrOpcode::kFetchAdd, 0, 0, kLocal, {kErr, kRts}},  {WrOpcode::kFetchAdd, 1, 0, kRemote, {kErr, kErr}},
      {WrOpcode::kFetchAdd, 1, 1, kRemote, {kErr, kErr}},
  };
  for (const Death& death : deaths) {
    FarPair pair;
    pair.far_receive(4000);
    pair.far[death.side].operations_left = death.after;
    pair.post(pair.far_request(death.opcode, is_atomic(death.opcode) ? 8 : 3000));
    pair.run();
    std::string what = std::to_string(static_cast<int>(death.opcode)) + " side " + std::to_string(death.side) +
                       " after " + std::to_string(death.after);
    EXPECT_EQ(pair.only_completion().status, death.sender) << what;
    EXPECT_EQ(pair.state(0), death.state[0]) << what;
    EXPECT_EQ(pair.state(1), death.state[1]) << what;
    auto received = pair.received();
    if (death.state[1] == kErr) {
      ASSERT_EQ(received.size(), 1U) << what;
      EXPECT_EQ(received[0].status, death.opcode == WrOpcode::kSend ? kLocal : WcStatus::kFlushError) << what;
    }
    EXPECT_EQ(pair.slots_in_use(), 0U) << what;
    EXPECT_TRUE(pair.ledger_balances()) << what;
  }
}

// What is ahead of the WQE whose memory is gone ends well first.
TEST(FarMemory, EarlierWorkCompletesBeforeFailure) {
  FarPair pair;
  pair.far[0].operations_left = 1;
  pair.post(pair.far_request(WrOpcode::kWrite, 100));
  pair.post(pair.far_request(WrOpcode::kWrite, 100));
  pair.post(pair.far_request(WrOpcode::kWrite, 100));
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 3U);
  EXPECT_EQ(completions[0].status, WcStatus::kSuccess);
  EXPECT_EQ(completions[1].status, WcStatus::kLocalProtectionError);
  EXPECT_EQ(completions[2].status, WcStatus::kFlushError);
}

TEST(FarMemory, RemovedKeyEndsRead) {
  RcOptions options;
  options.pair.model[1].response_latency_ps = us(10);
  FarPair pair(options);
  pair.post(pair.far_request(WrOpcode::kRead, 3000));
  pair.node(1).at(us(5), [&] { EXPECT_TRUE(pair.device(1).memory().remove(pair.far_key[1])); });
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kRemoteOperationError);
  EXPECT_EQ(pair.state(1), QpState::kErr);
}

TEST(FarMemory, DropsDatagramForDeadProcess) {
  RcOptions options;
  options.type = QpType::kUd;
  FarPair pair(options);
  pair.far[1].operations_left = 0;
  pair.far_receive(1024 + 40);
  pair.post(pair.far_request(WrOpcode::kSend, 500));
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess) << "nobody tells the sender";
  auto received = pair.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].status, WcStatus::kLocalProtectionError);
  EXPECT_EQ(pair.state(1), QpState::kErr);
}

}  // namespace
}  // namespace weft::nic
