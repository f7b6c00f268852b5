// `weft report DIR --html`: a run as one file that needs no server. It is the page itself with the answers that the
// page asks for inside it, given by the same handlers as those of `weft serve`, so that both show the same.
//
// The file is bounded: a part that would go beyond `most_B` is left out, and named. Of the series the largest of each
// metric are in it, with at most kReportPoints points (least and most of each part of the time); of the packets the
// first ones and those around findings and events (report_packets.h). web/src/lib/report.ts reads it.
#pragma once

#include <cstddef>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace weft::serve {

inline constexpr std::size_t kReportPoints = 400;
inline constexpr std::size_t kReportBins = 300;
inline constexpr std::size_t kReportEvents = 5000;
inline constexpr std::size_t kReportNodes = 200;       // with counters and QoS
inline constexpr std::size_t kReportNodesOfMany = 48;  // the same, of a fabric of more nodes
inline constexpr std::size_t kReportSeriesOfMetric = 16;
inline constexpr std::size_t kReportRates = 64;  // series of the rate of a flow

struct HtmlReport {
  std::string html;
  std::vector<std::string> left_out;  // what is not in the report: addresses
};

// The error is the reason why there is none.
tl::expected<HtmlReport, std::string> html_report(const std::string& directory, std::size_t most_B);

// JSON and JavaScript as they may stand inside <script>: nothing in them ends it or opens a comment.
std::string json_in_script(std::string_view json);
std::string code_in_script(std::string_view code);

}  // namespace weft::serve
