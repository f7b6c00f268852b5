#include "gear/bundle/indented_config.h"

namespace weft::gear {

namespace {

std::optional<std::string_view> rest_after(std::string_view line, std::string_view words) {
  if (!line.starts_with(words)) return std::nullopt;
  const std::string_view rest = line.substr(words.size());
  if (!rest.empty() && rest.front() != ' ') return std::nullopt;
  return trimmed(rest);
}

}  // namespace

std::optional<std::string_view> ConfigLine::after(std::string_view words) const {
  return rest_after(text, words);
}

std::optional<std::string_view> ConfigLine::mode_after(std::size_t depth, std::string_view words) const {
  return depth < modes.size() ? rest_after(modes[depth], words) : std::nullopt;
}

void visit_config(const Bundle& bundle, const BundleSection& section,
                  const std::function<void(const ConfigLine&)>& visit) {
  constexpr std::size_t kMostLevels = 8;
  struct Open {
    std::size_t indent;
    std::string_view text;
  };
  std::vector<Open> open;
  for (std::size_t i = 0; i < section.lines.size(); ++i) {
    const std::string_view line = section.lines[i];
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '!' || text.front() == '#') continue;
    const std::size_t indent = line.find_first_not_of(" \t");
    while (!open.empty() && open.back().indent >= indent) open.pop_back();
    ConfigLine each;
    for (const Open& mode : open) each.modes.push_back(mode.text);
    each.text = text;
    each.from = bundle.at(section, i);
    visit(each);
    if (open.size() < kMostLevels) open.push_back({indent, text});
  }
}

}  // namespace weft::gear
