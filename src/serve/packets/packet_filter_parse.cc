#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "serve/packets/filter_text.h"
#include "serve/packets/packet_filter.h"

namespace weft::serve {

// A piece of the text of a filter.
enum class FilterToken : std::uint8_t { kWord, kQuoted, kSign, kAnd, kOr, kNot, kOpen, kClose, kEnd };
struct FilterPiece {
  FilterToken token = FilterToken::kEnd;
  std::string text;  // of words: as written
  std::size_t at = 0;
};

namespace {

constexpr std::size_t kMostFilterWords = 256, kMostFilterDepth = 64;

std::optional<std::uint64_t> filter_number(std::string_view text) {
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// "20us", "1.5 ms"; a number alone has the unit `otherwise`. Nanoseconds.
std::optional<std::uint64_t> filter_time_ns(const std::string& text, std::string_view otherwise) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ps", 1e-3}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  char* stop = nullptr;
  const double value = std::strtod(text.c_str(), &stop);
  std::string_view unit = stop;
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) unit = otherwise;
  const auto it =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& each) { return each.first == unit; });
  if (stop == text.c_str() || it == std::end(kUnits) || !(value >= 0) || !(value * it->second < 9e18))
    return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(value * it->second));
}

bool is_filter_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The error is a character that is not valid at its position.
tl::expected<std::vector<FilterPiece>, std::string> filter_pieces(std::string_view text) {
  static constexpr std::pair<std::string_view, FilterToken> kPlain[] = {
      {"&&", FilterToken::kAnd},  {"||", FilterToken::kOr},   {"==", FilterToken::kSign}, {"!=", FilterToken::kSign},
      {">=", FilterToken::kSign}, {"<=", FilterToken::kSign}, {">", FilterToken::kSign},  {"<", FilterToken::kSign},
      {"!", FilterToken::kNot},   {"(", FilterToken::kOpen},  {")", FilterToken::kClose}};
  static constexpr std::pair<std::string_view, FilterToken> kWords[] = {
      {"and", FilterToken::kAnd}, {"or", FilterToken::kOr}, {"not", FilterToken::kNot}};
  std::vector<FilterPiece> pieces;
  for (std::size_t at = 0; at < text.size();) {
    if (is_filter_space(text[at])) {
      ++at;
      continue;
    }
    if (text[at] == '"') {
      const std::size_t end = text.find('"', at + 1);
      if (end == text.npos) return tl::unexpected(fmt::format("character {}: the quote is not closed", at + 1));
      pieces.push_back({FilterToken::kQuoted, std::string(text.substr(at + 1, end - at - 1)), at});
      at = end + 1;
      continue;
    }
    const auto plain = std::find_if(std::begin(kPlain), std::end(kPlain),
                                    [&](const auto& each) { return text.substr(at).starts_with(each.first); });
    if (plain != std::end(kPlain)) {
      pieces.push_back({plain->second, std::string(plain->first), at});
      at += plain->first.size();
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_filter_space(text[end]) &&
           std::string_view("\"()!=<>&|").find(text[end]) == std::string_view::npos)
      ++end;
    if (end == at)
      return tl::unexpected(fmt::format("character {}: '{}' is not an operator; {}", at + 1, text[at],
                                        text[at] == '=' ? "write ==" : "write && or ||"));
    std::string word(text.substr(at, end - at));
    const std::string small = lower_case(word);
    const auto join =
        std::find_if(std::begin(kWords), std::end(kWords), [&](const auto& each) { return each.first == small; });
    pieces.push_back({join == std::end(kWords) ? FilterToken::kWord : join->second, std::move(word), at});
    at = end;
  }
  pieces.push_back({FilterToken::kEnd, "the end", text.size()});
  return pieces;
}

// "ip.flags", "infiniband.bth.x": a name in the form of Wireshark's fields, of a protocol that can be in a capture.
bool reads_as_field(std::string_view word) {
  static constexpr std::string_view kProtocols[] = {"frame", "eth",  "vlan",       "ip",   "ipv6", "udp", "tcp",
                                                    "arp",   "icmp", "infiniband", "macc", "roce", "pfc", "weft"};
  const std::string_view first = word.substr(0, word.find('.'));
  return word.find('.') != word.npos &&
         std::find(std::begin(kProtocols), std::end(kProtocols), first) != std::end(kProtocols);
}

}  // namespace

