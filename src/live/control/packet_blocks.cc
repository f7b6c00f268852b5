#include "live/control/packet_blocks.h"

namespace weft::live {

namespace {

constexpr std::size_t kPacketHead_B = 28;  // type, length, interface, two words of time, captured and original length

std::uint32_t little_endian(const char* at) {
  std::uint32_t value = 0;
  for (int byte = 3; byte >= 0; --byte) value = value << 8 | static_cast<unsigned char>(at[byte]);
  return value;
}

}  // namespace

void PacketBlocks::add(std::string_view bytes,
                       const std::function<void(std::uint32_t type, std::string_view block)>& take) {
  pending_ += bytes;
  std::size_t at = 0;
  while (pending_.size() - at >= 8) {
    const std::uint32_t type = little_endian(pending_.data() + at), size_B = little_endian(pending_.data() + at + 4);
    if (size_B < 12 || pending_.size() - at < size_B) break;
    take(type, std::string_view(pending_).substr(at, size_B));
    at += size_B;
  }
  pending_.erase(0, at);
}

std::string_view frame_of_block(std::string_view block) {
  if (block.size() < kPacketHead_B) return {};
  const std::uint32_t captured_B = little_endian(block.data() + 20), whole_B = little_endian(block.data() + 24);
  if (captured_B != whole_B || block.size() - kPacketHead_B < captured_B) return {};
  return block.substr(kPacketHead_B, captured_B);
}

}  // namespace weft::live
