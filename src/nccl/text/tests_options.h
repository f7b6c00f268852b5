// The command line of nccl-tests (2.19): which test, and its flags with their defaults and refusals ([nccl-tests]).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "nccl/decide/communicator.h"
#include "spec/nccl_tests.h"

namespace weft::nccl {

struct DataType {
  std::string_view name;  // as nccl-tests prints it
  std::uint32_t size_B;
};
std::span<const DataType> data_types();
std::span<const std::string_view> reduction_names();  // "sum", "prod" …
// Whether NVSwitch can reduce this type that way: indices of the two.
bool switch_reduces(std::uint32_t type, std::uint32_t reduction);

// "all_reduce", "all_reduce_perf" or "all_reduce_perf_mpi" and flags. On failure every problem: what is wrong; what to
// do.
tl::expected<TestOptions, std::vector<std::string>> parse_tests(std::string_view test,
                                                                std::span<const std::string> words);
std::vector<std::string_view> test_names();

bool has_reduction(Collective collective);
bool scales(std::uint32_t operation);  // of -o: avg and mulsum
bool has_root(Collective collective);
// NCCL's count for so many bytes of that type, as the test divides them among ranks.
std::uint64_t param_count(Collective collective, std::uint64_t size_B, std::uint32_t element_B, std::uint64_t ranks);
// Column `size`: the larger of the send and the receive buffer.
std::uint64_t row_size_B(Collective collective, std::uint64_t count, std::uint32_t element_B, std::uint64_t ranks);
// GB/s, of one operation that takes so long.
double algorithm_bandwidth(Collective collective, std::uint64_t count, std::uint32_t element_B, std::uint64_t ranks,
                           double seconds);
double bus_factor(Collective collective, std::uint64_t ranks);

}  // namespace weft::nccl
