#include "analyze/streams/stream_marks.h"

#include <fmt/format.h>

namespace weft::analyze {

std::string place_of(const Reading& reading, StreamId id) {
  const Stream& stream = reading.streams[id];
  return fmt::format("{} > {} qp 0x{:06x}", reading.addresses.text(stream.src), reading.addresses.text(stream.dst),
                     stream.dst_qp);
}

std::string point_name(const Reading& reading, PointId point) {
  const CapturePoint& at = reading.capture.points[point];
  return at.name.empty() ? fmt::format("interface {}", point) : at.name;
}

}  // namespace weft::analyze
