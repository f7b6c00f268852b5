#include "gear/bundle/json_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace weft::gear {

namespace {
constexpr std::size_t kShownLine_B = 200;
}

JsonText::JsonText(std::string_view text, std::string file, std::string section, int before)
    : text_(text), file_(std::move(file)), section_(std::move(section)) {
  std::vector<std::string> path;
  std::size_t depth = 0, line_begin = 0;
  int line = before + 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      line_begin = i + 1;
    } else if (text[i] == '{' || text[i] == '[') {
      ++depth;
    } else if (text[i] == '}' || text[i] == ']') {
      depth -= depth > 0 ? 1 : 0;
    } else if (text[i] == '"') {
      const std::size_t begin = i + 1;
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      if (i >= text.size()) break;
      const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (next == text.npos || text[next] != ':' || depth == 0 || depth > 3) continue;
      path.resize(depth - 1);
      path.emplace_back(text.substr(begin, i - begin));
      places_.emplace(fmt::format("{}", fmt::join(path, "\n")), Place{line, line_begin});
    }
  }
  first_line_ = before + 1;
}

Evidence JsonText::at(std::initializer_list<std::string_view> keys) const {
  Place place{first_line_, 0};
  std::string path;
  for (std::string_view key : keys) {
    path += (path.empty() ? "" : "\n") + std::string(key);
    const auto it = places_.find(path);
    if (it == places_.end()) break;
    place = it->second;
  }
  const std::string_view line = text_.substr(place.begin, text_.find('\n', place.begin) - place.begin);
  return {file_, section_, place.line, std::string(trimmed(line).substr(0, kShownLine_B))};
}

}  // namespace weft::gear
