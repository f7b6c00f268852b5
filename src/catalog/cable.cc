#include "catalog/cable.h"

namespace weft::lab {
namespace {

constexpr Word<CableKind> kCableWords[kCableKindCount] = {
    {"dac", CableKind::kDac}, {"aoc", CableKind::kAoc}, {"fibre", CableKind::kFibre}};
constexpr Word<Fec> kFecWords[kFecCount] = {
    {"none", Fec::kNone}, {"base-r", Fec::kBaseR}, {"rs528", Fec::kRs528}, {"rs544", Fec::kRs544}};

}  // namespace

std::span<const Word<CableKind>> cable_words() {
  return kCableWords;
}
std::span<const Word<Fec>> fec_words() {
  return kFecWords;
}
std::string_view to_string(CableKind kind) {
  return word_of(cable_words(), kind);
}
std::string_view to_string(Fec fec) {
  return word_of(fec_words(), fec);
}

}  // namespace weft::lab
