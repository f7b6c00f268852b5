// A word of a text and what it stands for: the values of a choice, in one table.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace weft::lab {

template <class Enum>
struct Word {
  std::string_view text;
  Enum value;
};

// Empty when no word stands for it.
template <class Enum>
std::string_view word_of(std::span<const Word<Enum>> words, Enum value) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.value == value; });
  return found == words.end() ? "" : found->text;
}

}  // namespace weft::lab
