// The events of a trace, one on a line, and the numbers that nodes (processes) and tracks (threads) get. Slices of one
// track must not overlap unless they nest: a track with lanes puts a slice that overlaps into a lane of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/files.h"

namespace weft::exports {

class TraceWriter {
 public:
  explicit TraceWriter(const std::string& path);

  // `arguments` is a JSON object, or empty.
  void slice(const std::string& node, const std::string& track, const std::string& name, std::int64_t start_ps,
             std::int64_t end_ps, const std::string& arguments);
  void instant(const std::string& node, const std::string& track, const std::string& name, std::int64_t time_ps,
               const std::string& arguments);
  void counter(const std::string& node, const std::string& name, std::int64_t time_ps, std::int64_t value);

  std::uint64_t events() const { return events_; }
  tl::expected<void, std::string> close();

 private:
  int process(const std::string& node);
  int thread(int process, const std::string& name);
  void event(const std::string& text);

  OutputFile file_;
  std::string pending_;
  std::map<std::string, int> processes_;
  std::map<std::pair<int, std::string>, int> threads_;
  std::map<int, int> thread_counts_;                                          // by process
  std::map<std::pair<int, std::string>, std::vector<std::int64_t>> busy_ps_;  // of each lane of a track
  std::uint64_t events_ = 0;
};

// In quotes, escaped.
std::string trace_text(std::string_view text);

}  // namespace weft::exports
