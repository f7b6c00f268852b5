// Regular expressions (ECMAScript), compiled once: std::regex costs each file that uses it five seconds.
#pragma once

#include <string>
#include <vector>

namespace weft::test {

// The first match in the text and its groups; empty: there is none.
std::vector<std::string> match(const std::string& text, const std::string& pattern);
// The given group of every match, in order.
std::vector<std::string> matches(const std::string& text, const std::string& pattern, int group = 0);
std::string replaced(const std::string& text, const std::string& pattern, const std::string& by);

}  // namespace weft::test
