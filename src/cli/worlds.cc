#include "cli/worlds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/common.h"
#include "live/os/place.h"

namespace weft::cli {

int complain(const std::string& what) {
  return wrong_input(what);
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

}  // namespace weft::cli
