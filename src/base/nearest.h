// "Did you mean": names that resemble a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// At most `limit` candidates, best first: close by edit distance, then those that contain the word or
// begin as it does ("cx5" finds "cx5-100g").
std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates,
                                 std::size_t limit = 3);

// "did you mean X?", or "known LABEL: a, b, c" when nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates, std::string_view label);

std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");

}  // namespace weft
