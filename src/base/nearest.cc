#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace weft {
namespace {

constexpr std::size_t kLongestWord = 64;  // names are shorter; a longer word resembles nothing

// Case and the kind of separator do not count: CX5_100G is near cx5-100g.
std::string folded(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (c == '_' || c == ' ') c = '-';
  }
  return text;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_previous(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_previous[j - 2] + 1);
      }
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates,
                                 std::size_t limit) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::string wanted = folded(word);
  const std::size_t tolerance = std::max<std::size_t>(1, wanted.size() / 3);
  using Ranked = std::tuple<std::size_t, std::size_t, std::string_view>;  // rank, distance, name
  std::vector<Ranked> ranked;
  for (std::string_view candidate : candidates) {
    const std::string name = folded(candidate);
    const std::size_t distance = edit_distance(wanted, name);
    if (distance <= tolerance) {
      ranked.emplace_back(0, distance, candidate);
    } else if (wanted.size() >= 3 && name.find(wanted) != std::string::npos) {
      ranked.emplace_back(1, distance, candidate);
    } else if (common_prefix(wanted, name) >= 3) {
      ranked.emplace_back(2, distance, candidate);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  std::vector<std::string> names;
  for (const auto& [rank, distance, name] : ranked) {
    // Beside a good match the poor ones only distract.
    const bool poor = rank > std::get<0>(ranked[0]) || (rank == 0 && distance > std::get<1>(ranked[0]) + 1);
    if (!poor && names.size() < limit) names.emplace_back(name);
  }
  return names;
}

std::string join(std::span<const std::string_view> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates, std::string_view label) {
  const std::vector<std::string> names = nearest(word, candidates);
  if (names.empty()) return fmt::format("known {}: {}", label, join(candidates));
  return fmt::format("did you mean {}?", fmt::join(names, ", or "));
}

}  // namespace weft
