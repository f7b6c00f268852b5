#include "analyze/classes/traffic_words.h"

#include "analyze/pauses/lanes.h"

namespace weft::analyze {

std::string TrafficWords::pfc_mask() const {
  std::string text;
  for (unsigned i = 0; i < 8; ++i) {
    if (i > 0) text += ',';
    text += i == priority ? '1' : '0';
  }
  return text;
}

TrafficWords words_of_class(std::uint8_t dscp, int pcp) {
  TrafficWords words;
  if (dscp == 0 && pcp <= 0) return words;
  words.dscp = dscp;
  words.priority = static_cast<std::uint8_t>(pause_class_of(dscp, pcp));
  return words;
}

TrafficWords words_of_priority(std::size_t priority) {
  TrafficWords words;
  if (priority < 8) words.priority = static_cast<std::uint8_t>(priority);
  return words;
}

TrafficWords words_of(const Stream& stream) {
  return words_of_class(stream.data_tos >> 2, -1);
}

}  // namespace weft::analyze
