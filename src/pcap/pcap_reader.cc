#include "pcap/pcap_reader.h"

#include "pcap/capture_stream.h"

namespace weft::pcap {

tl::expected<CaptureFile, CaptureError> read_capture(std::span<const std::uint8_t> file) {
  CaptureStream stream(file);
  CaptureFile capture;
  CapturedPacket packet;
  while (stream.next(packet)) capture.packets.push_back(packet);
  if (stream.error()) return tl::unexpected(*stream.error());
  capture.interfaces = stream.interfaces();
  capture.cut_at_B = stream.cut_at_B();
  return capture;
}

}  // namespace weft::pcap
