// How busy, how long paused and how full every direction of every link was, in equal parts of a time: one byte for
// each, so that the drawing of 1,024 hosts has all of a run at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/runs/open_run.h"

namespace weft::serve {

struct Activity {
  std::uint32_t bins = 0;
  TimeWindow window;
  std::vector<std::string> ports;  // that send
  std::vector<std::int64_t> most_queue_B;
  std::vector<std::uint16_t> used;          // by port and bin, 65535: all of the line
  std::vector<std::uint8_t> paused, queue;  // likewise, 255
};

// A run without samples has one bin: the whole of it. Throws when the store is damaged.
Activity read_activity(OpenRun& run, const TimeWindow& window, std::uint32_t bins);

std::string base64(const std::vector<std::uint8_t>& bytes);
// Each as two bytes, the low one first.
std::string base64(const std::vector<std::uint16_t>& words);

}  // namespace weft::serve
