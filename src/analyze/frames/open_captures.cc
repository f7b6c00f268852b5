#include "analyze/frames/open_captures.h"

#include <algorithm>
#include <filesystem>

#include "analyze/frames/decode.h"
#include "pcap/link_type.h"

namespace weft::analyze {
namespace {

bool can_be_read_twice(const std::string& path) {
  std::error_code unknown;
  return path != "-" && std::filesystem::is_regular_file(path, unknown);
}

// Errors of a file are reported by those who read it for its packets.
void see_all(std::size_t file, pcap::CaptureStream& stream, Addresses& addresses, ClockOffsets& clocks) {
  const DecodeOptions options{.check_icrc = false};
  pcap::CapturedPacket packet;
  Frame frame;
  while (stream.next(packet)) {
    const std::uint16_t link_type = stream.interfaces()[packet.interface].link_type;
    if (link_type == pcap::kLinkTypeEthernet && !clocks.may_use(file, packet.bytes)) continue;
    decode(link_type, packet.bytes, packet.original_B, options, addresses, frame);
    frame.time_ns = packet.time_ns;
    clocks.see(file, packet.interface, frame);
  }
}

}  // namespace

tl::expected<OpenedCaptures, std::string> open_captures(const std::vector<std::string>& paths) {
  auto merged = pcap::MergedCapture::open(paths);
  if (!merged) return tl::unexpected(std::move(merged.error()));
  OpenedCaptures opened{std::move(*merged)};
  if (paths.size() < 2 || !std::ranges::all_of(paths, can_be_read_twice)) return opened;
  Addresses addresses;
  ClockOffsets compared;
  for (std::size_t file = 0; file < paths.size(); ++file) {
    auto stream = pcap::CaptureStream::open(paths[file]);
    if (!stream) return tl::unexpected(std::move(stream.error()));
    see_all(file, *stream, addresses, compared);
  }
  opened.is_compared = true;
  opened.clocks = compared.offsets();
  std::vector<pcap::FileClock> clocks(paths.size());
  for (const ClockOffset& each : opened.clocks) clocks[each.file] = each.clock;
  opened.merged.use_clocks(std::move(clocks));
  return opened;
}

}  // namespace weft::analyze
