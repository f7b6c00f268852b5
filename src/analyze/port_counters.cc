#include "analyze/port_counters.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/files.h"

namespace weft::analyze {
namespace {

bool is_name(std::string_view word) {
  return !word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '/' || c == '.';
         });
}

// The next word of blanks, colons, equal signs and commas.
std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kBetween = " \t\r\n:=,\"{}[]";
  const std::size_t begin = std::min(text.find_first_not_of(kBetween), text.size());
  const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

// An address as the analysis writes it: IPv6 has many spellings. Nothing: it is none.
std::optional<std::string> address_text(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  char written[INET6_ADDRSTRLEN] = "";
  for (const int family : {AF_INET, AF_INET6})
    if (inet_pton(family, text.c_str(), bytes.data()) == 1)
      return inet_ntop(family, bytes.data(), written, sizeof(written));
  const std::string_view number = std::string_view(text).substr(std::min<std::size_t>(4, text.size()));
  const bool is_lid =
      text.starts_with("LID ") && !number.empty() && number.find_first_not_of("0123456789") == number.npos;
  return is_lid ? std::optional(text) : std::nullopt;
}

}  // namespace

tl::expected<Counters, std::string> read_counters(std::string_view text) {
  Counters counters;
  std::string_view name;
  while (true) {
    std::string_view word = next_word(text);
    if (word.empty()) break;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc{} && end == word.data() + word.size() && !name.empty()) {
      // "ports/1/hw_counters/np_cnp_sent": the name is the last part.
      counters[std::string(name.substr(name.rfind('/') + 1))] = value;
      name = {};
    } else {
      name = is_name(word) ? word : std::string_view{};
    }
  }
  if (counters.empty()) return tl::unexpected(std::string("no counter in it"));
  return counters;
}

tl::expected<PortCounters, std::string> read_port_counters(const std::string& argument) {
  constexpr std::size_t kMost_B = 1 << 22;
  const std::size_t equal = argument.find('=');
  if (equal == 0 || equal == argument.npos) return tl::unexpected(argument + ": not ADDRESS=FILE");
  PortCounters port;
  const auto address = address_text(argument.substr(0, equal));
  if (!address)
    return tl::unexpected(
        fmt::format("{}: not the address of a port, which is how a capture names it", argument.substr(0, equal)));
  port.address = *address;
  const std::string files = argument.substr(equal + 1);
  const std::size_t comma = files.find(',');
  port.file = files.substr(0, comma);
  auto read = [](const std::string& path) -> tl::expected<Counters, std::string> {
    const auto text = read_file(path, kMost_B);
    if (!text) return tl::unexpected(path + ": " + text.error());
    auto counters = read_counters(*text);
    if (!counters) return tl::unexpected(path + ": " + counters.error());
    return counters;
  };
  auto after = read(port.file);
  if (!after) return tl::unexpected(after.error());
  port.counters = std::move(*after);
  if (comma == files.npos) return port;
  const auto before = read(files.substr(comma + 1));
  if (!before) return tl::unexpected(before.error());
  for (auto& [name, value] : port.counters) {
    const auto was = before->find(name);
    if (was == before->end()) continue;
    if (was->second > value) return tl::unexpected(fmt::format("{}: {} is smaller than before", port.file, name));
    value -= was->second;
  }
  return port;
}

}  // namespace weft::analyze
