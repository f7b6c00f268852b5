#include "serve/packets/message_span.h"

#include <algorithm>

#include "analyze/frames/decode.h"
#include "wire/opcode.h"

namespace weft::serve {

namespace {

constexpr std::uint64_t kFarthest = 256 * pcap::FrameIndex::kFramesPerPlace;
constexpr std::uint32_t kPsnHalf = 0x800000, kPsnMask = 0xffffff;

// A frame of the capture, decoded, with its port.
class DecodedReader {
 public:
  DecodedReader(const IndexedCapture& capture, std::uint64_t first, analyze::Addresses& addresses)
      : reader_(capture.index, first), addresses_(addresses) {}

  bool next() {
    pcap::CapturedPacket packet;
    if (!reader_.next(packet)) return false;
    const pcap::CaptureInterface& interface = reader_.interface(packet);
    port = interface.name;
    outbound = packet.outbound.value_or(false);
    analyze::decode(interface.link_type, packet.bytes, packet.original_B, {false}, addresses_, frame);
    return true;
  }
  std::uint64_t number() const { return reader_.number(); }

  analyze::Frame frame;
  std::string port;
  bool outbound = false;

 private:
  pcap::FrameReader reader_;
  analyze::Addresses& addresses_;
};

bool is_data(const analyze::Frame& frame) {
  if (frame.kind != analyze::FrameKind::kRoce || frame.is_cnp()) return false;
  return wire::is_request(frame.opcode) || wire::has_payload(frame.opcode);
}

struct Stream {
  std::string port;
  bool outbound, request;
  analyze::AddressId src, dst;
  std::uint32_t dest_qp;

  bool holds(const DecodedReader& at) const {
    return is_data(at.frame) && at.frame.dest_qp == dest_qp && at.frame.src == src && at.frame.dst == dst &&
           wire::is_request(at.frame.opcode) == request && at.outbound == outbound && at.port == port;
  }
};

// a is not after b, modulo the sequence number space.
bool not_behind(std::uint32_t a, std::uint32_t b) {
  return ((a - b) & kPsnMask) < kPsnHalf;
}

}  // namespace

std::optional<MessageSpan> message_of(const IndexedCapture& capture, std::uint64_t number) {
  analyze::Addresses addresses;
  DecodedReader at(capture, number, addresses);
  if (!at.next() || !is_data(at.frame)) return std::nullopt;
  const Stream stream{at.port,      at.outbound,  wire::is_request(at.frame.opcode),
                      at.frame.src, at.frame.dst, at.frame.dest_qp};
  const std::uint32_t psn = at.frame.psn;
  MessageSpan span{number, number};
  if (wire::is_only(at.frame.opcode)) return span;

  // Backwards, one frame at a time, to the nearest First.
  bool has_first = wire::is_first(at.frame.opcode);
  std::uint64_t end = number;  // not read
  while (!has_first && end > 1 && number - end < kFarthest) {
    const std::uint64_t begin = end > pcap::FrameIndex::kFramesPerPlace ? end - pcap::FrameIndex::kFramesPerPlace : 1;
    DecodedReader back(capture, begin, addresses);
    while (back.next() && back.number() < end) {
      if (!stream.holds(back) || !wire::is_first(back.frame.opcode) || !not_behind(psn, back.frame.psn)) continue;
      span.first = back.number();
      has_first = true;
    }
    end = begin;
  }
  if (!has_first) return std::nullopt;
  if (wire::is_last(at.frame.opcode)) return span;
  while (at.next() && at.number() - number < kFarthest) {
    if (!stream.holds(at) || !wire::is_last(at.frame.opcode) || !not_behind(at.frame.psn, psn)) continue;
    span.last = at.number();
    return span;
  }
  return std::nullopt;
}

}  // namespace weft::serve
