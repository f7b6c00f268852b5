#include "pcap/pcap_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weft::pcap {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Result = tl::expected<void, CaptureError>;

constexpr std::uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::size_t kPcapHeader_B = 24;
constexpr std::size_t kPcapRecordHeader_B = 16;

constexpr std::size_t kBlockFrame_B = 12;  // type, length, length again

// No packet or block that a program writes is longer (Wireshark's limit for pcapng).
constexpr std::uint32_t kMaxRecord_B = 16 * 1024 * 1024;

constexpr std::int64_t kSecond_ns = 1'000'000'000;

tl::unexpected<CaptureError> error_at(std::size_t offset_B, const char* message) {
  return tl::unexpected(CaptureError{offset_B, message});
}

std::uint32_t load32(Bytes b, std::size_t at, bool big_endian) {
  const std::uint32_t little =
      b[at] | std::uint32_t{b[at + 1]} << 8 | std::uint32_t{b[at + 2]} << 16 | std::uint32_t{b[at + 3]} << 24;
  return big_endian ? __builtin_bswap32(little) : little;
}

// Fields of a file whose byte order is known. Callers have checked the length.
struct Order {
  bool big_endian = false;

  std::uint16_t u16(Bytes b, std::size_t at) const {
    return static_cast<std::uint16_t>(big_endian ? b[at] << 8 | b[at + 1] : b[at + 1] << 8 | b[at]);
  }
  std::uint32_t u32(Bytes b, std::size_t at) const { return load32(b, at, big_endian); }
  std::uint64_t u64(Bytes b, std::size_t at) const {
    const std::uint64_t first = u32(b, at);
    const std::uint64_t second = u32(b, at + 4);
    return big_endian ? first << 32 | second : second << 32 | first;
  }
};

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

tl::expected<CaptureFile, CaptureError> read_pcap(Bytes file, Order order, bool nanoseconds) {
  if (file.size() < kPcapHeader_B) return error_at(0, "pcap header is cut");
  CaptureFile capture;
  CaptureInterface interface;
  interface.snap_B = order.u32(file, 16);
  interface.link_type = static_cast<std::uint16_t>(order.u32(file, 20));  // above it: FCS length
  capture.interfaces.push_back(interface);

  std::size_t at = kPcapHeader_B;
  while (at < file.size()) {
    const Bytes rest = file.subspan(at);
    if (rest.size() < kPcapRecordHeader_B) {
      capture.cut_at_B = at;
      break;
    }
    const std::uint32_t captured_B = order.u32(rest, 8);
    if (captured_B > kMaxRecord_B) return error_at(at, "packet longer than 16 MiB");
    if (rest.size() - kPcapRecordHeader_B < captured_B) {
      capture.cut_at_B = at;
      break;
    }
    CapturedPacket packet;
    packet.time_ns = order.u32(rest, 0) * kSecond_ns + std::int64_t{order.u32(rest, 4)} * (nanoseconds ? 1 : 1000);
    packet.bytes = rest.subspan(kPcapRecordHeader_B, captured_B);
    packet.original_B = order.u32(rest, 12);
    capture.packets.push_back(packet);
    at += kPcapRecordHeader_B + captured_B;
  }
  return capture;
}

// How an interface counts time: if_tsresol and if_tsoffset.
struct Clock {
  std::uint8_t resolution = 6;  // 10^-n s, or 2^-n s with the top bit set
  std::int64_t offset_s = 0;

  // nullopt where 64 bits of nanoseconds cannot hold it.
  std::optional<std::int64_t> time_ns(std::uint64_t ticks) const {
    // Unsigned, below 2^94: clang's overflow check of a signed 128-bit product needs a runtime that gcc lacks.
    unsigned __int128 elapsed_ns = ticks;
    const int exponent = resolution & 0x7f;
    if ((resolution & 0x80) != 0) {
      elapsed_ns = elapsed_ns * kSecond_ns >> exponent;
    } else {
      for (int e = exponent; e < 9; ++e) elapsed_ns *= 10;
      for (int e = exponent; e > 9 && elapsed_ns != 0; --e) elapsed_ns /= 10;
    }
    constexpr std::int64_t kMax_ns = std::numeric_limits<std::int64_t>::max();
    if (offset_s > kMax_ns / kSecond_ns || offset_s < -kMax_ns / kSecond_ns) return std::nullopt;
    const __int128 time_ns = static_cast<__int128>(elapsed_ns) + offset_s * kSecond_ns;
    if (time_ns > kMax_ns || time_ns < -kMax_ns) return std::nullopt;
    return static_cast<std::int64_t>(time_ns);
  }
};

class PcapngReader {
 public:
  explicit PcapngReader(Bytes file) : file_(file) {}

  tl::expected<CaptureFile, CaptureError> read() {
    while (at_ < file_.size() && !capture_.cut_at_B) {
      if (const Result block = read_block(); !block) return tl::unexpected(block.error());
    }
    return std::move(capture_);
  }

 private:
  auto error(const char* message) const { return error_at(at_, message); }

  Result read_block() {
    const Bytes rest = file_.subspan(at_);
    if (rest.size() < kBlockFrame_B) return cut();
    if (load32(rest, 0, false) == kSectionHeaderBlock) {
      const bool little = load32(rest, 8, false) == kByteOrderMagic;
      if (!little && load32(rest, 8, true) != kByteOrderMagic) return error("section without byte-order magic");
      order_.big_endian = !little;
    }
    const std::uint32_t type = order_.u32(rest, 0);
    const std::uint32_t size_B = order_.u32(rest, 4);
    if (size_B < kBlockFrame_B || size_B % 4 != 0) return error("bad block length");
    if (size_B > kMaxRecord_B) return error("block longer than 16 MiB");
    if (size_B > rest.size()) return cut();
    if (order_.u32(rest, size_B - 4) != size_B) return error("the two lengths of a block differ");
    const Bytes body = rest.subspan(8, size_B - kBlockFrame_B);

    Result result;
    if (type == kSectionHeaderBlock) {
      result = read_section(body);
    } else if (type == kInterfaceDescriptionBlock) {
      result = read_interface(body);
    } else if (type == kEnhancedPacketBlock) {
      result = read_enhanced(body);
    } else if (type == kSimplePacketBlock) {
      result = read_simple(body);
    }
    at_ += size_B;
    return result;
  }

