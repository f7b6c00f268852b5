// Where the frames of a capture are: one place for every 1,024 of them, found by reading all of it once, so that any
// frame can be read at once after that. The capture is one file, or the files of a ring one after the other; frames
// are numbered through from 1. Memory: 40 bytes for each place, and what the files say of their interfaces. A file
// that is cut or wrong ends there, and the next one goes on. Not for files that are merged by time
// (merged_capture.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "pcap/capture_stream.h"

namespace weft::pcap {

class FrameIndex {
 public:
  static constexpr std::uint64_t kFramesPerPlace = 1024;
  // Kept of what the files say of their interfaces. With one that describes more, or the same again and again, reading
  // goes on from the last place before that.
  static constexpr std::size_t kMostStates_B = 64 << 20;

  using See = std::function<void(const CapturedPacket&, const CaptureInterface&)>;
  // Calls `see` for every frame. The error names the file that cannot be opened.
  static tl::expected<FrameIndex, std::string> make(std::vector<std::string> files, const See& see = {});

  std::uint64_t frames() const { return frames_; }
  // Problem of a file: "capture.pcapng: bad block length at byte 1234". Empty where there is none.
  const std::string& problem() const { return problem_; }
  const std::vector<std::string>& files() const { return files_; }
  // The first frame that is not earlier, frames() + 1 where none is. Times are taken to go forward.
  std::uint64_t first_at(std::int64_t time_ns) const;

 private:
  friend class FrameReader;
  struct Place {
    std::uint64_t frame;       // number of the frame that is read first there
    std::int64_t time_ns;      // of that frame
    std::uint64_t position_B;  // in its file
    std::uint32_t file, state;
  };
  const Place& place_before(std::uint64_t frame) const;

  std::vector<std::string> files_;
  std::vector<Place> places_;  // never empty once there is a frame
  std::vector<CaptureStream::State> states_;
  std::uint64_t frames_ = 0;
  std::string problem_;
};

// Reads frames in order from a number on, in constant memory. The index outlives it.
class FrameReader {
 public:
  FrameReader(const FrameIndex& index, std::uint64_t first_frame);

  // False behind the last frame. The packet is valid until the next call.
  bool next(CapturedPacket& packet);
  std::uint64_t number() const { return number_; }  // of that packet
  const CaptureInterface& interface(const CapturedPacket& packet) const {
    return stream_->interfaces()[packet.interface];
  }

 private:
  bool open_next_file();

  const FrameIndex& index_;
  std::optional<CaptureStream> stream_;
  std::uint32_t file_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace weft::pcap
