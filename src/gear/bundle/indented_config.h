// The configuration of a switch as EOS and NX-OS print it: commands by line, those of a mode indented below the command
// that enters it. Each line is visited with the lines that it stands under.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "gear/bundle/text.h"

namespace weft::gear {

struct ConfigLine {
  std::vector<std::string_view> modes;  // from the outermost: "interface Ethernet1/1"
  std::string_view text;                // trimmed
  Evidence from;

  // The rest of the line when it begins with these words: "9214" of "mtu 9214".
  std::optional<std::string_view> after(std::string_view words) const;
  // The same of the line that it stands under, at this depth.
  std::optional<std::string_view> mode_after(std::size_t depth, std::string_view words) const;
};

// Comments and empty lines are left out. More than eight levels are read as eight.
void visit_config(const Bundle& bundle, const BundleSection& section,
                  const std::function<void(const ConfigLine&)>& visit);

}  // namespace weft::gear
