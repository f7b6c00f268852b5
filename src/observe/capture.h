// A capture: taps at chosen ports, frames merged in one canonical order (time, port, direction, order at the tap)
// whatever the windows, domains and threads were, written as pcapng. What waits to be written is bounded: a tap that
// has filled its share sets a flag, and the world lets the capture write before it goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/files.h"
#include "fabric/link_wrapper.h"
#include "pcap/pcapng.h"
#include "spec/address_book.h"
#include "wire/erspan.h"

namespace weft::observe {

// A capture whose size nobody can know before ends there, unless another limit is asked for.
inline constexpr std::uint64_t kUsualLimit_B = 2'000'000'000;

struct CaptureOptions {
  std::uint32_t snaplen_B = 0;  // bytes kept of each frame; 0: all
  // A file ends before it is larger than this; 0: never. With `files` the next one begins, and the oldest goes when
  // there are more than that (dumpcap -b filesize: -b files:); without, the capture ends (dumpcap -a filesize:).
  std::uint64_t file_B = 0;
  std::uint32_t files = 0;
  // Written under its own name from the start, so that it can be read meanwhile; otherwise it gets that when it is
  // complete.
  bool in_place = false;
};

// "capture.pcapng", or with ring files "capture_00001.pcapng".
std::string capture_file_name(const std::string& path, const CaptureOptions& options, std::uint64_t number);
// Every file that a capture of this path can have left behind, in order of their names.
std::vector<std::string> capture_files(const std::string& path);

class Capture {
 public:
  // Stamps count from this moment (2026-01-01T00:00:00Z), so that no file holds wall time.
  static constexpr std::int64_t kEpoch_ns = 1'767'225'600'000'000'000;
  // Frames that wait for those before them, with what is kept beside each.
  static constexpr std::uint64_t kMostPending_B = 16'000'000;

  // `full` is set when kMostPending_B are waiting; flush() takes it back.
  static tl::expected<std::unique_ptr<Capture>, std::string> create(const std::string& path,
                                                                    const fabric::AddressBook& book,
                                                                    const CaptureOptions& options = {},
                                                                    std::atomic<bool>* full = nullptr);

  // Into a stream of the caller's, who closes it.
  static std::unique_ptr<Capture> create(std::FILE* file, const fabric::AddressBook& book,
                                         const CaptureOptions& options, std::atomic<bool>* full);

  // Before the first frame. The returned tap serves both directions of that port.
  fabric::Tap add_port(std::uint32_t port, std::int64_t speed_bps, const std::string& description);

  // A mirror session: frames of that port, inside ERSPAN when `tunnel` is set.
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
  // Flushed frames are in the file for others to read.
  void sync() { writer_.sync(); }
  // Writes the rest. False when not every byte reached the file; then, unless in place, the file is gone.
  bool close();
  std::uint64_t frames() const { return frames_; }        // written, in all files
  std::uint64_t left_out() const { return left_out_; }    // came when the file was full
  std::uint64_t pending_B() const { return pending_B_; }  // waits to be written
  // Names of the files that are there, oldest first.
  std::vector<std::string> files() const { return {names_.begin(), names_.end()}; }

 private:
  struct Record {
    Time_ps time_ps;
    std::uint32_t interface;
    bool outbound;
    std::uint32_t size_B;
    std::uint32_t original_B;
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
  struct Interface {
    std::string name;
    std::uint64_t speed_bps;
    std::string description;
  };
  Capture(std::string path, pcap::PcapngWriter writer, ReplacedFile file, const fabric::AddressBook& book,
          const CaptureOptions& options, std::atomic<bool>* full);
  static void on_frame(void* self, const fabric::TapFrame& frame);
  static std::size_t wrap(Port& port, std::size_t at, std::size_t size_B, const fabric::TapFrame& frame);
  // Makes room for a block; false when there is none and no further file.
  bool has_room(std::uint64_t block_B);
  bool open_next();
  bool close_file();

  std::string path_;
  CaptureOptions options_;
  std::atomic<bool>* full_;
  pcap::PcapngWriter writer_;
  ReplacedFile file_;
  std::deque<std::string> names_;
  std::vector<Interface> interfaces_;
  const fabric::AddressBook& book_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::uint64_t numbered_ = 1;
  std::uint64_t frames_ = 0, frames_in_file_ = 0, left_out_ = 0;
  bool ended_ = false;   // full, and no further file
  bool failed_ = false;  // a file could not be written
  std::atomic<std::uint64_t> pending_B_{0};
};

}  // namespace weft::observe
