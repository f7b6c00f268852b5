#include "wire/extended_headers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

// A writer fills exactly the header's bytes, the view reads the same values back, and one byte less
// is refused.
template <typename View, typename Header>
void check_round_trip(const Header& header, void (*write)(const Header&, MutableBytes)) {
  std::vector<std::uint8_t> bytes(View::kSize_B + 1, 0xa5);
  write(header, bytes);
  RC_ASSERT(bytes.back() == 0xa5);
  const auto view = View::parse(bytes);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == header);
  const auto cut = View::parse(Bytes(bytes).first(View::kSize_B - 1));
  RC_ASSERT(!cut.has_value());
  RC_ASSERT(cut.error() == WireError::kTruncated);
}

RC_GTEST_PROP(ExtendedHeaders, RoundTrip, (std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint32_t key)) {
  check_round_trip<RethView>(Reth{a, key, static_cast<std::uint32_t>(b)}, write_reth);
  check_round_trip<AethView>(Aeth{static_cast<std::uint8_t>(a), any_u24()}, write_aeth);
  check_round_trip<AtomicEthView>(AtomicEth{a, key, b, c}, write_atomic_eth);
  check_round_trip<AtomicAckEthView>(AtomicAckEth{a}, write_atomic_ack_eth);
  check_round_trip<ImmDtView>(ImmDt{key}, write_imm_dt);
  check_round_trip<IethView>(Ieth{key}, write_ieth);
  check_round_trip<DethView>(Deth{key, static_cast<std::uint8_t>(b), any_u24()}, write_deth);
  check_round_trip<XrcEthView>(XrcEth{static_cast<std::uint8_t>(b), any_u24()}, write_xrc_eth);
}

TEST(ExtendedHeaders, FieldOffsetsMatchStandard) {
  const auto reth = hex("0001020304050607 08090a0b 0c0d0e0f");
  EXPECT_EQ(RethView::parse(reth)->header(), (Reth{0x0001020304050607, 0x08090a0b, 0x0c0d0e0f}));
  const auto atomic = hex("0001020304050607 08090a0b 0c0d0e0f10111213 1415161718191a1b");
  EXPECT_EQ(AtomicEthView::parse(atomic)->header(),
            (AtomicEth{0x0001020304050607, 0x08090a0b, 0x0c0d0e0f10111213, 0x1415161718191a1b}));
  EXPECT_EQ(AethView::parse(hex("1f 000007"))->header(), (Aeth{0x1f, 7}));
  EXPECT_EQ(DethView::parse(hex("80010000 ff 000001"))->header(), (Deth{0x80010000, 0xff, 1}));
  EXPECT_EQ(XrcEthView::parse(hex("7f 000203"))->header(), (XrcEth{0x7f, 0x203}));
}

}  // namespace
}  // namespace weft::wire
