#include "wire/crc32.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string_view>
#include <vector>

#include "base/random.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

std::vector<Crc32Method> available_methods() {
  std::vector<Crc32Method> methods;
  for (const auto method : {Crc32Method::kTable, Crc32Method::kArmCrc32, Crc32Method::kX86Pclmul}) {
    if (is_available(method)) methods.push_back(method);
  }
  return methods;
}

// One bit at a time, as the polynomial division is defined.
std::uint32_t crc32_bitwise(std::uint32_t state, Bytes bytes) {
  for (const std::uint8_t byte : bytes) {
    state ^= byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) * 0xedb88320);
  }
  return state;
}

TEST(Crc32, MatchesStandardCheckValue) {
  const std::string_view digits = "123456789";
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(digits.data()), digits.size());
  for (const auto method : available_methods()) {
    EXPECT_EQ(~crc32_update(method, kCrc32Init, bytes), 0xcbf43926U) << name(method);
  }
  EXPECT_EQ(~crc32_update(kCrc32Init, bytes), 0xcbf43926U);
}

TEST(Crc32, StateAfterMaskedLrh) {
  EXPECT_EQ(crc32_update(kCrc32Init, hex("ffffffffffffffff")), 0xdebb20e3U);
}

// Every length around the block sizes of every method, at odd alignments.
TEST(Crc32, MethodsAgreeAtEveryLength) {
  RandomStream random(1, 1, RandomPurpose::kTest);
  std::vector<std::uint8_t> bytes(700);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  for (std::size_t size_B = 0; size_B < 690; ++size_B) {
    const Bytes part = Bytes(bytes).subspan(size_B % 9, size_B);
    const auto state = static_cast<std::uint32_t>(random.next());
    const std::uint32_t expected = crc32_bitwise(state, part);
    for (const auto method : available_methods()) {
      ASSERT_EQ(crc32_update(method, state, part), expected) << name(method) << " of " << size_B;
    }
    ASSERT_EQ(crc32_update(state, part), expected) << size_B;
  }
}

RC_GTEST_PROP(Crc32, StatesChain, (const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b)) {
  std::vector<std::uint8_t> both = a;
  both.insert(both.end(), b.begin(), b.end());
  for (const auto method : available_methods()) {
    RC_ASSERT(crc32_update(method, crc32_update(method, kCrc32Init, a), b) == crc32_update(method, kCrc32Init, both));
  }
}

TEST(Crc32, UsesCpuInstructionsIfAvailable) {
  EXPECT_TRUE(is_available(Crc32Method::kTable));
  EXPECT_TRUE(is_available(best_crc32_method()));
  EXPECT_EQ(best_crc32_method() == Crc32Method::kTable, available_methods().size() == 1);
}

}  // namespace
}  // namespace weft::wire
