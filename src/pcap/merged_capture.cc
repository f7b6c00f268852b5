#include "pcap/merged_capture.h"

#include <algorithm>
#include <utility>

namespace weft::pcap {

tl::expected<MergedCapture, std::string> MergedCapture::open(const std::vector<std::string>& paths) {
  std::vector<CaptureStream> files;
  for (const std::string& path : paths) {
    auto file = CaptureStream::open(path);
    if (!file) return tl::unexpected(std::move(file.error()));
    files.push_back(std::move(*file));
  }
  return MergedCapture(std::move(files));
}

MergedCapture::MergedCapture(std::vector<CaptureStream> files) : files_(std::move(files)), heads_(files_.size()) {}

bool MergedCapture::is_later(std::uint32_t a, std::uint32_t b) const {
  const std::int64_t a_ns = heads_[a].packet.time_ns;
  const std::int64_t b_ns = heads_[b].packet.time_ns;
  return a_ns != b_ns ? a_ns > b_ns : a > b;
}

// Reads the next packet of a file into its head and puts the file back into the heap, if there is one.
void MergedCapture::advance(std::uint32_t file) {
  Head& head = heads_[file];
  const bool has_packet = files_[file].next(head.packet);
  while (head.numbers.size() < files_[file].interfaces().size()) {
    const auto interface = static_cast<std::uint32_t>(head.numbers.size());
    head.numbers.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.push_back({file, interface});
  }
  if (!has_packet) return;
  if (!clocks_.empty()) head.packet.time_ns = corrected_ns(clocks_, file, head.packet.time_ns);
  heap_.push_back(file);
  std::push_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return is_later(a, b); });
}

bool MergedCapture::next_of_several(CapturedPacket& packet) {
  if (!started_) {
    started_ = true;
    for (std::uint32_t file = 0; file < files_.size(); ++file) advance(file);
  } else if (!heap_.empty()) {
    // The packet given last was that of the earliest file; only now may its bytes go.
    const std::uint32_t last = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return is_later(a, b); });
    heap_.pop_back();
    advance(last);
  }
  if (heap_.empty()) return false;
  const Head& head = heads_[heap_.front()];
  packet = head.packet;
  packet.interface = head.numbers[packet.interface];
  return true;
}

std::size_t MergedCapture::interface_count() const {
  return files_.size() == 1 ? files_[0].interfaces().size() : places_.size();
}

const CaptureInterface& MergedCapture::interface(std::size_t index) const {
  if (files_.size() == 1) return files_[0].interfaces()[index];
  return files_[places_[index].file].interfaces()[places_[index].interface];
}

std::size_t MergedCapture::file_of(std::size_t index) const {
  return files_.size() == 1 ? 0 : places_[index].file;
}

std::uint64_t MergedCapture::consumed_B() const {
  std::uint64_t sum_B = 0;
  for (const CaptureStream& file : files_) sum_B += file.consumed_B();
  return sum_B;
}

std::optional<std::uint64_t> MergedCapture::file_B() const {
  std::uint64_t sum_B = 0;
  for (const CaptureStream& file : files_) {
    if (!file.file_B()) return std::nullopt;
    sum_B += *file.file_B();
  }
  return sum_B;
}

}  // namespace weft::pcap
