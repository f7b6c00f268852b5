#include "gear/bundle/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weft::gear {

namespace {

constexpr std::string_view kFirstLine = "# weft bundle ";
constexpr std::string_view kHeading = "=== ";
constexpr std::size_t kMostSections = 20'000, kLongestLine_B = 100'000, kShown_B = 200;

lab::Problem bundle_problem(int line, std::string message, std::string remedy) {
  lab::Problem problem;
  problem.line = line;
  problem.column = 1;
  problem.message = std::move(message);
  problem.remedy = std::move(remedy);
  return problem;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Evidence Bundle::at(const BundleSection& section, std::size_t index) const {
  // A line that a command did not print is reported at its heading.
  if (index >= section.lines.size()) return {file, section.command, section.line, "=== " + section.command};
  return {file, section.command, section.line + 1 + static_cast<int>(index),
          std::string(trimmed(section.lines[index]).substr(0, kShown_B))};
}

bool is_bundle(std::string_view text) {
  return text.starts_with(kFirstLine);
}

tl::expected<Bundle, lab::Problem> parse_bundle(std::string_view text, const std::string& file) {
  const char* const again = "make it again with: weft inspect --out FILE";
  if (!is_bundle(text)) return tl::unexpected(bundle_problem(1, "this is not a bundle of weft inspect", again));
  if (const std::size_t zero = text.find('\0'); zero != text.npos)
    return tl::unexpected(bundle_problem(1 + static_cast<int>(std::count(text.begin(), text.begin() + zero, '\n')),
                                         "a byte 0: this is not text", again));
  Bundle bundle;
  bundle.file = file;
  std::map<std::string, int, std::less<>> headings;
  int number = 0;
  bool ended = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (line.size() > kLongestLine_B)
      return tl::unexpected(bundle_problem(number, fmt::format("a line of {} B", line.size()), again));
    if (ended) {
      if (trimmed(line).empty()) continue;
      return tl::unexpected(
          bundle_problem(number, "text behind the end of the bundle", "give each bundle a file of its own"));
    }
    if (number == 1) {
      if (trimmed(line.substr(kFirstLine.size())) != "1")
        return tl::unexpected(bundle_problem(1,
                                             fmt::format("bundle format {}; this weft reads format 1",
                                                         lab::in_quotes(trimmed(line.substr(kFirstLine.size())))),
                                             "use the weft that made it, or a newer one"));
    } else if (line.starts_with(kHeading)) {
      const std::string command(trimmed(line.substr(kHeading.size())));
      if (command.empty()) return tl::unexpected(bundle_problem(number, "a section without a command", again));
      if (command == "end") {
        ended = true;
        continue;
      }
      if (bundle.sections.size() == kMostSections)
        return tl::unexpected(bundle_problem(number, fmt::format("more than {} sections", kMostSections), again));
      const auto [known, is_new] = headings.emplace(command, number);
      if (!is_new)
        return tl::unexpected(bundle_problem(
            number, fmt::format("the section {} is in line {} too", lab::in_quotes(command), known->second),
            "give each host a bundle of its own"));
      bundle.sections.push_back({command, number, {}});
    } else if (!bundle.sections.empty()) {
      bundle.sections.back().lines.emplace_back(line);
    } else if (auto host = value_after(line, "# host:")) {
      bundle.host = std::string(*host);
    } else if (!line.starts_with("#") && !trimmed(line).empty()) {
      return tl::unexpected(bundle_problem(number, "text before the first section", again));
    }
  }
  if (!ended) return tl::unexpected(bundle_problem(number, "the bundle is cut short: it has no end", again));
  if (bundle.sections.empty()) return tl::unexpected(bundle_problem(number, "the bundle is empty", again));
  if (bundle.host.empty()) return tl::unexpected(bundle_problem(1, "the bundle names no host", again));
  return bundle;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(separators); at != text.npos;) {
    const std::size_t end = text.find_first_of(separators, at);
    words.push_back(text.substr(at, end == text.npos ? end : end - at));
    at = end == text.npos ? end : text.find_first_not_of(separators, end);
  }
  return words;
}

std::optional<std::string_view> value_after(std::string_view line, std::string_view key) {
  line = trimmed(line);
  if (!line.starts_with(key)) return std::nullopt;
  return trimmed(line.substr(key.size()));
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  text = trimmed(text);
  std::uint64_t value = 0;
  bool any = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (any && text[i] == ',' && i + 3 < text.size() && is_digit(text[i + 1]) && is_digit(text[i + 2]) &&
        is_digit(text[i + 3]))
      continue;
    if (!is_digit(text[i])) break;
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
    any = true;
  }
  return any ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> leading_hex(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size(); ++digits) {
    const char c = text[digits];
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    if (digits == 16) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  return digits > 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> leading_decimal(std::string_view text) {
  text = trimmed(text);
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  const auto whole = leading_number(text.substr(0, end));
  if (!whole || *whole > 1'000'000'000) return std::nullopt;
  auto value = static_cast<double>(*whole);
  double place = 0.1;
  if (end < text.size() && text[end] == '.') {
    for (++end; end < text.size() && is_digit(text[end]); ++end, place /= 10) value += (text[end] - '0') * place;
  }
  return value;
}

std::vector<std::uint32_t> number_list(std::string_view text) {
  constexpr std::size_t kMost = 65'536;
  std::vector<std::uint32_t> numbers;
  for (std::string_view item : words_of(trimmed(text), ", ")) {
    const auto first = leading_number(item);
    const std::size_t dash = item.find('-');
    const auto last = dash == item.npos ? first : leading_number(item.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMost) return {};
    for (std::uint64_t value = *first; value <= *last; ++value) {
      if (numbers.size() == kMost) return {};
      numbers.push_back(static_cast<std::uint32_t>(value));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::optional<std::uint32_t> dscp_number(std::string_view text) {
  const std::string word = lower_case(text);
  if (word == "ef") return 46;
  const auto digit = [&](std::size_t i) {
    return i < word.size() && word[i] >= '0' && word[i] <= '7' ? word[i] - '0' : -1;
  };
  if (word.starts_with("cs") && word.size() == 3 && digit(2) >= 0) return static_cast<std::uint32_t>(8 * digit(2));
  if (word.starts_with("af") && word.size() == 4 && digit(2) >= 1 && digit(3) >= 1)
    return static_cast<std::uint32_t>(8 * digit(2) + 2 * digit(3));
  const auto number = leading_number(text);
  return number && *number < 64 ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace weft::gear
