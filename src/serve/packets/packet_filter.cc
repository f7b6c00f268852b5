#include "serve/packets/packet_filter.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "analyze/packet_line.h"
#include "wire/opcode.h"

namespace weft::serve {

namespace {

constexpr std::size_t kMostWords = 32;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<wire::IpAddress> address_of(const std::string& text) {
  wire::IpAddress address{};
  if (::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  address[10] = address[11] = 0xff;
  if (::inet_pton(AF_INET, text.c_str(), address.data() + 12) == 1) return address;
  return std::nullopt;
}

// Words, with quotes around those that hold spaces.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, any = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      if (any) words.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

bool is_of_port(std::string_view port, const std::string& asked) {
  const std::string name = lower(port);
  return name == asked || (name.starts_with(asked) && name.size() > asked.size() && name[asked.size()] == ':');
}

}  // namespace

tl::expected<PacketFilter::Word, std::string> PacketFilter::parse_word(std::string_view text) {
  static constexpr std::pair<std::string_view, What> kFlags[] = {{"ce", What::kCe},
                                                                 {"cnp", What::kCnp},
                                                                 {"nak", What::kNak},
                                                                 {"pause", What::kPause},
                                                                 {"again", What::kAgain},
                                                                 {"lost", What::kLost},
                                                                 {"retransmitted", What::kAgain},
                                                                 {"corrupt", What::kCorrupt}};
  static constexpr std::pair<std::string_view, What> kNames[] = {
      {"port", What::kPort},     {"qp", What::kQp},        {"psn", What::kPsn}, {"length", What::kLength},
      {"number", What::kNumber}, {"class", What::kClass},  {"ip", What::kIp},   {"from", What::kFrom},
      {"to", What::kTo},         {"opcode", What::kOpcode}};
  static constexpr std::pair<std::string_view, Compare> kSigns[] = {
      {"==", Compare::kEqual},     {"!=", Compare::kNotEqual}, {">=", Compare::kGreaterEqual},
      {"<=", Compare::kLessEqual}, {">", Compare::kGreater},   {"<", Compare::kLess}};
  Word word;
  const std::string small = lower(text);
  for (const auto& flag : kFlags) {
    if (small != flag.first) continue;
    word.what = flag.second;
    return word;
  }
  const std::size_t at = small.find_first_of("=!<>");
  const std::string_view name = std::string_view(small).substr(0, std::min(at, small.size()));
  const auto known =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& each) { return each.first == name; });
  if (at == small.npos || known == std::end(kNames)) {
    word.text = small;
    return word;
  }
  word.what = known->second;
  const std::string rest = small.substr(at);
  const auto sign = std::find_if(std::begin(kSigns), std::end(kSigns),
                                 [&](const auto& each) { return rest.starts_with(each.first); });
  if (sign == std::end(kSigns)) return tl::unexpected(fmt::format("'{}': write {}==VALUE", text, name));
  word.compare = sign->second;
  const std::string value = rest.substr(sign->first.size());
  const bool only_equal = word.what == What::kPort || word.what == What::kIp || word.what == What::kFrom ||
                          word.what == What::kTo || word.what == What::kOpcode;
  if (only_equal && word.compare != Compare::kEqual && word.compare != Compare::kNotEqual)
    return tl::unexpected(fmt::format("'{}': {} is compared by == or !=", text, name));
  if (value.empty()) return tl::unexpected(fmt::format("'{}': the value is missing", text));
  if (word.what == What::kPort || word.what == What::kOpcode) {
    word.text = value;
  } else if (only_equal) {
    const auto address = address_of(value);
    if (!address) return tl::unexpected(fmt::format("'{}': {} is no IP address", text, value));
    word.address = *address;
  } else {
    const auto number = number_of(value);
    if (!number) return tl::unexpected(fmt::format("'{}': {} is no number", text, value));
    word.number = *number;
  }
  return word;
}

