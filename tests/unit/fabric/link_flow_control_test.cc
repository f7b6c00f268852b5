#include "fabric/link_flow_control.h"

#include <gtest/gtest.h>

namespace weft::fabric {
namespace {

constexpr Time_ps kByte_ps = 80;  // 100 Gb/s: a quantum of 512 bits takes 5,120 ps

PauseRequest xoff(std::uint8_t classes, std::uint16_t quanta) {
  return {classes, 0, quanta};
}
PauseRequest xon(std::uint8_t classes) {
  return {0, classes, 0};
}

TEST(TransmitControl, XoffStopsClassesUntilTimerExpires) {
  TransmitControl pause(FlowControl::kPfc, kAllClasses, kByte_ps);
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
  pause.receive(xoff(0x0a, 100), us(1));
  EXPECT_EQ(pause.blocked(), 0x0a);
  EXPECT_EQ(pause.next_expiry_ps(), us(1) + 512'000);
  pause.expire(us(1) + 511'999);
  EXPECT_EQ(pause.blocked(), 0x0a);
  pause.expire(us(1) + 512'000);
  EXPECT_EQ(pause.blocked(), 0);
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
  EXPECT_EQ(pause.total_ps(1, us(9)), 512'000);
  EXPECT_EQ(pause.total_ps(3, us(9)), 512'000);
  EXPECT_EQ(pause.total_ps(0, us(9)), 0);
}

TEST(TransmitControl, XonReleasesOnlyNamedClasses) {
  TransmitControl pause(FlowControl::kPfc, kAllClasses, kByte_ps);
  pause.receive(xoff(0x18, 0xffff), 0);
  pause.receive(xon(0x08), us(2));
  EXPECT_EQ(pause.blocked(), 0x10);
  EXPECT_EQ(pause.total_ps(3, us(5)), us(2));
  EXPECT_EQ(pause.total_ps(4, us(5)), us(5)) << "still running";
}

// 802.1Qbb 36.2: a new frame replaces the timer, longer or shorter.
TEST(TransmitControl, LaterXoffRestartsTimer) {
  TransmitControl pause(FlowControl::kPfc, kAllClasses, kByte_ps);
  pause.receive(xoff(0x08, 100), 0);
  pause.receive(xoff(0x08, 100), 400'000);
  EXPECT_EQ(pause.next_expiry_ps(), 912'000);
  pause.receive(xoff(0x08, 1), 500'000);
  EXPECT_EQ(pause.next_expiry_ps(), 505'120);
  EXPECT_EQ(pause.transitions(3), 1U) << "it was stopped all along";
  pause.expire(505'120);
  pause.receive(xoff(0x08, 1), 600'000);
  EXPECT_EQ(pause.transitions(3), 2U);
  EXPECT_EQ(pause.total_ps(3, 600'000), 505'120);
}

TEST(TransmitControl, EarliestClassExpiresFirst) {
  TransmitControl pause(FlowControl::kPfc, kAllClasses, kByte_ps);
  pause.receive(xoff(0x01, 50), 0);
  pause.receive(xoff(0x02, 10), 0);
  EXPECT_EQ(pause.next_expiry_ps(), 51'200);
  pause.expire(51'200);
  EXPECT_EQ(pause.blocked(), 0x01);
  EXPECT_EQ(pause.next_expiry_ps(), 256'000);
}

TEST(TransmitControl, IgnoredClassesOnlyCount) {
  TransmitControl pause(FlowControl::kPfc, 0x08, kByte_ps);
  pause.receive(xoff(0x0c, 100), 0);
  EXPECT_EQ(pause.blocked(), 0x08);
  EXPECT_EQ(pause.frames(2), 1U);
  EXPECT_EQ(pause.frames(3), 1U);
  EXPECT_EQ(pause.transitions(2), 0U);
  pause.receive(xon(0x0c), us(1));
  EXPECT_EQ(pause.frames(2), 2U);
  EXPECT_EQ(pause.frames(3), 2U);
  EXPECT_EQ(pause.total_ps(2, us(5)), 0);
}

TEST(TransmitControl, XonForUnpausedClassChangesNothing) {
  TransmitControl pause(FlowControl::kPfc, kAllClasses, kByte_ps);
  pause.receive(xon(0xff), us(3));
  EXPECT_EQ(pause.blocked(), 0);
  EXPECT_EQ(pause.total_ps(0, us(5)), 0);
  EXPECT_EQ(pause.transitions(0), 0U);
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
}

TEST(TransmitControl, OneFrameStopsAndReleases) {
  TransmitControl pause(FlowControl::kPfc, kAllClasses, kByte_ps);
  pause.receive(xoff(0x01, 100), 0);
  pause.receive({0x02, 0x01, 100}, 1000);
  EXPECT_EQ(pause.blocked(), 0x02);
}

TEST(TransmitControl, LinkDownClearsAll) {
  TransmitControl pause(FlowControl::kPfc, kAllClasses, kByte_ps);
  pause.receive(xoff(0xff, 0xffff), us(1));
  pause.release_all(us(4));
  EXPECT_EQ(pause.blocked(), 0);
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
  for (std::size_t c = 0; c < kPauseClasses; ++c) EXPECT_EQ(pause.total_ps(c, us(9)), us(3));
}

// 802.3 31B knows no classes; without flow control nobody listens.
TEST(TransmitControl, KindDeterminesHonouredFrames) {
  TransmitControl whole(FlowControl::kPause, 0x08, kByte_ps);
  whole.receive(xoff(kAllClasses, 100), 0);
  EXPECT_EQ(whole.blocked(), kAllClasses);
  TransmitControl none(FlowControl::kNone, 0x08, kByte_ps);
  none.receive(xoff(kAllClasses, 100), 0);
  EXPECT_EQ(none.blocked(), 0);
  EXPECT_EQ(none.frames(3), 1U);
}

TEST(PauseRequest, OutlivesPacket) {
  engine::Packet packet = pause_packet(FlowControl::kPause, {0x81, 0x42, 0xbeef}, 77);
  EXPECT_EQ(packet.transport, engine::kLinkControl);
  EXPECT_EQ(packet.src, 77U);
  EXPECT_EQ(packet.endpoint, 0U);
  EXPECT_EQ(kind_of(packet), FlowControl::kPause);
  PauseRequest request = PauseRequest::of(packet);
  EXPECT_EQ(request.xoff, 0x81);
  EXPECT_EQ(request.xon, 0x42);
  EXPECT_EQ(request.quanta, 0xbeef);
  EXPECT_EQ(pause_quantum_ps(kByte_ps), 5120) << "512 bits at 100 Gb/s";
}

constexpr std::uint16_t kQuanta = 100;
constexpr Time_ps kRefresh_ps = 100 * 5120 / 2;
// Buffer 1 stops class 6; the others their own number.
ReceiveControl receiver(FlowControl kind, RefreshClock clock = RefreshClock::kRunsOn) {
  return {kind, {0, 6, 2, 3, 4, 5, 6, 7}, kQuanta, kByte_ps, clock};
}

TEST(ReceiveControl, PfcStopsClassesOfFullBuffers) {
  ReceiveControl control = receiver(FlowControl::kPfc);
  PauseRequest request = control.hold(1u << 1, us(1));
  EXPECT_EQ(request.xoff, 1u << 6);
  EXPECT_EQ(request.xon, 0);
  EXPECT_EQ(request.quanta, kQuanta);
  EXPECT_EQ(control.held(), 1u << 1);
  EXPECT_TRUE(control.hold(1u << 1, us(2)).is_empty()) << "it is stopped already";
  EXPECT_EQ(control.hold(1u << 1 | 1u << 3, us(2)).xoff, 1u << 3) << "only what is new";
  request = control.release(1u << 1, us(5));
  EXPECT_EQ(request.xoff, 0);
  EXPECT_EQ(request.xon, 1u << 6);
  EXPECT_EQ(control.held(), 1u << 3);
  EXPECT_EQ(control.total_ps(6, us(9)), us(4));
  EXPECT_EQ(control.ended_ps(3), 0);
  EXPECT_EQ(control.total_ps(3, us(9)), us(7)) << "still running";
  EXPECT_EQ(control.pauses(6), 1U);
  EXPECT_EQ(control.pauses(1), 0U);
}

TEST(ReceiveControl, LinkPauseEndsWithLastBuffer) {
  ReceiveControl control = receiver(FlowControl::kPause);
  EXPECT_EQ(control.hold(1u << 2, 0).xoff, kAllClasses);
  EXPECT_EQ(control.hold(1u << 3, us(1)).xoff, kAllClasses);
  EXPECT_TRUE(control.release(1u << 2, us(2)).is_empty());
  EXPECT_EQ(control.release(1u << 3, us(3)).xon, kAllClasses);
}

TEST(ReceiveControl, HoldsNothingWithoutFlowControl) {
  ReceiveControl control = receiver(FlowControl::kNone);
  EXPECT_TRUE(control.hold(kAllClasses, 0).is_empty());
  EXPECT_EQ(control.held(), 0);
  EXPECT_EQ(control.refresh_ps(), kNever_ps);
}

TEST(ReceiveControl, RefreshesPauseBeforeExpiry) {
  ReceiveControl control = receiver(FlowControl::kPfc);
  EXPECT_EQ(control.refresh_ps(), kNever_ps);
  control.hold(1u << 3, us(1));
  EXPECT_EQ(control.refresh_ps(), us(1) + kRefresh_ps);
  control.hold(1u << 4, us(1) + 1000);
  EXPECT_EQ(control.refresh_ps(), us(1) + kRefresh_ps) << "one clock for all";
  EXPECT_EQ(control.refresh(us(1) + kRefresh_ps).xoff, 1u << 3 | 1u << 4);
  EXPECT_EQ(control.refresh_ps(), us(1) + 2 * kRefresh_ps);
}

TEST(ReceiveControl, RefreshTimerContinuesOrRestarts) {
  for (RefreshClock clock : {RefreshClock::kRunsOn, RefreshClock::kStartsOver}) {
    bool runs_on = clock == RefreshClock::kRunsOn;
    ReceiveControl control = receiver(FlowControl::kPfc, clock);
    control.hold(1u << 3, 0);
    control.release(1u << 3, 1000);
    EXPECT_EQ(control.refresh_ps(), runs_on ? kRefresh_ps : kNever_ps);
    control.hold(1u << 3, 2000);
    EXPECT_EQ(control.refresh_ps(), runs_on ? kRefresh_ps : 2000 + kRefresh_ps);
    control.release(1u << 3, 3000);
    EXPECT_TRUE(control.refresh(kRefresh_ps).is_empty()) << "nothing is held";
    EXPECT_EQ(control.refresh_ps(), kNever_ps);
  }
}

TEST(ReceiveControl, LinkDownClearsWithoutFrame) {
  ReceiveControl control = receiver(FlowControl::kPfc, RefreshClock::kStartsOver);
  control.hold(1u << 3 | 1u << 5, us(1));
  control.forget(control.held(), us(4));
  EXPECT_EQ(control.held(), 0);
  EXPECT_EQ(control.ended_ps(3), us(3));
  EXPECT_EQ(control.ended_ps(5), us(3));
  EXPECT_EQ(control.refresh_ps(), kNever_ps);
}

TEST(ReceiveControl, CountsFramesPerClass) {
  ReceiveControl control = receiver(FlowControl::kPfc);
  control.count_sent({1u << 3, 1u << 5, kQuanta});
  control.count_sent({0, 1u << 3, 0});
  EXPECT_EQ(control.frames(3), 2U);
  EXPECT_EQ(control.frames(5), 1U);
  EXPECT_EQ(control.frames(0), 0U);
}

}  // namespace
}  // namespace weft::fabric
