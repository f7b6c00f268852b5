// Check 23, Ultra Ethernet transport: CRC, trimmed packets and whether they are retransmitted, SACKs against what was
// sent, duplicates, retransmissions that nothing asked for. A packet delivery context is known by the address and the
// number of the end that sends its requests, at each capture point.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/frames/addresses.h"
#include "analyze/frames/frame.h"
#include "wire/uet.h"

namespace weft::analyze {

class UetCheck {
 public:
  void see(const Frame& frame);
  void finish(const Addresses& addresses, Findings& findings) const;

 private:
  static constexpr std::size_t kMostContexts = 65'536;
  static constexpr std::uint32_t kWindow = 1024;  // PSNs that are remembered behind the highest

  struct Context {
    AddressId src = 0, dst = 0;
    std::uint16_t id = 0;
    std::uint32_t first = 0, highest = 0, frames = 0;
    std::int64_t last_answer_ns = -1;
    std::array<std::uint64_t, kWindow / 64> sent{};
    std::array<std::uint64_t, kWindow / 64> asked_again{};  // by a NACK, or left out by a SACK
    std::array<std::uint64_t, kWindow / 64> trimmed{};      // seen without their end
  };
  struct Seen {
    std::uint64_t count = 0;
    std::vector<Evidence> first;
  };
  enum Kind : std::uint8_t { kCrc, kSack, kTrim, kTimeout, kDuplicate, kKinds };

  Context* context_of(const Frame& frame, AddressId requester, std::uint16_t id, bool make);
  void see_request(const Frame& frame, const wire::Pds& pds);
  void see_ack(const Frame& frame, const wire::Pds& pds);
  void see_nack(const Frame& frame, const wire::Pds& pds);
  void note(Kind kind, const Frame& frame, std::string text);

  std::unordered_map<std::uint64_t, Context> contexts_;
  std::array<Seen, kKinds> seen_;
  std::uint64_t frames_ = 0, requests_ = 0, crc_checked_ = 0, encrypted_ = 0;
};

}  // namespace weft::analyze
