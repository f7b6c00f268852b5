#include "cli/worlds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/common.h"
#include "live/place.h"

namespace weft::cli {

int complain(const std::string& what) {
  fmt::print(stderr, "weft: {}\n", what);
  return kExitWrongInput;
}

tl::expected<std::string, std::string> choose_world(const std::string& directory, const std::string& asked) {
  std::vector<std::string> up = live::worlds_up(directory);
  std::string list = fmt::format("{}", fmt::join(up, ", "));
  if (up.empty()) return tl::unexpected(std::string("no world is up; start one with 'weft up LAB'"));
  if (asked.empty() && up.size() == 1) return up.front();
  if (asked.empty()) return tl::unexpected(fmt::format("several worlds are up ({}); choose one with --world", list));
  if (std::find(up.begin(), up.end(), asked) == up.end())
    return tl::unexpected(fmt::format("no world named {} is up; there are: {}", asked, list));
  return asked;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace weft::cli
