// A capture: taps at chosen ports, frames merged in one canonical order (time, port, direction, order at the tap)
// whatever the windows, domains and threads were, written as pcapng.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "fabric/address_book.h"
#include "fabric/link_wrapper.h"
#include "observe/pcapng.h"
#include "wire/erspan.h"

namespace weft::observe {

class Capture {
 public:
  // Stamps count from this moment (2026-01-01T00:00:00Z), so that no file holds wall time.
  static constexpr std::int64_t kEpoch_ns = 1'767'225'600'000'000'000;

  static tl::expected<std::unique_ptr<Capture>, std::string> create(const std::string& path,
                                                                    const fabric::AddressBook& book);

  // Before the first frame. The returned tap serves both directions of that port.
  fabric::Tap add_port(std::uint32_t port, std::int64_t speed_bps, const std::string& description);

  // A mirror session: frames of that port, inside ERSPAN when `tunnel` says so.
  struct Mirror {
    std::optional<wire::ErspanType> type;
    wire::ErspanTunnel tunnel;
    std::uint16_t session = 1;
    std::uint16_t switch_id = 0;
  };
  fabric::Tap add_mirror(std::uint32_t port, std::int64_t speed_bps, const std::string& description,
                         const Mirror& mirror);

  // Every tap has seen all its frames with a stamp before `time_ps`: they can be written.
  void flush(Time_ps time_ps);
  // What was flushed is in the file for others to read.
  void sync() { writer_.sync(); }
  // Writes the rest. False when not every byte reached the file.
  bool close();
  std::uint64_t frames() const { return frames_; }

 private:
  struct Record {
    Time_ps time_ps;
    std::uint32_t interface;
    bool outbound;
    std::uint32_t size_B;
    std::uint64_t order;
    std::size_t bytes_at;
    std::string comment;
  };
  // One per port and direction would do; per port is enough because a port belongs to one node.
  struct Port {
    Capture* capture;
    std::uint32_t interface;
    std::uint64_t next_order = 0;
    std::optional<Mirror> mirror = {};
    std::vector<Record> records = {};
    std::vector<std::uint8_t> bytes;
  };
  Capture(PcapngWriter writer, const fabric::AddressBook& book) : writer_(std::move(writer)), book_(book) {}
  static void on_frame(void* self, const fabric::TapFrame& frame);
  static std::size_t wrap(Port& port, std::size_t at, std::size_t size_B, const fabric::TapFrame& frame);

  PcapngWriter writer_;
  const fabric::AddressBook& book_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::uint64_t frames_ = 0;
};

}  // namespace weft::observe
