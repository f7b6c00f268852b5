// What iperf3 prints.
#pragma once

#include <string>

#include "spec/tcp_result.h"

namespace weft::workload {

// iperf3's text: the table of intervals and the summary lines.
std::string format_iperf3(const Iperf3Options& options, const Iperf3Result& result);

}  // namespace weft::workload
