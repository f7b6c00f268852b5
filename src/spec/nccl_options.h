// What a lab or `weft nccl` asks for: a test of nccl-tests, on which machines, with which environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/nccl_tests.h"

namespace weft::workload {

struct NcclOptions {
  static constexpr std::string_view kKey = "nccl";  // in the lab file
  static constexpr std::string_view kExample = "all_reduce_perf -b 8 -e 128M -f 2";

  nccl::TestOptions test;
  std::vector<std::uint32_t> hosts;                              // in Lab::hosts, in the order of their ranks
  std::uint32_t gpus_per_host = 0;                               // 0: all that they have
  std::vector<std::pair<std::string, std::string>> environment;  // NCCL_*
  std::uint32_t version = 0;                                     // of NCCL, 21803 for 2.18.3; 0: the one modelled
  bool halving_doubling = false;                                 // all-reduce, in place of NCCL's choice
  bool every_iteration = false;                                  // also of those that only repeat the one before
};

}  // namespace weft::workload
