// Where Wireshark looks for a user's Lua plugins and profiles. `tshark -G folders` says it; without tshark the rules of
// Wireshark 3 and 4 on Unix (WIRESHARK_CONFIG_DIR, XDG_CONFIG_HOME, HOME).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::wireshark {

struct Folders {
  std::string configuration;  // has profiles/
  std::string plugins;        // Lua plugins; folders in it are searched, too
  bool stands_alone = false;  // Wireshark looks there only with WIRESHARK_CONFIG_DIR
};

// Folders that `tshark -G folders` printed; empty strings for what it does not name.
Folders parse_folders(std::string_view text);
// `directory` empty: those of this user. The error is a reason.
tl::expected<Folders, std::string> find_folders(const std::string& directory);

}  // namespace weft::wireshark