  Result cut() {
    capture_.cut_at_B = at_;
    return {};
  }

  // Calls visit(code, value) for each option; false where one runs over the end.
  template <typename Visit>
  bool for_each_option(Bytes options, Visit visit) const {
    while (options.size() >= 4) {
      const std::uint16_t code = order_.u16(options, 0);
      const std::size_t size_B = order_.u16(options, 2);
      if (code == 0) return true;
      const std::size_t padded_B = (size_B + 3) & ~std::size_t{3};
      if (padded_B > options.size() - 4) return false;
      visit(code, options.subspan(4, size_B));
      options = options.subspan(4 + padded_B);
    }
    return options.empty();
  }

  Result read_section(Bytes body) {
    if (body.size() < 16) return error("section header is too short");
    if (order_.u16(body, 4) != 1) return error("pcapng version is not 1");
    section_base_ = capture_.interfaces.size();
    return {};
  }

  Result read_interface(Bytes body) {
    if (body.size() < 8) return error("interface description is too short");
    CaptureInterface interface;
    interface.link_type = order_.u16(body, 0);
    interface.snap_B = order_.u32(body, 4);
    Clock clock;
    const bool options_ok = for_each_option(body.subspan(8), [&](std::uint16_t code, Bytes value) {
      if (code == 2) interface.name = text_of(value);
      if (code == 3) interface.description = text_of(value);
      if (code == 8 && value.size() == 8) interface.speed_bps = order_.u64(value, 0);
      if (code == 9 && value.size() == 1) clock.resolution = value[0];
      if (code == 14 && value.size() == 8) clock.offset_s = static_cast<std::int64_t>(order_.u64(value, 0));
    });
    if (!options_ok) return error("option runs over the end of its block");
    capture_.interfaces.push_back(interface);
    clocks_.push_back(clock);
    return {};
  }

  Result read_enhanced(Bytes body) {
    if (body.size() < 20) return error("packet block is too short");
    const std::uint32_t index = order_.u32(body, 0);
    if (index >= capture_.interfaces.size() - section_base_) return error("packet of an interface not described");
    const std::uint32_t captured_B = order_.u32(body, 12);
    if (captured_B > body.size() - 20) return error("packet runs over the end of its block");
    CapturedPacket packet;
    packet.interface = static_cast<std::uint32_t>(section_base_ + index);
    const std::uint64_t ticks = std::uint64_t{order_.u32(body, 4)} << 32 | order_.u32(body, 8);
    const auto time_ns = clocks_[packet.interface].time_ns(ticks);
    if (!time_ns) return error("time out of range");
    packet.time_ns = *time_ns;
    packet.bytes = body.subspan(20, captured_B);
    packet.original_B = order_.u32(body, 16);
    // Blocks are whole words, so the padded packet lies within the body too.
    const Bytes options = body.subspan(20 + ((captured_B + std::size_t{3}) & ~std::size_t{3}));
    const bool options_ok = for_each_option(options, [&](std::uint16_t code, Bytes value) {
      if (code == 1 && packet.comment.data() == nullptr) packet.comment = text_of(value);
      if (code == 2 && value.size() == 4) {
        const std::uint32_t direction = order_.u32(value, 0) & 3;
        if (direction == 1) packet.outbound = false;
        if (direction == 2) packet.outbound = true;
      }
    });
    if (!options_ok) return error("option runs over the end of its block");
    capture_.packets.push_back(packet);
    return {};
  }

  // No time, no options, and the captured length follows from the interface's snap length.
  Result read_simple(Bytes body) {
    if (body.size() < 4) return error("packet block is too short");
    if (capture_.interfaces.size() == section_base_) return error("packet of an interface not described");
    CapturedPacket packet;
    packet.interface = static_cast<std::uint32_t>(section_base_);
    packet.original_B = order_.u32(body, 0);
    const std::uint32_t snap_B = capture_.interfaces[section_base_].snap_B;
    const std::uint32_t captured_B = snap_B == 0 ? packet.original_B : std::min(packet.original_B, snap_B);
    if (captured_B > body.size() - 4) return error("packet runs over the end of its block");
    packet.bytes = body.subspan(4, captured_B);
    capture_.packets.push_back(packet);
    return {};
  }

  Bytes file_;
  std::size_t at_ = 0;
  Order order_;
  std::size_t section_base_ = 0;  // first interface of the section
  std::vector<Clock> clocks_;     // of each interface
  CaptureFile capture_;
};

}  // namespace

tl::expected<CaptureFile, CaptureError> read_capture(Bytes file) {
  if (file.size() < 4) return error_at(0, "too short for a capture");
  for (const bool big_endian : {false, true}) {
    const std::uint32_t magic = load32(file, 0, big_endian);
    if (magic == kMagicMicroseconds) return read_pcap(file, {big_endian}, false);
    if (magic == kMagicNanoseconds) return read_pcap(file, {big_endian}, true);
  }
  if (load32(file, 0, false) == kSectionHeaderBlock) return PcapngReader(file).read();
  return error_at(0, "neither pcap nor pcapng");
}

}  // namespace weft::pcap
