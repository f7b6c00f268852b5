#include "support/matching.h"

#include <map>
#include <regex>

namespace weft::test {
namespace {

const std::regex& compiled(const std::string& pattern) {
  thread_local std::map<std::string, std::regex> all;
  auto at = all.find(pattern);
  return (at != all.end() ? at : all.emplace(pattern, pattern).first)->second;
}

}  // namespace

std::vector<std::string> match(const std::string& text, const std::string& pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, compiled(pattern))) return {};
  return {found.begin(), found.end()};
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern, int group) {
  std::vector<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), compiled(pattern)), end; at != end; ++at)
    all.push_back((*at)[group]);
  return all;
}

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by) {
  return std::regex_replace(text, compiled(pattern), by);
}

}  // namespace weft::test
