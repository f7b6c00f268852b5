// What tests draw at random: everything follows from the seed and the owner.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/random.h"

namespace weft::support {

class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t owner) : stream_(seed, owner, RandomPurpose::kTest) {}
  // Uniform in [low, high].
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + pick(0, static_cast<std::int64_t>(values.size()) - 1));
  }

 private:
  RandomStream stream_;
};

}  // namespace weft::support
