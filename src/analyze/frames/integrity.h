// Check 1, frame integrity: ICRC, lengths, padding, opcode. Per frame; knows nothing of messages.
#pragma once

#include <array>
#include <cstdint>

#include "analyze/findings/finding.h"
#include "analyze/frames/frame.h"

namespace weft::analyze {

class Integrity {
 public:
  void see(const Frame& frame) {
    ++frames_;
    if (frame.icrc == IcrcState::kGood) ++icrc_good_;
    if (frame.problems != 0 || frame.icrc == IcrcState::kBad) note(frame);
  }
  void finish(Findings& findings) const;

  std::uint64_t icrc_good() const { return icrc_good_; }
  std::uint64_t icrc_bad() const { return seen_[0].count; }

 private:
  struct Seen {
    std::uint64_t count = 0;
    std::vector<Evidence> first;
  };
  void note(const Frame& frame);
  void add(std::size_t kind, const Frame& frame);

  std::uint64_t frames_ = 0, icrc_good_ = 0;
  std::array<Seen, 8> seen_;  // by kind of the table in the .cc
};

}  // namespace weft::analyze
