#include <algorithm>
#include <charconv>
#include <string_view>

#include "analyze/findings/analysis.h"

namespace weft::analyze {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " ,:()";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return words;
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

// 0x108 and 0x000108 are one number.
bool same_word(std::string_view one, std::string_view other) {
  if (one == other) return true;
  if (!one.starts_with("0x") || !other.starts_with("0x")) return false;
  std::uint32_t a = 0, b = 0;
  const auto [a_end, a_error] = std::from_chars(one.data() + 2, one.data() + one.size(), a, 16);
  const auto [b_end, b_error] = std::from_chars(other.data() + 2, other.data() + other.size(), b, 16);
  return a_error == std::errc{} && b_error == std::errc{} && a_end == one.data() + one.size() &&
         b_end == other.data() + other.size() && a == b;
}

bool names_flow(std::string_view text, const std::vector<std::string_view>& wanted) {
  auto next = wanted.begin();
  for (const std::string_view word : words_of(text))
    if (next != wanted.end() && same_word(word, *next)) ++next;
  return next == wanted.end();
}

}  // namespace

bool keep_flow(const std::string& flow, Analysis& analysis) {
  const std::vector<std::string_view> wanted = words_of(flow);
  auto is_wanted = [&wanted](const Conversation& each) { return names_flow(place_of(each), wanted); };
  if (std::none_of(analysis.conversations.begin(), analysis.conversations.end(), is_wanted)) return false;
  std::erase_if(analysis.conversations, [&](const Conversation& each) { return !is_wanted(each); });
  // Faults of the capture, and stops of a link, are about every flow.
  analysis.findings.keep_if([&wanted](const Finding& finding) {
    return finding.id.starts_with("capture.") || finding.id.starts_with("pause.") ||
           names_flow(finding.where + " " + finding.what, wanted);
  });
  for (Table& table : analysis.tables) {
    const auto named = std::find(table.columns.begin(), table.columns.end(), "flow");
    if (named == table.columns.end()) continue;
    const auto column = static_cast<std::size_t>(named - table.columns.begin());
    std::erase_if(table.rows, [&](const std::vector<Cell>& row) {
      const auto* text = column < row.size() ? std::get_if<std::string>(&row[column]) : nullptr;
      return text == nullptr || !names_flow(*text, wanted);
    });
  }
  return true;
}

}  // namespace weft::analyze