tl::expected<PacketFilter, std::string> PacketFilter::parse(std::string_view text) {
  PacketFilter filter;
  bool negated = false;
  for (const std::string& each : words_of(text)) {
    const std::string small = lower(each);
    if (small == "and" || small == "&&") continue;
    if (small == "not" || small == "!") {
      negated = !negated;
      continue;
    }
    std::string_view body = each;
    if (body.size() > 1 && body.front() == '!') {
      body.remove_prefix(1);
      negated = !negated;
    }
    auto word = parse_word(body);
    if (!word) return tl::unexpected(word.error());
    word->negated = std::exchange(negated, false);
    filter.words_.push_back(std::move(*word));
    if (filter.words_.size() > kMostWords) return tl::unexpected(fmt::format("more than {} words", kMostWords));
  }
  if (negated) return tl::unexpected(std::string("what is not wanted is missing behind 'not'"));
  return filter;
}

bool PacketFilter::asks_for_icrc() const {
  return std::any_of(words_.begin(), words_.end(), [](const Word& word) { return word.what == What::kCorrupt; });
}

bool PacketFilter::holds(const Word& word, const FilteredPacket& packet) {
  const analyze::Frame& frame = packet.frame;
  const auto compared = [&](std::uint64_t value) {
    switch (word.compare) {
      case Compare::kEqual:
        return value == word.number;
      case Compare::kNotEqual:
        return value != word.number;
      case Compare::kLess:
        return value < word.number;
      case Compare::kLessEqual:
        return value <= word.number;
      case Compare::kGreater:
        return value > word.number;
      case Compare::kGreaterEqual:
        return value >= word.number;
    }
    return false;
  };
  const auto is_address = [&](analyze::AddressId id) {
    return id != analyze::kNone && packet.addresses.at(id) == word.address;
  };
  const bool equal = word.compare == Compare::kEqual;
  const bool roce = frame.kind == analyze::FrameKind::kRoce;
  switch (word.what) {
    case What::kCe:
      return frame.ip_version != 0 && frame.ce();
    case What::kCnp:
      return frame.is_cnp();
    case What::kNak:
      return analyze::is_nak(frame);
    case What::kPause:
      return frame.kind == analyze::FrameKind::kPfc || frame.kind == analyze::FrameKind::kPause;
    case What::kAgain:
      return packet.sent_again;
    case What::kCorrupt:
      return frame.icrc == analyze::IcrcState::kBad;
    case What::kLost:
      return packet.comment.find("weft: lost") != packet.comment.npos;
    case What::kPort:
      return is_of_port(packet.port, word.text) == equal;
    case What::kQp:
      return roce && compared(frame.dest_qp);
    case What::kPsn:
      return roce && !frame.is_cnp() && compared(frame.psn);
    case What::kLength:
      return compared(frame.wire_B);
    case What::kNumber:
      return compared(frame.number);
    case What::kClass:
      return frame.kind == analyze::FrameKind::kPfc && word.number < 8 && (frame.class_enable >> word.number & 1) != 0;
    case What::kIp:
      return (is_address(frame.src) || is_address(frame.dst)) == equal;
    case What::kFrom:
      return is_address(frame.src) == equal;
    case What::kTo:
      return is_address(frame.dst) == equal;
    case What::kOpcode:
      return roce && (lower(wire::name(frame.opcode)).find(word.text) != std::string::npos) == equal;
    case What::kText:
      break;
  }
  const analyze::PacketLine line = analyze::packet_line(frame, packet.addresses);
  for (const std::string_view part :
       {std::string_view(line.info), std::string_view(line.protocol), packet.port, std::string_view(line.source),
        std::string_view(line.destination), packet.comment})
    if (lower(part).find(word.text) != std::string::npos) return true;
  return false;
}

bool PacketFilter::holds(const FilteredPacket& packet) const {
  return std::all_of(words_.begin(), words_.end(),
                     [&](const Word& word) { return holds(word, packet) != word.negated; });
}

}  // namespace weft::serve
