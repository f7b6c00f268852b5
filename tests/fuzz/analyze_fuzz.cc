// Any bytes through the whole analyzer: as a capture file, and, because most of those end at their header, as the
// packets of one, with times and lengths from the input. Never a crash, never memory beyond the tables' bounds; text
// and JSON are made of whatever was found.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "analyze/analyzer.h"
#include "analyze/rc/retransmissions.h"
#include "analyze/show/packet_line.h"
#include "analyze/show/packet_tree.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/targets.h"
#include "pcap/capture_stream.h"
#include "pcap/link_type.h"

namespace {

using namespace weft;

void finish(analyze::Analyzer& analyzer) {
  const analyze::Analysis analysis = analyzer.finish();
  if (analysis_text(analysis).empty() || analysis_json(analysis).empty()) std::abort();
}

// The frame as a tree and as a line, whatever it holds: no field is outside of its bytes.
void show(std::uint16_t link_type, const pcap::CapturedPacket& packet, analyze::SentAgain& again) {
  const auto tree = analyze::packet_tree(link_type, packet.bytes, packet.original_B);
  for (const analyze::TreeLayer& layer : tree)
    for (const analyze::TreeField& field : layer.fields)
      if (std::size_t{field.offset} + field.length > packet.bytes.size()) std::abort();
  if (analyze::packet_tree_json(tree).empty()) std::abort();
  analyze::Addresses addresses;
  analyze::Frame frame;
  analyze::decode(link_type, packet.bytes, packet.original_B, {}, addresses, frame);
  if (analyze::packet_line(frame, addresses).protocol.empty()) std::abort();
  again.see(packet.interface, frame);
}

void as_file(std::span<const std::uint8_t> bytes) {
  pcap::CaptureStream stream(bytes);
  analyze::Analyzer analyzer({});
  std::size_t points = 0;
  analyze::SentAgain again;
  pcap::CapturedPacket packet;
  while (stream.next(packet)) {
    for (; points < stream.interfaces().size(); ++points) analyzer.add_point("file", stream.interfaces()[points]);
    analyzer.see(packet.interface, packet);
    show(stream.interfaces()[packet.interface].link_type, packet, again);
  }
  if (points > 0) finish(analyzer);
}

// Each packet: a byte that says which template it begins with and how much the clock moves, then changes.
void as_packets(std::span<const std::uint8_t> bytes) {
  fuzz::Input input(bytes.data(), bytes.size());
  analyze::AnalyzeOptions options;
  options.most_streams = 64;
  options.decode.check_icrc = (input.byte() & 1) != 0;
  analyze::Analyzer analyzer(options);
  constexpr std::uint16_t kLinkTypes[] = {
      pcap::kLinkTypeEthernet, pcap::kLinkTypeEthernet,   pcap::kLinkTypeLinuxCooked, pcap::kLinkTypeRaw,
      pcap::kLinkTypeErf,      pcap::kLinkTypeInfiniBand, pcap::kLinkTypeLinuxCooked2};
  for (const std::uint16_t link_type : kLinkTypes) {
    pcap::CaptureInterface interface;
    interface.link_type = link_type;
    interface.speed_bps = link_type == pcap::kLinkTypeEthernet ? 100'000'000'000 : 0;
    analyzer.add_point("packets", interface);
  }
  // Ethernet, IPv4, UDP to 4791, BTH: what a search from nothing would take long to find.
  constexpr std::uint8_t kRoce[] = {2,    0,    0,    0,  0,  2,  2, 0, 0,    0,    0, 1, 8,  0,  0x45, 2, 0,    60,
                                    0,    0,    0x40, 0,  64, 17, 0, 0, 10,   0,    0, 1, 10, 0,  0,    2, 0xc0, 0,
                                    0x12, 0xb7, 0,    40, 0,  0,  4, 0, 0xff, 0xff, 0, 0, 0,  17, 0x80, 0, 0,    0};
  std::int64_t time_ns = 0;
  analyze::SentAgain again;
  while (!input.empty()) {
    const std::uint32_t control = input.byte();
    std::vector<std::uint8_t> frame;
    if ((control & 0x80) != 0) {
      frame.assign(std::begin(kRoce), std::end(kRoce));
      frame[29] = static_cast<std::uint8_t>(1 + (control & 1));
      frame[33] = static_cast<std::uint8_t>(2 - (control & 1));
      frame[15] = static_cast<std::uint8_t>(input.byte());
      frame[42] = static_cast<std::uint8_t>(input.byte());
      frame[49] = static_cast<std::uint8_t>(input.byte() & 3);
      frame[50] = static_cast<std::uint8_t>(input.byte());
      frame[53] = static_cast<std::uint8_t>(input.byte());
    }
    const auto tail = input.take(input.byte());
    frame.insert(frame.end(), tail.begin(), tail.end());
    if ((control & 0x80) != 0 && frame.size() >= 60) {
      const std::size_t total_B = frame.size() - 14;
      frame[16] = static_cast<std::uint8_t>(total_B >> 8);
      frame[17] = static_cast<std::uint8_t>(total_B);
      frame[38] = static_cast<std::uint8_t>((total_B - 20) >> 8);
      frame[39] = static_cast<std::uint8_t>(total_B - 20);
    }
    time_ns += std::int64_t{1} << (control >> 2 & 31);
    pcap::CapturedPacket packet;
    packet.interface = (control & 0x80) != 0 ? control >> 1 & 1 : control % std::size(kLinkTypes);
    packet.time_ns = time_ns;
    packet.bytes = frame;
    packet.original_B = static_cast<std::uint32_t>(frame.size()) + ((control & 0x40) != 0 ? 1000 : 0);
    analyzer.see(packet.interface, packet);
    show(kLinkTypes[packet.interface], packet, again);
  }
  finish(analyzer);
}

}  // namespace

int weft::fuzz::analyze_fuzz(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  as_file(bytes);
  as_packets(bytes);
  return 0;
}
