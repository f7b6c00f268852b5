// The captures of runs, opened once: an index of each (pcap/frame_index.h) and its retransmitted frames. A few are kept
// while their files do not change; requests during indexing wait for it.
#pragma once

#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "pcap/frame_index.h"

namespace weft::serve {

struct IndexedCapture {
  pcap::FrameIndex index;
  std::vector<bool> sent_again;  // by number - 1

  bool was_sent_again(std::uint64_t number) const { return number - 1 < sent_again.size() && sent_again[number - 1]; }
};

class CaptureBook {
 public:
  static constexpr std::size_t kMostKept = 16;
  using Opened = tl::expected<std::shared_ptr<const IndexedCapture>, std::string>;

  // capture.pcapng of a run's directory, or its ring files in order. Null where it has none.
  Opened open(const std::string& directory);

 private:
  struct Entry {
    std::string key;  // the files with their sizes and times
    std::shared_future<Opened> opened;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
};

// In the order in which they were written; only capture.pcapng if it exists.
std::vector<std::string> capture_files_of(const std::string& directory);

}  // namespace weft::serve
