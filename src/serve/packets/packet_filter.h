// The filter of the packet list (docs/api.md): words that all must hold. "ce", "not cnp", "qp==0x11", "psn>=100",
// "opcode==WRITE", "port==leaf0:swp1"; any other word is text to look for in the line, in quotes with spaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "analyze/addresses.h"
#include "analyze/frame.h"
#include "wire/ipv6.h"

namespace weft::serve {

// What a filter may ask about a frame.
struct FilteredPacket {
  const analyze::Frame& frame;
  const analyze::Addresses& addresses;
  std::string_view port;
  std::string_view comment;
  bool sent_again = false;
};

class PacketFilter {
 public:
  // The error says which word is wrong, and how it is written.
  static tl::expected<PacketFilter, std::string> parse(std::string_view text);

  bool holds(const FilteredPacket& packet) const;
  bool empty() const { return words_.empty(); }
  bool asks_for_icrc() const;

 private:
  enum class What : std::uint8_t {
    kCe,
    kCnp,
    kNak,
    kPause,
    kAgain,
    kCorrupt,
    kLost,
    kPort,
    kQp,
    kPsn,
    kLength,
    kNumber,
    kClass,
    kIp,
    kFrom,
    kTo,
    kOpcode,
    kText,
  };
  enum class Compare : std::uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  struct Word {
    What what = What::kText;
    Compare compare = Compare::kEqual;
    bool negated = false;
    std::uint64_t number = 0;
    wire::IpAddress address{};
    std::string text;  // in lower case, of kText, kPort and kOpcode
  };
  static tl::expected<Word, std::string> parse_word(std::string_view text);
  static bool holds(const Word& word, const FilteredPacket& packet);

  std::vector<Word> words_;
};

}  // namespace weft::serve
