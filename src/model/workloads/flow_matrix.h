// Reader of connection matrices, the text that htsim reads (.cm):
//   Nodes 16
//   Connections 1
//   0->8 id 1 start 0 size 2000000
// start in picoseconds, size in bytes, nodes counted from 0; `id` may be missing, `#` begins a comment. Not modelled,
// and said so: triggers, failures, priorities, and size 0, htsim's flow without end. The text may be hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "spec/flow_options.h"

namespace weft::workload {

struct FlowMatrix {
  std::uint32_t nodes = 0;
  std::vector<Flow> flows;  // in order of start, then of the file
};

struct MatrixProblem {
  int line = 0;  // 1-based
  std::string message;
  std::string remedy;
};

inline constexpr std::uint32_t kMostMatrixNodes = 1 << 20;
inline constexpr std::size_t kMostMatrixProblems = 20;  // a file of another kind is wrong in every line

// What is wrong comes in line order.
tl::expected<FlowMatrix, std::vector<MatrixProblem>> read_flow_matrix(std::string_view text);

}  // namespace weft::workload
