#include "pcap/pcapng_parser.h"

#include <algorithm>
#include <string_view>

#include "pcap/pcapng_blocks.h"

namespace weft::pcap {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr std::int64_t kMaxTime_ns = std::numeric_limits<std::int64_t>::max();

// Limits of what a hostile file can make a reader keep. Names longer than this are cut.
constexpr std::size_t kMaxInterfaces = 65536;
constexpr std::size_t kMaxName_B = 1024;

constexpr std::size_t kPacketHeader_B = 20;
constexpr std::uint16_t kDropsUnknown = 0xffff;

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr PcapngParser::Outcome wrong(const char* message) {
  return {.is_packet = false, .error = message};
}

constexpr std::size_t padded(std::size_t size_B) {
  return (size_B + 3) & ~std::size_t{3};
}

}  // namespace

void PcapngParser::Clock::prepare() {
  max_ticks = 0;
  if (resolution > 9 || offset_s > kMaxTime_ns / 2 / kSecond_ns || offset_s < 0) return;
  scale_ns = 1;
  for (int e = resolution; e < 9; ++e) scale_ns *= 10;
  offset_ns = offset_s * kSecond_ns;
  max_ticks = static_cast<std::uint64_t>(kMaxTime_ns - offset_ns) / scale_ns;
}

inline bool PcapngParser::Clock::time_ns(std::uint64_t ticks, std::int64_t& result_ns) const {
  if (ticks > max_ticks) return odd_time_ns(ticks, result_ns);
  result_ns = static_cast<std::int64_t>(ticks * scale_ns) + offset_ns;
  return true;
}

bool PcapngParser::Clock::odd_time_ns(std::uint64_t ticks, std::int64_t& result_ns) const {
  // Unsigned, below 2^94: clang's overflow check of a signed 128-bit product needs a runtime that gcc lacks.
  unsigned __int128 elapsed_ns = ticks;
  const int exponent = resolution & 0x7f;
  if ((resolution & 0x80) != 0) {
    elapsed_ns = elapsed_ns * kSecond_ns >> exponent;
  } else {
    for (int e = exponent; e < 9; ++e) elapsed_ns *= 10;
    for (int e = exponent; e > 9 && elapsed_ns != 0; --e) elapsed_ns /= 10;
  }
  if (offset_s > kMaxTime_ns / kSecond_ns || offset_s < -kMaxTime_ns / kSecond_ns) return false;
  const __int128 time_ns = static_cast<__int128>(elapsed_ns) + offset_s * kSecond_ns;
  if (time_ns > kMaxTime_ns || time_ns < -kMaxTime_ns) return false;
  result_ns = static_cast<std::int64_t>(time_ns);
  return true;
}

PcapngParser::Outcome PcapngParser::read(std::uint32_t type, Bytes body, std::vector<CaptureInterface>& interfaces,
                                         CapturedPacket& packet) {
  switch (type) {
    case kEnhancedPacketBlock:
      return read_packet(body, false, interfaces, packet);
    case kSimplePacketBlock:
      return read_simple(body, interfaces, packet);
    case kObsoletePacketBlock:
      return read_packet(body, true, interfaces, packet);
    case kSectionHeaderBlock:
      return read_section(body, interfaces);
    case kInterfaceDescriptionBlock:
      return read_interface(body, interfaces);
    case kInterfaceStatisticsBlock:
      return read_statistics(body, interfaces);
    default:
      return {};
  }
}

// Calls visit(code, value) for each option; false where one runs over the end.
template <typename Visit>
bool PcapngParser::for_each_option(Bytes options, Visit visit) const {
  while (options.size() >= 4) {
    const std::uint16_t code = order.u16(options.data());
    const std::size_t size_B = order.u16(options.data() + 2);
    if (code == kOptEnd) return true;
    const std::size_t padded_B = padded(size_B);
    if (padded_B > options.size() - 4) return false;
    visit(code, options.subspan(4, size_B));
    options = options.subspan(4 + padded_B);
  }
  return options.empty();
}

PcapngParser::Outcome PcapngParser::read_section(Bytes body, const std::vector<CaptureInterface>& interfaces) {
  if (body.size() < 16) return wrong("section header is too short");
  if (order.u16(body.data() + 4) != 1) return wrong("pcapng version is not 1");
  section_base_ = interfaces.size();
  return {};
}

