// pcapng as it is written, block by block: for those who pass frames on instead of keeping a file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::live {

inline constexpr std::uint32_t kPacketBlock = 6;  // enhanced packet block

class PacketBlocks {
 public:
  // Calls `take` with the type and all bytes of each block that is whole.
  void add(std::string_view bytes, const std::function<void(std::uint32_t type, std::string_view block)>& take);

 private:
  std::string pending_;
};

// The frame that an enhanced packet block holds; empty when it is cut short.
std::string_view frame_of_block(std::string_view block);

}  // namespace weft::live
