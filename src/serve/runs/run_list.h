// The list of runs, scanned once for all requests at the same time: the answer to GET /api/runs, the newest run, and
// whether something has changed. Memory is for the existing runs and one answer, whatever the number of requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "serve/runs/run_place.h"

namespace weft::serve {

class RunList {
 public:
  struct Look {
    std::shared_ptr<const std::string> json;  // {"runs": [...]}
    std::string newest;                       // the one whose results were written last; empty when there is none
    std::size_t count = 0;
    std::uint64_t version = 0;  // changes when `json` does
  };

  // A scan may be up to `age` old, or ten times its duration if that is more; with 0 a request gets a scan that started
  // after it. `place` outlives the list.
  explicit RunList(const RunPlace& place, std::chrono::milliseconds age = {}) : place_(place), age_(age) {}

  std::shared_ptr<const Look> look();
  // Later requests get a scan that started after this call.
  void changed();
  // The number of scans of the directory.
  std::uint64_t looks() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::string stamp, json;
  };
  bool is_fresh(Clock::time_point asked) const;
  std::shared_ptr<const Look> look_through();
  const Entry& entry_of(const NamedRun& run, bool is_written, std::unordered_map<std::string, Entry>& kept);

  const RunPlace& place_;
  const std::chrono::milliseconds age_;

  std::mutex looking_;  // held by the thread that scans the directory
  std::unordered_map<std::string, Entry> entries_;

  mutable std::mutex mutex_;
  std::shared_ptr<const Look> latest_;
  Clock::time_point began_{}, changed_{};
  Clock::duration took_{};
  std::uint64_t looks_ = 0;
};

}  // namespace weft::serve