PcapngParser::Outcome PcapngParser::read_interface(Bytes body, std::vector<CaptureInterface>& interfaces) {
  if (body.size() < 8) return wrong("interface description is too short");
  if (interfaces.size() == kMaxInterfaces) return wrong("more than 65536 interfaces");
  CaptureInterface interface;
  interface.link_type = order.u16(body.data());
  interface.snap_B = order.u32(body.data() + 4);
  Clock clock;
  const bool options_ok = for_each_option(body.subspan(8), [&](std::uint16_t code, Bytes value) {
    if (code == kIfName) interface.name = text_of(value).substr(0, kMaxName_B);
    if (code == kIfDescription) interface.description = text_of(value).substr(0, kMaxName_B);
    if (code == kIfSpeed && value.size() == 8) interface.speed_bps = order.u64(value.data());
    if (code == kIfTsresol && value.size() == 1) clock.resolution = value[0];
    if (code == kIfTsoffset && value.size() == 8) clock.offset_s = static_cast<std::int64_t>(order.u64(value.data()));
    if (code == kIfFcslen && value.size() == 1) interface.fcs_B = static_cast<std::uint8_t>(value[0] / 8);  // in bits
  });
  if (!options_ok) return wrong("option runs over the end of its block");
  clock.prepare();
  interfaces.push_back(std::move(interface));
  clocks_.push_back(clock);
  return {};
}

PcapngParser::Outcome PcapngParser::read_statistics(Bytes body, std::vector<CaptureInterface>& interfaces) const {
  if (body.size() < 12) return wrong("interface statistics are too short");
  const std::uint32_t index = order.u32(body.data());
  if (index >= interfaces.size() - section_base_) return wrong("statistics of an interface not described");
  InterfaceStatistics& statistics = interfaces[section_base_ + index].statistics;
  const bool options_ok = for_each_option(body.subspan(12), [&](std::uint16_t code, Bytes value) {
    if (value.size() != 8) return;
    if (code == kIsbIfrecv) statistics.received = order.u64(value.data());
    if (code == kIsbIfdrop) statistics.dropped_by_interface = order.u64(value.data());
    if (code == kIsbOsdrop) statistics.dropped_by_os = order.u64(value.data());
  });
  return options_ok ? Outcome{} : wrong("option runs over the end of its block");
}

bool PcapngParser::read_packet_options(Bytes options, bool obsolete, CapturedPacket& packet) const {
  return for_each_option(options, [&](std::uint16_t code, Bytes value) {
    if (code == kOptComment && packet.comment.data() == nullptr) packet.comment = text_of(value);
    if (code == kEpbFlags && value.size() == 4) {
      const std::uint32_t direction = order.u32(value.data()) & 3;
      if (direction == 1) packet.outbound = false;
      if (direction == 2) packet.outbound = true;
    }
    if (code == kEpbDropcount && value.size() == 8 && !obsolete) {
      packet.dropped_before = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(order.u64(value.data()), std::numeric_limits<std::uint32_t>::max()));
    }
  });
}

// The obsolete block has 16 bits of interface and 16 bits of drops where the enhanced one has 32 bits of interface.
PcapngParser::Outcome PcapngParser::read_packet(Bytes body, bool obsolete,
                                                const std::vector<CaptureInterface>& interfaces,
                                                CapturedPacket& packet) const {
  if (body.size() < kPacketHeader_B) return wrong("packet block is too short");
  const std::uint8_t* const at = body.data();
  const std::uint32_t index = obsolete ? order.u16(at) : order.u32(at);
  if (index >= interfaces.size() - section_base_) return wrong("packet of an interface not described");
  const std::uint32_t captured_B = order.u32(at + 12);
  if (captured_B > body.size() - kPacketHeader_B) return wrong("packet runs over the end of its block");
  packet.interface = static_cast<std::uint32_t>(section_base_ + index);
  const std::uint64_t ticks = std::uint64_t{order.u32(at + 4)} << 32 | order.u32(at + 8);
  if (!clocks_[packet.interface].time_ns(ticks, packet.time_ns)) return wrong("time out of range");
  packet.bytes = body.subspan(kPacketHeader_B, captured_B);
  packet.original_B = order.u32(at + 16);
  packet.comment = {};
  packet.outbound.reset();
  packet.dropped_before = 0;
  if (obsolete && order.u16(at + 2) != kDropsUnknown) packet.dropped_before = order.u16(at + 2);
  // Blocks are whole words, so the padded packet lies within the body too.
  const Bytes options = body.subspan(kPacketHeader_B + padded(captured_B));
  if (!options.empty() && !read_packet_options(options, obsolete, packet)) {
    return wrong("option runs over the end of its block");
  }
  return {.is_packet = true};
}

// No time, no options, and the captured length follows from the interface's snap length.
PcapngParser::Outcome PcapngParser::read_simple(Bytes body, const std::vector<CaptureInterface>& interfaces,
                                                CapturedPacket& packet) const {
  if (body.size() < 4) return wrong("packet block is too short");
  if (interfaces.size() == section_base_) return wrong("packet of an interface not described");
  packet = {};
  packet.interface = static_cast<std::uint32_t>(section_base_);
  packet.original_B = order.u32(body.data());
  const std::uint32_t snap_B = interfaces[section_base_].snap_B;
  const std::uint32_t captured_B = snap_B == 0 ? packet.original_B : std::min(packet.original_B, snap_B);
  if (captured_B > body.size() - 4) return wrong("packet runs over the end of its block");
  packet.bytes = body.subspan(4, captured_B);
  return {.is_packet = true};
}

}  // namespace weft::pcap
