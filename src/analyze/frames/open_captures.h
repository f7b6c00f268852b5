// Opens capture files as one, merged by time. Where there are several, they are read once before, to compare their
// clocks: times are then those of one clock. Who counts frames of the same files counts the same ones.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "analyze/frames/clock_offsets.h"
#include "pcap/merged_capture.h"

namespace weft::analyze {

struct OpenedCaptures {
  pcap::MergedCapture merged;
  std::vector<ClockOffset> clocks{};  // of several files
  bool is_compared = false;           // false where one of several files is a pipe, which can be read only once
};

// The error names the file that cannot be opened.
tl::expected<OpenedCaptures, std::string> open_captures(const std::vector<std::string>& paths);

}  // namespace weft::analyze
