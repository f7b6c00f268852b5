// Which time series are exported. A series is called NODE:PORT.CLASS.METRIC, without what it has not:
// leaf0:swp1.3.queue_B, leaf0.buffer_B, h0:p0.np_cnp_sent. A pattern has * and ?, and is compared with that name or
// with the metric alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/rows/run_rows.h"

namespace weft::exports {

using SeriesInfo = store::SeriesRow;
std::string series_name(const SeriesInfo& series);

bool matches(std::string_view pattern, std::string_view text);
// No pattern: all; the pattern "none": none.
bool is_wanted(const SeriesInfo& series, const std::vector<std::string>& patterns);

}  // namespace weft::exports
