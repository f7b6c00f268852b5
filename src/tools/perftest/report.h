// A simulated perftest in perftest's own words: the text that the client of Debian 12's perftest
// (4.5+0.17) writes to stdout, byte for byte, and the numbers behind it. What that version calls
// MB/sec is MiB/s. JSON is made of `perftest_numbers` and `test_info` where a JSON library lives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spec/perftest_options.h"
#include "spec/perftest_result.h"

namespace weft::workload {

// The figures of one row. Both units are always there; a bandwidth row leaves the times 0 and a
// latency row the bandwidths. With -b the two directions are added, as perftest adds them.
struct PerftestNumbers {
  double bw_peak_MiBps = 0;  // 0 when no peak is measured (-N, -D, more than 20000 iterations)
  double bw_peak_Gbps = 0;
  double bw_average_MiBps = 0;
  double bw_average_Gbps = 0;
  double msg_rate_Mpps = 0;

  double t_min_us = 0;
  double t_max_us = 0;      // the second largest sample: perftest sets two of them aside as a tail
  double t_typical_us = 0;  // the median
  double t_avg_us = 0;
  double t_stdev_us = 0;  // of deviations cut to whole microseconds, as perftest cuts them
  double p99_us = 0;
  double p999_us = 0;
  double tps = 0;  // latency with -D: round trips per second
};

PerftestNumbers perftest_numbers(const PerftestOptions& options, const PerftestRow& row);

// t_typical: the median of what perftest keeps; 0 without samples.
Time_ps typical_ps(const PerftestRow& row);

// Key and value of perftest's JSON "test_info", in its order. A value of digits only is a number.
std::vector<std::pair<std::string, std::string>> test_info(const PerftestOptions& options,
                                                           const PerftestResult& result);

// The line of column names.
std::string format_perftest_header(const PerftestOptions& options);
// One line of the table; before it, with -U or -H, the samples. A row that failed is what perftest
// says about it instead.
std::string format_perftest_row(const PerftestOptions& options, const PerftestRow& row);
// Everything from the first dash to the last. A failed row ends it, as it ends perftest.
std::string format_perftest(const PerftestOptions& options, const PerftestResult& result);

}  // namespace weft::workload
