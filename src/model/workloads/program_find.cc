#include "model/workloads/program_find.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace weft::workload {

namespace {

constexpr std::size_t kMostPattern_B = 256;

// regcomp's memory, with its end.
class Pattern {
 public:
  explicit Pattern(const std::string& text) : error_(regcomp(&compiled_, text.c_str(), REG_EXTENDED)) {}
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (error_ == 0) regfree(&compiled_);
  }

  std::string error() const {
    char text[128] = "";
    if (error_ != 0) regerror(error_, &compiled_, text, sizeof(text));
    return text;
  }
  std::size_t groups() const { return compiled_.re_nsub; }
  // The first group, or all of the match where there is none; nothing when the line does not match.
  std::optional<std::string> match(const std::string& line) const {
    regmatch_t places[2];
    if (error_ != 0 || regexec(&compiled_, line.c_str(), 2, places, 0) != 0) return std::nullopt;
    const regmatch_t& place = places[groups() > 0 ? 1 : 0];
    if (place.rm_so < 0) return "";
    return line.substr(static_cast<std::size_t>(place.rm_so), static_cast<std::size_t>(place.rm_eo - place.rm_so));
  }

 private:
  regex_t compiled_{};
  int error_;
};

}  // namespace

tl::expected<void, std::string> check_pattern(const std::string& pattern) {
  if (pattern.empty()) return tl::unexpected(std::string("it is empty"));
  if (pattern.size() > kMostPattern_B) return tl::unexpected(fmt::format("it is longer than {} bytes", kMostPattern_B));
  // What makes the C library's patterns take time or memory without bounds.
  if (std::count(pattern.begin(), pattern.end(), '{') > 1) return tl::unexpected(std::string("it has more than one {"));
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    if (pattern[++i] >= '1' && pattern[i] <= '9') return tl::unexpected(std::string("it refers back to a group"));
    if (pattern[i] == 'd') return tl::unexpected(std::string("\\d is not in extended expressions: write [0-9]"));
  }
  const Pattern compiled(pattern);
  if (!compiled.error().empty()) return tl::unexpected(compiled.error());
  if (compiled.groups() > 1) return tl::unexpected(fmt::format("it has {} groups", compiled.groups()));
  return {};
}

std::optional<double> find_value(const std::string& pattern, std::string_view output) {
  const Pattern compiled(pattern);
  std::uint64_t lines = 0;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const auto found = compiled.match(std::string(output.substr(0, end)));
    output.remove_prefix(std::min(end + 1, output.size()));
    if (!found) continue;
    ++lines;
    if (compiled.groups() == 0) continue;
    double value = 0;
    const auto [rest, error] = std::from_chars(found->data(), found->data() + found->size(), value);
    return error == std::errc{} && rest == found->data() + found->size() ? std::optional(value) : std::nullopt;
  }
  return compiled.groups() == 0 ? std::optional(static_cast<double>(lines)) : std::nullopt;
}

}  // namespace weft::workload
