// Lab file (YAML, version 1; docs/lab-file.md) -> checked model. Strict: what is not understood, not
// resolved or not possible is a problem with a place and a remedy, and all problems are reported at once.
// Nothing here throws; yaml-cpp's exceptions end in yaml_tree.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "model/lab.h"
#include "text/problem.h"

namespace weft::lab {

// What a lab may ask of the machine it is read on (permissions.h); what it may not is a problem.
enum class Trust : std::uint8_t {
  kAll,
  kNoFiles,  // reading it opens no file; starting programs is up to whoever runs it
  kNothing,  // no files, no programs, no ports to the outside
};

// `overrides` are the --set arguments, "path=value": they change the YAML tree before it is checked
// (yaml_override.h). `seed` wins over the file's.
tl::expected<Lab, std::vector<Problem>> read_lab(std::string_view text, std::string_view file_name,
                                                 std::span<const std::string> overrides = {},
                                                 std::optional<std::uint64_t> seed = {}, Trust trust = Trust::kAll);

}  // namespace weft::lab
