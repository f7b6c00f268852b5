// Which time series are exported. A series is called NODE:PORT.CLASS.METRIC, without what it has not:
// leaf0:swp1.3.queue_B, leaf0.buffer_B, h0:p0.np_cnp_sent. A pattern has * and ?, and is compared with that name or
// with the metric alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::exports {

struct SeriesInfo {
  std::int64_t id = 0;
  std::string node, port;
  std::int64_t class_ = -1;
  std::string metric, unit;
  std::int64_t interval_ps = 0;
};
std::string series_name(const SeriesInfo& series);

bool matches(std::string_view pattern, std::string_view text);
// No pattern: all; the pattern "none": none.
bool is_wanted(const SeriesInfo& series, const std::vector<std::string>& patterns);

}  // namespace weft::exports
