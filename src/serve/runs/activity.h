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
  // Fill of the fullest priority group of the port, by its limit at that time: at kXoffByte it asks for XOFF.
  std::vector<std::uint8_t> group;
  static constexpr std::uint8_t kXoffByte = 200;
};

// Parts that a reader needs: the use of links and pauses, or also what queues and priority groups hold.
enum class ActivityParts : std::uint8_t { kLinks, kAll };
// A run without samples has one bin: the whole of it. Throws when the store is damaged.
Activity read_activity(OpenRun& run, const TimeWindow& window, std::uint32_t bins,
                       ActivityParts parts = ActivityParts::kAll);

// The same of the whole fabric, for an overview: some kilobytes, whatever the number of links.
struct ActivityTotal {
  std::uint32_t bins = 0;
  TimeWindow window;
  std::size_t hosts = 0;
  std::size_t busy = 0;              // directions of links that sent or were paused
  std::vector<double> received_bps;  // by bin: what all hosts receive
  std::vector<double> paused;        // by bin: directions of links that are paused, by their share of the time
};
ActivityTotal read_activity_total(OpenRun& run, const TimeWindow& window, std::uint32_t bins);

std::string base64(const std::vector<std::uint8_t>& bytes);
// Each as two bytes, the low one first.
std::string base64(const std::vector<std::uint16_t>& words);

}  // namespace weft::serve
