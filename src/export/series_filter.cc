#include "export/series_filter.h"

#include <algorithm>

namespace weft::exports {

std::string series_name(const SeriesInfo& series) {
  std::string name = series.node;
  if (!series.port.empty()) name += ":" + series.port;
  if (series.class_ >= 0) name += "." + std::to_string(series.class_);
  return name + "." + series.metric;
}

// Back to the last * when what follows it does not match: linear for each *, no recursion.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = pattern.npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool is_wanted(const SeriesInfo& series, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  const std::string name = series_name(series);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return matches(pattern, name) || matches(pattern, series.metric);
  });
}

}  // namespace weft::exports
