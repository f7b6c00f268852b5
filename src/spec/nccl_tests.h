// The command line of a test of nccl-tests and what its table says; nccl/text reads the one and prints the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/collective.h"

namespace weft::nccl {

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

struct TestDevice {
  std::uint32_t rank = 0, group = 0, pid = 0;
  std::string host;
  std::uint32_t device = 0;
  std::string bus;   // "0000:81:00"
  std::string name;  // "NVIDIA A100-PCIE-40GB"
};

// Measurement of one size, out of place and in place.
struct TestMeasure {
  double time_us = 0;
  double algbw = 0, busbw = 0;         // GB/s
  std::optional<std::uint64_t> wrong;  // nothing: not checked
  std::uint32_t iterations = 0;        // that were simulated
};
struct TestRow {
  std::uint64_t size_B = 0, count = 0;
  std::string type, operation;
  std::int32_t root = -1;
  std::array<std::optional<TestMeasure>, 2> places;  // nothing: did not run
};

struct TestReport {
  std::vector<TestDevice> devices;
  std::vector<TestRow> rows;
  std::string failure;  // what NCCL logs of a connection that failed; empty: it ran
  std::uint64_t wrong() const;
  double average_busbw() const;
};

}  // namespace weft::nccl
