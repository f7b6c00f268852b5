// The filter of the packet list (docs/api.md). "ce", "not cnp", "qp==0x11", "psn>=100", "opcode==WRITE",
// "port==leaf0:swp1", "flow==incast/3", and Wireshark's names for the same: "ip.src == 10.0.0.2 &&
// infiniband.bth.opcode == 6". Joined by and, or, not and parentheses; words side by side must all match. Any
// other word is text to search for in the line, in quotes if it has spaces. An unknown field is an error, not an empty
// result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "analyze/frames/addresses.h"
#include "analyze/frames/frame.h"
#include "serve/packets/flow_ends.h"
#include "wire/ipv6.h"

namespace weft::serve {

// The facts of a frame that a filter can test.
struct FilteredPacket {
  const analyze::Frame& frame;
  const analyze::Addresses& addresses;
  std::string_view port;
  std::string_view comment;
  bool sent_again = false;
  std::int64_t first_ns = 0;            // time of the capture's first frame
  mutable std::string lower_text = {};  // its line in lower case, made when a word is first looked for
};

// The queue pairs of a flow by its name; empty: there is none.
using FlowLookup = std::function<std::vector<FlowEnds>(const std::string&)>;

class PacketFilter {
 public:
  // The error gives the wrong word, its position, and the valid words.
  static tl::expected<PacketFilter, std::string> parse(std::string_view text, const FlowLookup& flows = {});
  // The fields that a filter can compare, separated by commas.
  static std::string field_names();

  bool holds(const FilteredPacket& packet) const;
  bool empty() const { return nodes_.empty(); }
  bool asks_for_icrc() const;

 private:
  friend class PacketFilterParser;
  enum class What : std::uint8_t {
    kCe,
    kCnp,
    kNak,
    kPause,
    kAgain,
    kCorrupt,
    kLost,
    kRoce,
    kUdp,
    kIpv4,
    kIpv6,
    kPort,
    kQp,
    kPsn,
    kBthPsn,  // as Wireshark: of CNPs, too
    kRnr,
    kLength,
    kNumber,
    kClass,
    kIp,
    kFrom,
    kTo,
    kOpcode,
    kOpcodeNumber,
    kEcn,
    kDscp,
    kUdpPort,
    kUdpFrom,
    kUdpTo,
    kVlan,
    kVlanPriority,
    kTime,          // of the run, ns
    kTimeRelative,  // since the first frame, ns
    kFlow,          // all packets of its queue pairs
    kText,
  };
  enum class Compare : std::uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  struct Word {
    What what = What::kText;
    Compare compare = Compare::kEqual;
    std::uint64_t number = 0;
    wire::IpAddress address{};
    std::vector<FlowEnds> ends;  // of kFlow
    std::string text;            // in lower case, of kText, kPort and kOpcode
  };
  enum class Join : std::uint8_t { kWord, kAnd, kOr, kNot };
  // A tree in a vector: `left` and `right` are indices, of kWord that of the word.
  struct Node {
    Join join = Join::kWord;
    std::size_t left = 0, right = 0;
  };
  static bool holds(const Word& word, const FilteredPacket& packet);
  bool holds(std::size_t node, const FilteredPacket& packet) const;

  std::vector<Word> words_;
  std::vector<Node> nodes_;
  std::size_t root_ = 0;
};

}  // namespace weft::serve