// Recursive descent: or, and (also implicit between words), not, then words and parentheses.
class PacketFilterParser {
 public:
  using What = PacketFilter::What;
  using Compare = PacketFilter::Compare;
  using Join = PacketFilter::Join;
  struct Field {
    std::string_view name;
    What what;
  };
  static constexpr Field kFlags[] = {{"ce", What::kCe},
                                     {"cnp", What::kCnp},
                                     {"nak", What::kNak},
                                     {"rnr", What::kRnr},
                                     {"pause", What::kPause},
                                     {"again", What::kAgain},
                                     {"retransmitted", What::kAgain},
                                     {"lost", What::kLost},
                                     {"corrupt", What::kCorrupt},
                                     {"infiniband", What::kRoce},
                                     {"roce", What::kRoce},
                                     {"udp", What::kUdp},
                                     {"ip", What::kIpv4},
                                     {"ipv6", What::kIpv6}};
  static constexpr Field kFields[] = {{"port", What::kPort},
                                      {"qp", What::kQp},
                                      {"psn", What::kPsn},
                                      {"length", What::kLength},
                                      {"number", What::kNumber},
                                      {"class", What::kClass},
                                      {"ip", What::kIp},
                                      {"from", What::kFrom},
                                      {"to", What::kTo},
                                      {"opcode", What::kOpcode},
                                      {"time", What::kTime},
                                      {"flow", What::kFlow},
                                      {"frame.number", What::kNumber},
                                      {"frame.len", What::kLength},
                                      {"frame.time_relative", What::kTimeRelative},
                                      {"frame.interface_name", What::kPort},
                                      {"vlan.id", What::kVlan},
                                      {"vlan.priority", What::kVlanPriority},
                                      {"ip.addr", What::kIp},
                                      {"ip.src", What::kFrom},
                                      {"ip.dst", What::kTo},
                                      {"ip.dsfield.ecn", What::kEcn},
                                      {"ip.dsfield.dscp", What::kDscp},
                                      {"ipv6.addr", What::kIp},
                                      {"ipv6.src", What::kFrom},
                                      {"ipv6.dst", What::kTo},
                                      {"udp.port", What::kUdpPort},
                                      {"udp.srcport", What::kUdpFrom},
                                      {"udp.dstport", What::kUdpTo},
                                      {"infiniband.bth.opcode", What::kOpcode},
                                      {"infiniband.bth.destqp", What::kQp},
                                      {"infiniband.bth.psn", What::kBthPsn}};

  PacketFilterParser(std::vector<FilterPiece> pieces, const FlowLookup& flows)
      : pieces_(std::move(pieces)), flows_(flows) {}

  bool parse() {
    if (now().token == FilterToken::kEnd) return true;
    filter.root_ = any();
    if (problem.empty() && now().token != FilterToken::kEnd) fail(now(), "there is no matching (");
    return problem.empty();
  }

  PacketFilter filter;
  std::string problem;

 private:
  const FilterPiece& now() const { return pieces_[at_]; }
  FilterPiece take() { return pieces_[at_ + 1 < pieces_.size() ? at_++ : at_]; }
  void fail(const FilterPiece& where, const std::string& why) {
    if (problem.empty()) problem = fmt::format("'{}' (character {}): {}", where.text, where.at + 1, why);
  }
  std::size_t node(Join join, std::size_t left, std::size_t right) {
    filter.nodes_.push_back({join, left, right});
    return filter.nodes_.size() - 1;
  }

