#include "wire/pfc.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

TEST(Pfc, FrameBytes) {
  Pfc pfc;
  pfc.src = {0x02, 0, 0, 0, 0, 0x11};
  pfc.class_enable = 1 << 3;
  pfc.quanta[3] = 0xffff;
  const auto frame = build_pfc_frame(pfc);
  auto expected = hex("0180c2000001 020000000011 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000");
  expected.resize(60);
  EXPECT_TRUE(std::equal(frame.begin(), frame.end(), expected.begin(), expected.end()));
}

TEST(Pfc, PauseFrameBytes) {
  const auto frame = build_pause_frame({.src = {0x02, 0, 0, 0, 0, 0x11}, .quanta = 0x1234});
  auto expected = hex("0180c2000001 020000000011 8808 0001 1234");
  expected.resize(60);
  EXPECT_TRUE(std::equal(frame.begin(), frame.end(), expected.begin(), expected.end()));
}

TEST(Pfc, PauseTimesAtStandardRates) {
  EXPECT_EQ(pause_time_ps(1, 10'000'000'000), 51'200);
  EXPECT_EQ(pause_time_ps(1, 100'000'000'000), 5'120);
  EXPECT_EQ(pause_time_ps(1, 800'000'000'000), 640);
  EXPECT_EQ(pause_time_ps(kMaxQuanta, 100'000'000'000), 335'539'200);
}

TEST(Pfc, RejectsOtherFrames) {
  auto frame = build_pfc_frame({});
  EXPECT_EQ(PauseView::parse(frame).error(), WireError::kNotMacControl);
  EXPECT_EQ(PfcView::parse(Bytes(frame).first(33)).error(), WireError::kTruncated);
  EXPECT_TRUE(PfcView::parse(Bytes(frame).first(34)));
  for (const std::size_t at : {std::size_t{0}, std::size_t{5}, std::size_t{12}, std::size_t{15}}) {
    frame[at] ^= 1;
    EXPECT_EQ(PfcView::parse(frame).error(), WireError::kNotMacControl) << at;
    frame[at] ^= 1;
  }
  const auto pause = build_pause_frame({});
  EXPECT_EQ(PfcView::parse(pause).error(), WireError::kNotMacControl);
  EXPECT_EQ(PauseView::parse(Bytes(pause).first(17)).error(), WireError::kTruncated);
}

RC_GTEST_PROP(Pfc, RoundTrip, ()) {
  Pfc pfc{any_bytes<6>(), any<std::uint8_t>(), {}};
  for (auto& quanta : pfc.quanta) quanta = any<std::uint16_t>();
  const auto frame = build_pfc_frame(pfc);
  const auto view = PfcView::parse(frame);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == pfc);
  for (std::size_t priority = 0; priority < 8; ++priority) {
    RC_ASSERT(view->is_enabled(priority) == ((pfc.class_enable & (1 << priority)) != 0));
  }
  const Pause pause{any_bytes<6>(), any_bytes<6>(), any<std::uint16_t>()};
  const auto pause_frame = build_pause_frame(pause);
  RC_ASSERT(PauseView::parse(pause_frame)->header() == pause);
}

}  // namespace
}  // namespace weft::wire
