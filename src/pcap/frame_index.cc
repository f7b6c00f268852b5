#include "pcap/frame_index.h"

#include <algorithm>
#include <utility>

namespace weft::pcap {

tl::expected<FrameIndex, std::string> FrameIndex::make(std::vector<std::string> files, const See& see) {
  FrameIndex index;
  std::size_t states_B = 0;
  index.files_ = std::move(files);
  for (std::uint32_t file = 0; file < index.files_.size(); ++file) {
    auto stream = CaptureStream::open(index.files_[file]);
    if (!stream) return tl::unexpected(std::move(stream.error()));
    std::uint64_t in_file = 0;
    std::optional<std::uint64_t> position_B = 0;
    CapturedPacket packet;
    bool is_first = true;
    for (;; ++in_file) {
      // A place is where the stream stands before the frame; its state is what the file has said until there.
      const bool wants_place = in_file % kFramesPerPlace == 0 && position_B;
      std::uint32_t state = 0;
      bool has_place = wants_place;
      if (wants_place) {
        const bool known = !is_first && !index.states_.empty() && stream->has_state(index.states_.back());
        if (!known && (is_first || states_B < kMostStates_B)) {
          index.states_.push_back(stream->state());
          states_B += index.states_.back().size_B();
        } else if (!known) {
          has_place = false;
        }
        state = static_cast<std::uint32_t>(index.states_.size() - 1);
      }
      is_first = false;
      if (!stream->next(packet)) break;
      ++index.frames_;
      if (has_place) index.places_.push_back({index.frames_, packet.time_ns, *position_B, file, state});
      if (see) see(packet, stream->interfaces()[packet.interface]);
      position_B = stream->position_B();
    }
    const std::string name = index.files_[file].substr(index.files_[file].rfind('/') + 1);
    if (stream->error()) {
      index.problem_ = name + ": " + stream->error()->message + " at byte " + std::to_string(stream->error()->offset_B);
    } else if (stream->cut_at_B()) {
      index.problem_ = name + ": ends within a record at byte " + std::to_string(*stream->cut_at_B());
    }
  }
  return index;
}

const FrameIndex::Place& FrameIndex::place_before(std::uint64_t frame) const {
  const auto after = std::upper_bound(places_.begin(), places_.end(), frame,
                                      [](std::uint64_t number, const Place& place) { return number < place.frame; });
  return *(after == places_.begin() ? after : after - 1);
}

std::uint64_t FrameIndex::first_at(std::int64_t time_ns) const {
  const auto at = std::lower_bound(places_.begin(), places_.end(), time_ns,
                                   [](const Place& place, std::int64_t time) { return place.time_ns < time; });
  if (at == places_.begin()) return 1;
  FrameReader reader(*this, (at - 1)->frame);
  CapturedPacket packet;
  while (reader.next(packet)) {
    if (packet.time_ns >= time_ns) return reader.number();
    if (at != places_.end() && reader.number() >= at->frame) break;
  }
  return at == places_.end() ? frames_ + 1 : at->frame;
}

FrameReader::FrameReader(const FrameIndex& index, std::uint64_t first_frame) : index_(index) {
  if (index.places_.empty() || first_frame > index.frames_) return;
  const FrameIndex::Place& place = index.place_before(first_frame);
  auto stream = CaptureStream::resume(index.files_[place.file], index.states_[place.state], place.position_B);
  if (!stream) return;
  stream_.emplace(std::move(*stream));
  file_ = place.file;
  number_ = place.frame - 1;
  CapturedPacket packet;
  while (number_ + 1 < first_frame && next(packet)) {
  }
}

bool FrameReader::open_next_file() {
  if (file_ + 1 >= index_.files_.size()) return false;
  auto stream = CaptureStream::open(index_.files_[++file_]);
  if (!stream) return false;
  stream_.emplace(std::move(*stream));
  return true;
}

bool FrameReader::next(CapturedPacket& packet) {
  while (stream_ && number_ < index_.frames_) {
    if (stream_->next(packet)) {
      ++number_;
      return true;
    }
    if (!open_next_file()) stream_.reset();
  }
  return false;
}

}  // namespace weft::pcap
