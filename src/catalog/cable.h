// Kinds of cables and of forward error correction, and the catalog's data on a cable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "text/word.h"

namespace weft::lab {

enum class CableKind : std::uint8_t { kDac, kAoc, kFibre };
enum class Fec : std::uint8_t { kNone, kBaseR, kRs528, kRs544 };
inline constexpr std::size_t kCableKindCount = 3;
inline constexpr std::size_t kFecCount = 4;
std::string_view to_string(CableKind kind);  // "dac"
std::string_view to_string(Fec fec);         // "base-r"
std::span<const Word<CableKind>> cable_words();
std::span<const Word<Fec>> fec_words();  // without "auto"

struct CableModel {
  std::int64_t propagation_ps_per_m = 0;
  std::int64_t max_length_mm = 0;
};

}  // namespace weft::lab
