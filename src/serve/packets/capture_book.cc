#include "serve/packets/capture_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "analyze/frames/decode.h"
#include "analyze/rc/retransmissions.h"

namespace weft::serve {

namespace {

namespace files = std::filesystem;

std::string key_of(const std::vector<std::string>& paths) {
  std::string key;
  for (const std::string& path : paths) {
    std::error_code ignored;
    key += fmt::format("{} {} {};", path, files::file_size(path, ignored),
                       files::last_write_time(path, ignored).time_since_epoch().count());
  }
  return key;
}

CaptureBook::Opened read_all(const std::vector<std::string>& paths) {
  auto capture = std::make_shared<IndexedCapture>();
  analyze::SentAgain again;
  analyze::Addresses addresses;
  analyze::Frame frame;
  constexpr analyze::DecodeOptions kNoIcrc{false};
  std::map<std::string, std::uint32_t, std::less<>> places;
  auto index = pcap::FrameIndex::make(paths, [&](const pcap::CapturedPacket& packet, const auto& interface) {
    // A port is the same interface in all files of a ring.
    auto place = places.find(interface.name);
    if (place == places.end()) place = places.emplace(interface.name, static_cast<std::uint32_t>(places.size())).first;
    frame.direction = packet.outbound ? *packet.outbound ? analyze::Direction::kOut : analyze::Direction::kIn
                                      : analyze::Direction::kUnknown;
    analyze::decode(interface.link_type, packet.bytes, packet.original_B, kNoIcrc, addresses, frame);
    const bool said = packet.comment.find("weft: retransmission") != packet.comment.npos;
    capture->sent_again.push_back(again.see(place->second, frame) || said);
  });
  if (!index) return tl::unexpected(index.error());
  capture->index = std::move(*index);
  return capture;
}

}  // namespace

std::vector<std::string> capture_files_of(const std::string& directory) {
  std::error_code error;
  const files::path single = files::path(directory) / "capture.pcapng";
  if (files::is_regular_file(single, error) && !files::is_symlink(single, error)) return {single.string()};
  std::vector<std::string> ring;
  for (auto it = files::directory_iterator(directory, error); !error && it != files::directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with("capture_") || !name.ends_with(".pcapng") || it->is_symlink(ignored)) continue;
    const std::string_view digits = std::string_view(name).substr(8, name.size() - 8 - 7);
    const bool all_digits = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits.empty() && all_digits && it->is_regular_file(ignored)) ring.push_back(it->path().string());
  }
  // capture_99999 comes before capture_100000.
  std::sort(ring.begin(), ring.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return ring;
}

CaptureBook::Opened CaptureBook::open(const std::string& directory) {
  const std::vector<std::string> paths = capture_files_of(directory);
  if (paths.empty()) return std::shared_ptr<const IndexedCapture>();
  const std::string key = key_of(paths);
  std::promise<Opened> promise;
  {
    std::unique_lock lock(mutex_);
    const auto known =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.key == key; });
    if (known != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, known);
      const auto opened = known->opened;
      lock.unlock();
      return opened.get();
    }
    entries_.push_front({key, promise.get_future().share()});
    if (entries_.size() > kMostKept) entries_.pop_back();
  }
  Opened opened;
  try {
    opened = read_all(paths);
  } catch (const std::exception& error) {
    opened = tl::unexpected(fmt::format("the capture cannot be read: {}", error.what()));
  }
  promise.set_value(opened);
  if (!opened) {
    // The problem may be gone next time.
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const Entry& each) { return each.key == key; });
  }
  return opened;
}

}  // namespace weft::serve
