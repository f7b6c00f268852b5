// The files for Wireshark (share/wireshark) as they travel inside the binary. CMake writes the table.
#pragma once

#include <span>
#include <string_view>

namespace weft::wireshark {

struct BundledFile {
  std::string_view path;  // "plugin/roce.lua", "profile/colorfilters"
  std::string_view text;
};
// Ordered by path.
std::span<const BundledFile> bundled_files();

}  // namespace weft::wireshark
