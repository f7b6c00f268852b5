#include "text/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace weft::lab {

std::string format_problem(std::string_view file, const Problem& problem) {
  std::string text = problem.where;
  if (text.empty() && problem.line == 0) text = file;  // something is missing altogether: it has no place
  if (text.empty()) text = fmt::format("{}:{}:{}", file, problem.line, problem.column);
  text += ": " + problem.message;
  if (!problem.remedy.empty()) text += "\n  " + problem.remedy;
  return text;
}

void ProblemList::add(const Place& place, std::string message, std::string remedy) {
  Problem problem{place.line, place.column, std::move(message), std::move(remedy), ""};
  if (place.override_index >= 0) {
    // The order among overrides survives in `line` until take() is done with it.
    const std::string& given = overrides_[static_cast<std::size_t>(place.override_index)];
    problem.where = "--set " + given.substr(0, given.find('='));
    problem.line = place.override_index;
  }
  problems_.push_back(std::move(problem));
}

std::vector<Problem> ProblemList::take() {
  std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return std::tuple(!a.where.empty(), a.line, a.column) < std::tuple(!b.where.empty(), b.line, b.column);
  });
  for (Problem& problem : problems_) {
    if (!problem.where.empty()) problem.line = problem.column = 0;
  }
  return std::exchange(problems_, {});
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 48;
  if (text.size() <= kLongest) return fmt::format("\"{}\"", text);
  std::size_t cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not inside a UTF-8 character
  return fmt::format("\"{}…\"", text.substr(0, cut));
}

}  // namespace weft::lab
