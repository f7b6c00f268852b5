#include "fabric/port_pause.h"

#include <gtest/gtest.h>

namespace weft::fabric {
namespace {

using engine::PauseRequest;

constexpr Time_ps kQuantum_ps = 5120;  // 512 bits at 100 Gb/s
constexpr std::uint8_t kAll = 0xff;

PauseRequest xoff(std::uint8_t classes, std::uint16_t quanta) {
  return {classes, 0, quanta};
}
PauseRequest xon(std::uint8_t classes) {
  return {0, classes, 0};
}

TEST(PortPause, XoffStopsItsClassesUntilTheTimeIsOver) {
  PortPause pause;
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
  pause.apply(xoff(0x0a, 100), kAll, us(1), kQuantum_ps);
  EXPECT_EQ(pause.paused(), 0x0a);
  EXPECT_EQ(pause.next_expiry_ps(), us(1) + 512'000);
  pause.expire(us(1) + 511'999);
  EXPECT_EQ(pause.paused(), 0x0a);
  pause.expire(us(1) + 512'000);
  EXPECT_EQ(pause.paused(), 0);
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
  EXPECT_EQ(pause.total_ps(1, us(9)), 512'000);
  EXPECT_EQ(pause.total_ps(3, us(9)), 512'000);
  EXPECT_EQ(pause.total_ps(0, us(9)), 0);
}

TEST(PortPause, XonReleasesItsClassesAndNoOthers) {
  PortPause pause;
  pause.apply(xoff(0x18, 0xffff), kAll, 0, kQuantum_ps);
  pause.apply(xon(0x08), kAll, us(2), kQuantum_ps);
  EXPECT_EQ(pause.paused(), 0x10);
  EXPECT_EQ(pause.total_ps(3, us(5)), us(2));
  EXPECT_EQ(pause.total_ps(4, us(5)), us(5)) << "still running";
}

// 802.1Qbb 36.2: a new frame replaces the timer, longer or shorter.
TEST(PortPause, ALaterXoffSetsTheTimerAnew) {
  PortPause pause;
  pause.apply(xoff(0x08, 100), kAll, 0, kQuantum_ps);
  pause.apply(xoff(0x08, 100), kAll, 400'000, kQuantum_ps);
  EXPECT_EQ(pause.next_expiry_ps(), 912'000);
  pause.apply(xoff(0x08, 1), kAll, 500'000, kQuantum_ps);
  EXPECT_EQ(pause.next_expiry_ps(), 505'120);
  EXPECT_EQ(pause.transitions(3), 1U) << "it was stopped all along";
  pause.expire(505'120);
  pause.apply(xoff(0x08, 1), kAll, 600'000, kQuantum_ps);
  EXPECT_EQ(pause.transitions(3), 2U);
  EXPECT_EQ(pause.total_ps(3, 600'000), 505'120);
}

TEST(PortPause, TheEarliestOfSeveralClassesExpiresFirst) {
  PortPause pause;
  pause.apply(xoff(0x01, 50), kAll, 0, kQuantum_ps);
  pause.apply(xoff(0x02, 10), kAll, 0, kQuantum_ps);
  EXPECT_EQ(pause.next_expiry_ps(), 51'200);
  pause.expire(51'200);
  EXPECT_EQ(pause.paused(), 0x01);
  EXPECT_EQ(pause.next_expiry_ps(), 256'000);
}

TEST(PortPause, ClassesThatDoNotListenOnlyCount) {
  PortPause pause;
  pause.apply(xoff(0x0c, 100), 0x08, 0, kQuantum_ps);
  EXPECT_EQ(pause.paused(), 0x08);
  EXPECT_EQ(pause.frames(2), 1U);
  EXPECT_EQ(pause.frames(3), 1U);
  EXPECT_EQ(pause.transitions(2), 0U);
  pause.apply(xon(0x0c), 0x08, us(1), kQuantum_ps);
  EXPECT_EQ(pause.frames(2), 2U);
  EXPECT_EQ(pause.frames(3), 2U);
  EXPECT_EQ(pause.total_ps(2, us(5)), 0);
}

TEST(PortPause, XonForAFreeClassChangesNothing) {
  PortPause pause;
  pause.apply(xon(0xff), kAll, us(3), kQuantum_ps);
  EXPECT_EQ(pause.paused(), 0);
  EXPECT_EQ(pause.total_ps(0, us(5)), 0);
  EXPECT_EQ(pause.transitions(0), 0U);
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
}

TEST(PortPause, OneFrameMayStopAndRelease) {
  PortPause pause;
  pause.apply(xoff(0x01, 100), kAll, 0, kQuantum_ps);
  pause.apply({0x02, 0x01, 100}, kAll, us(0) + 1000, kQuantum_ps);
  EXPECT_EQ(pause.paused(), 0x02);
}

TEST(PortPause, ALinkThatGoesDownForgetsAll) {
  PortPause pause;
  pause.apply(xoff(0xff, 0xffff), kAll, us(1), kQuantum_ps);
  pause.release_all(us(4));
  EXPECT_EQ(pause.paused(), 0);
  EXPECT_EQ(pause.next_expiry_ps(), kNever_ps);
  for (std::size_t c = 0; c < kPauseClasses; ++c) EXPECT_EQ(pause.total_ps(c, us(9)), us(3));
}

}  // namespace
}  // namespace weft::fabric
