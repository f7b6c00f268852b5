// Any bytes are a capture or an error, read whole or in pieces, plain or as gzip; what a packet points to can be read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/targets.h"
#include "pcap/capture_stream.h"
#include "pcap/pcap_reader.h"

namespace {

using weft::pcap::ByteSource;
using weft::pcap::CapturedPacket;
using weft::pcap::CaptureStream;

class PieceSource final : public ByteSource {
 public:
  PieceSource(std::span<const std::uint8_t> bytes, std::size_t piece_B) : rest_(bytes), piece_B_(piece_B) {}
  tl::expected<std::size_t, const char*> read(std::span<std::uint8_t> into) override {
    const std::size_t got_B = std::min({into.size(), piece_B_, rest_.size()});
    std::copy_n(rest_.begin(), got_B, into.begin());
    rest_ = rest_.subspan(got_B);
    return got_B;
  }

 private:
  std::span<const std::uint8_t> rest_;
  std::size_t piece_B_;
};

std::size_t sum_of(const CapturedPacket& packet) {
  std::size_t sum = packet.bytes.size() + packet.dropped_before;
  for (const std::uint8_t byte : packet.bytes) sum += byte;
  for (const char c : packet.comment) sum += static_cast<unsigned char>(c);
  return sum;
}

}  // namespace

int weft::fuzz::pcap_fuzz(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  const auto capture = weft::pcap::read_capture(bytes);
  if (!capture && capture.error().offset_B > size) std::abort();
  std::size_t sum = 0;
  std::size_t packets = 0;
  if (capture) {
    for (const auto& packet : capture->packets) {
      if (packet.interface >= capture->interfaces.size()) std::abort();
      sum += sum_of(packet);
    }
    packets = capture->packets.size();
  }

  CaptureStream stream(std::make_unique<PieceSource>(bytes, size == 0 ? 1 : 1 + data[size - 1]));
  CapturedPacket packet;
  std::size_t stream_sum = 0;
  std::size_t stream_packets = 0;
  // A bomb of gzip is read in constant memory; a fuzzer need not read it to its end.
  while (stream_packets < 100'000 && stream.next(packet)) {
    if (packet.interface >= stream.interfaces().size()) std::abort();
    stream_sum += sum_of(packet);
    ++stream_packets;
  }
  if (capture && (packets != stream_packets || sum != stream_sum)) std::abort();
  if (capture && capture->cut_at_B != stream.cut_at_B()) std::abort();
  return 0;
}
