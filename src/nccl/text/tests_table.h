// Output of nccl-tests, to the character (2.19, [nccl-tests]): header, one line for each size, the average.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nccl/text/tests_options.h"
#include "spec/nccl_tests.h"

namespace weft::nccl {

std::string format_header(const TestOptions& options, const TestReport& report);
std::string format_row(const TestRow& row);
std::string format_footer(const TestOptions& options, const TestReport& report);
std::string format_tests(const TestOptions& options, const TestReport& report);

}  // namespace weft::nccl
