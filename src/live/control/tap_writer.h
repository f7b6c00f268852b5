// SPAN to a TAP: every frame that a capture sees comes in by a network interface of this machine, where tcpdump or
// Wireshark watch it. What the machine itself sends there is not read.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "live/control/command.h"
#include "live/control/packet_blocks.h"
#include "live/os/node.h"

namespace weft::live {

class TapWriter {
 public:
  // Makes the interface, or uses one that was made for this user, and brings it up.
  static tl::expected<std::shared_ptr<TapWriter>, CommandProblem> open(const std::string& name);
  ~TapWriter();
  TapWriter(const TapWriter&) = delete;
  TapWriter& operator=(const TapWriter&) = delete;

  std::FILE* file() const { return file_; }  // for a capture
  std::uint64_t lost() const { return lost_; }

 private:
  explicit TapWriter(int fd) { fd_.fd = fd; }
  static ssize_t write(void* self, const char* bytes, std::size_t size_B);

  OwnedDescriptor fd_;
  std::FILE* file_ = nullptr;
  PacketBlocks blocks_;
  std::uint64_t lost_ = 0;  // the interface did not take them
};

}  // namespace weft::live
