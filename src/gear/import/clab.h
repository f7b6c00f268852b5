// A containerlab topology (containerlab.dev, "topology definition"), or one of NVIDIA Air, as a lab file: its nodes
// become hosts and switches by kind and by what their links make of them, its links cables. What it cannot know
// (models, cables, addresses) is filled in and said.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "text/problem.h"

namespace weft::gear {

struct ClabOptions {
  std::string switch_model = "sn3700c";
  std::string nic_model = "cx5-100g";
};
struct ImportedLab {
  std::string lab;  // text
  std::vector<std::string> notes;
};

tl::expected<ImportedLab, std::vector<lab::Problem>> import_clab(std::string_view text, const ClabOptions& options);

}  // namespace weft::gear
