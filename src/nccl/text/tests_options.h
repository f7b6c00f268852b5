// The command line of nccl-tests (2.19): which test, and its flags with their defaults and refusals ([nccl-tests]).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "nccl/decide/communicator.h"

namespace weft::nccl {

struct DataType {
  std::string_view name;  // as nccl-tests prints it
  std::uint32_t size_B;
};
std::span<const DataType> data_types();
std::span<const std::string_view> reduction_names();  // "sum", "prod" …
// Whether NVSwitch can reduce this type that way: indices of the two.
bool switch_reduces(std::uint32_t type, std::uint32_t reduction);

struct TestOptions {
  Collective collective = Collective::kAllReduce;
  std::vector<std::string> words;            // as given, for the record
  std::uint32_t threads = 1;                 // -t
  std::uint32_t gpus = 1;                    // -g: of a thread
  std::uint64_t min_B = 32 << 20;            // -b
  std::uint64_t max_B = 32 << 20;            // -e
  std::uint64_t step_B = 1 << 20;            // -i
  std::uint32_t step_factor = 1;             // -f
  std::uint32_t iterations = 20;             // -n
  std::uint32_t warmup = 1;                  // -w
  std::uint32_t cycles = 1;                  // -N
  std::uint32_t aggregated = 1;              // -m
  std::uint32_t average = 1;                 // -a: 0 rank 0, 1 mean, 2 least, 3 most
  bool check = true;                         // -c
  bool blocking = false;                     // -z
  bool cpu_time = false;                     // -C
  std::uint32_t graph = 0;                   // -G
  std::uint32_t unalign = 0;                 // -u
  bool parallel_init = false;                // -p
  std::vector<std::uint32_t> types{7};       // -d, of data_types(): float
  std::vector<std::uint32_t> operations{0};  // -o
  std::int32_t root = 0;                     // -r; -1: all
  std::string json_file;                     // -J

  // The sizes that -b, -e, -i and -f ask for.
  std::vector<std::uint64_t> sizes() const;
  std::string program() const;  // "all_reduce_perf"
};

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
