// Counter-based random numbers: value n of a stream is a pure function of (seed, stream, n), so
// results do not depend on who drew before, on threads, or on how nodes are divided.
// The mixer is the finaliser of splitmix64 (Steele, Lea, Flood 2014), applied twice.
#pragma once

#include <cstdint>

namespace weft {

constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Purpose of a stream; part of its key.
enum class RandomPurpose : std::uint64_t {
  kPsn = 1,
  kKeys = 2,
  kFault = 3,
  kBitError = 4,
  kHostJitter = 5,
  kPayload = 6,
  kTest = 7,
  kFlows = 8,
  kEcn = 9,
  kRouting = 10,
  kImpairment = 11,
  kRecovery = 12,
  kForwarder = 20
};

class RandomStream {
 public:
  constexpr RandomStream() = default;
  constexpr RandomStream(std::uint64_t seed, std::uint64_t owner, RandomPurpose purpose)
      : key_(mix64(mix64(mix64(seed) ^ owner) ^ static_cast<std::uint64_t>(purpose))) {}

  constexpr std::uint64_t next() { return mix64(key_ ^ mix64(counter_++)); }
  // Uniform in [0, bound); bound > 0. Fixed point, no modulo bias worth a loop at 64 bits.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // True with probability `ppb` / 1e9.
  constexpr bool chance_ppb(std::uint64_t ppb) { return below(1'000'000'000) < ppb; }

 private:
  std::uint64_t key_ = 0;
  std::uint64_t counter_ = 0;
};

}  // namespace weft
