// The packets of a run that go into its report: the first ones, and those around findings and events. A capture may
// have millions; the reader of a report needs those that it refers to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/request.h"

namespace weft::serve {

inline constexpr std::size_t kReportPackets = 2000;       // in the list
inline constexpr std::size_t kReportFirstPackets = 200;   // of these from the start of the capture, at least
inline constexpr std::size_t kReportPacketsAround = 8;    // before and after a moment
inline constexpr std::size_t kReportMomentsOfKind = 16;   // of events of one kind
inline constexpr std::size_t kReportPacketDetails = 200;  // with all fields

struct ReportPackets {
  std::string page;  // as GET packets answers, with the chosen rows; empty: there are none
  std::vector<std::uint64_t> details;
  std::size_t rows = 0, total = 0;
};
// Queries the API for the run: "/packets" and its parameters.
using AskRun = std::function<Response(const std::string& path, std::map<std::string, std::string> query)>;
ReportPackets choose_packets(const AskRun& ask);

}  // namespace weft::serve