  std::size_t any() {
    std::size_t left = all();
    while (problem.empty() && now().token == FilterToken::kOr) {
      take();
      const std::size_t right = all();
      left = node(Join::kOr, left, right);
    }
    return left;
  }
  std::size_t all() {
    std::size_t left = one();
    while (problem.empty()) {
      const FilterToken next = now().token;
      if (next == FilterToken::kAnd) {
        take();
      } else if (next == FilterToken::kEnd || next == FilterToken::kOr || next == FilterToken::kClose) {
        break;
      }
      const std::size_t right = one();
      left = node(Join::kAnd, left, right);
    }
    return left;
  }
  std::size_t one() {
    const FilterPiece piece = take();
    if (++depth_ > kMostFilterDepth) {
      fail(piece, "nested too deeply");
      return 0;
    }
    std::size_t out = 0;
    if (piece.token == FilterToken::kNot) {
      const std::size_t inner = one();
      out = node(Join::kNot, inner, 0);
    } else if (piece.token == FilterToken::kOpen) {
      out = any();
      if (problem.empty() && take().token != FilterToken::kClose) fail(piece, "the parenthesis is not closed");
    } else if (piece.token == FilterToken::kWord || piece.token == FilterToken::kQuoted) {
      out = word(piece);
    } else if (piece.token == FilterToken::kSign) {
      fail(piece, "a field name is missing before it");
    } else {
      fail(piece, "a word is missing before it");
    }
    --depth_;
    return out;
  }
  std::size_t word(const FilterPiece& piece) {
    PacketFilter::Word made;
    const std::string name = lower_case(piece.text);
    const std::optional<Compare> sign = piece.token == FilterToken::kWord ? take_sign(name) : std::nullopt;
    if (sign) {
      compare(piece, name, *sign, made);
    } else if (piece.token == FilterToken::kQuoted) {
      made.text = name;
    } else if (const auto flag = std::find_if(std::begin(kFlags), std::end(kFlags),
                                              [&](const Field& each) { return each.name == name; });
               flag != std::end(kFlags)) {
      made.what = flag->what;
    } else if (reads_as_field(name)) {
      fail(piece, is_field(name) ? "a comparison is missing: write " + name + " == VALUE" : unknown(name));
    } else {
      made.text = name;
    }
    filter.words_.push_back(std::move(made));
    if (filter.words_.size() > kMostFilterWords) fail(piece, fmt::format("more than {} words", kMostFilterWords));
    return node(Join::kWord, filter.words_.size() - 1, 0);
  }
  static bool is_field(std::string_view name) {
    return std::any_of(std::begin(kFields), std::end(kFields), [&](const Field& each) { return each.name == name; });
  }
  static std::string unknown(const std::string& name) {
    return fmt::format("there is no field {}; fields are {}; write text in quotes", name, PacketFilter::field_names());
  }
  // "==", or "eq" after a field.
  std::optional<Compare> take_sign(std::string_view name) {
    static constexpr std::pair<std::string_view, Compare> kSigns[] = {
        {"==", Compare::kEqual},     {"!=", Compare::kNotEqual}, {">=", Compare::kGreaterEqual},
        {"<=", Compare::kLessEqual}, {">", Compare::kGreater},   {"<", Compare::kLess},
        {"eq", Compare::kEqual},     {"ne", Compare::kNotEqual}, {"ge", Compare::kGreaterEqual},
        {"le", Compare::kLessEqual}, {"gt", Compare::kGreater},  {"lt", Compare::kLess}};
    if (now().token != FilterToken::kSign && (now().token != FilterToken::kWord || !is_field(name)))
      return std::nullopt;
    const std::string sign = lower_case(now().text);
    for (const auto& each : kSigns) {
      if (each.first != sign) continue;
      take();
      return each.second;
    }
    return std::nullopt;
  }
  void compare(const FilterPiece& piece, const std::string& name, Compare sign, PacketFilter::Word& made) {
    const auto known =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& each) { return each.name == name; });
    if (known == std::end(kFields)) return fail(piece, unknown(name));
    made.what = known->what;
    made.compare = sign;
    if (now().token != FilterToken::kWord && now().token != FilterToken::kQuoted)
      return fail(piece, "the value is missing");
    const FilterPiece value = take();
    const bool address = made.what == What::kIp || made.what == What::kFrom || made.what == What::kTo;
    const std::string small = lower_case(value.text);
    const auto number = filter_number(small);
    if (made.what == What::kOpcode && number) made.what = What::kOpcodeNumber;
    const bool only_equal =
        address || made.what == What::kPort || made.what == What::kOpcode || made.what == What::kFlow;
    if (only_equal && sign != Compare::kEqual && sign != Compare::kNotEqual)
      return fail(piece, "use == or != with " + name);
    if (made.what == What::kPort || made.what == What::kOpcode) {
      made.text = small;
    } else if (made.what == What::kFlow) {
      if (flows_) made.ends = flows_(value.text);
      if (made.ends.empty()) return fail(value, "the run has no such flow");
    } else if (address) {
      const auto found = address_from_text(small);
      if (!found) return fail(value, "not an IP address");
      made.address = *found;
    } else if (made.what == What::kTime || made.what == What::kTimeRelative) {
      const auto time_ns = filter_time_ns(small, made.what == What::kTime ? "" : "s");
      if (!time_ns) return fail(value, made.what == What::kTime ? "not a time; write 20us" : "not a time in seconds");
      made.number = *time_ns;
    } else {
      if (!number) return fail(value, "not a number");
      made.number = *number;
    }
  }

  std::vector<FilterPiece> pieces_;
  const FlowLookup& flows_;
  std::size_t at_ = 0, depth_ = 0;
};

tl::expected<PacketFilter, std::string> PacketFilter::parse(std::string_view text, const FlowLookup& flows) {
  auto pieces = filter_pieces(text);
  if (!pieces) return tl::unexpected(pieces.error());
  PacketFilterParser parser(std::move(*pieces), flows);
  if (!parser.parse()) return tl::unexpected(parser.problem);
  return std::move(parser.filter);
}

std::string PacketFilter::field_names() {
  std::string names;
  for (const auto& each : PacketFilterParser::kFields) {
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return names;
}

}  // namespace weft::serve
