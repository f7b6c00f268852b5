// Output of nccl-tests, to the character (2.19, [nccl-tests]): header, one line for each size, the average.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nccl/text/tests_options.h"

namespace weft::nccl {

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

std::string format_header(const TestOptions& options, const TestReport& report);
std::string format_row(const TestRow& row);
std::string format_footer(const TestOptions& options, const TestReport& report);
std::string format_tests(const TestOptions& options, const TestReport& report);

}  // namespace weft::nccl
