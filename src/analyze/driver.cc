// Reads capture files and hands their frames to an Analyzer, in order of time.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analyze/analyzer.h"
#include "analyze/frames/open_captures.h"

namespace weft::analyze {
namespace {

constexpr std::uint64_t kProgressEvery = 1 << 16;  // frames

// The times that are looked at; the first frame sets where they count from.
struct TimeWindow {
  std::int64_t from_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t to_ns = std::numeric_limits<std::int64_t>::max();

  TimeWindow(const AnalyzeOptions& options, std::int64_t first_ns) {
    if (options.since_ns && !__builtin_add_overflow(first_ns, *options.since_ns, &from_ns)) has_limits = true;
    if (options.until_ns && !__builtin_add_overflow(first_ns, *options.until_ns, &to_ns)) has_limits = true;
  }
  bool has_limits = false;
  bool holds(std::int64_t time_ns) const { return time_ns >= from_ns && time_ns <= to_ns; }
};

struct CaptureFiles {
  const std::vector<std::string>& paths;
  std::vector<std::string> names = short_names(paths);
};

// Points are numbered like the interfaces of the merge.
void add_new_points(const pcap::MergedCapture& capture, const CaptureFiles& files, std::size_t& points,
                    Analyzer& analyzer) {
  for (; points < capture.interface_count(); ++points) {
    const std::size_t file = capture.file_of(points);
    analyzer.add_point(files.names[file], capture.interface(points), files.paths[file]);
  }
}

void see_all(pcap::MergedCapture& capture, const CaptureFiles& files, const AnalyzeOptions& options,
             Analyzer& analyzer) {
  std::size_t points = 0;
  std::vector<std::uint64_t> lost;  // at each point, by what packets say
  std::uint64_t frames = 0;
  const std::uint64_t all_B = capture.file_B().value_or(0);
  pcap::CapturedPacket packet;
  if (capture.next(packet)) {
    const TimeWindow window(options, packet.time_ns);
    do {
      if (packet.interface >= points) {
        add_new_points(capture, files, points, analyzer);
        lost.resize(points);
      }
      lost[packet.interface] += packet.dropped_before;
      if (!window.has_limits || window.holds(packet.time_ns)) {
        analyzer.see(packet.interface, packet);
      } else {
        analyzer.skip(packet.time_ns);
      }
      if (++frames % kProgressEvery == 0 && options.progress) options.progress(capture.consumed_B(), all_B);
    } while (capture.next(packet));
  }
  add_new_points(capture, files, points, analyzer);
  lost.resize(points);
  for (std::size_t i = 0; i < points; ++i) {
    const pcap::InterfaceStatistics& statistics = capture.interface(i).statistics;
    const std::uint64_t dropped = statistics.dropped_by_interface.value_or(0) + statistics.dropped_by_os.value_or(0);
    lost[i] = std::max(lost[i], dropped);
    if (lost[i] != 0) analyzer.dropped(static_cast<PointId>(i), lost[i]);
  }
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& path = paths[i];
    std::size_t begin = path.rfind('/');
    const auto is_another = [&](const std::string& other) {
      if (other == path || begin == path.npos) return false;
      return other.ends_with(path.substr(begin)) || other == path.substr(begin + 1);
    };
    while (begin != path.npos && begin > 0 && std::any_of(paths.begin(), paths.end(), is_another))
      begin = path.rfind('/', begin - 1);
    names[i] = begin == path.npos || begin + 1 == path.size() ? path : path.substr(begin + 1);
  }
  return names;
}

tl::expected<Analysis, std::string> analyze_files(const std::vector<std::string>& paths,
                                                  const AnalyzeOptions& options) {
  auto opened = open_captures(paths);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  Analyzer analyzer(options);
  if (opened->is_compared)
    analyzer.say_clocks(opened->clocks, paths, true);
  else if (paths.size() > 1)
    analyzer.compare_clocks();
  const CaptureFiles names{paths};
  see_all(opened->merged, names, options, analyzer);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const pcap::CaptureStream& file = opened->merged.files()[i];
    const auto& error = file.error();
    // Not a capture at all, as against one that is damaged somewhere.
    if (error && file.interfaces().empty())
      return tl::unexpected(fmt::format("{}: {} at byte {}", paths[i], error->message, error->offset_B));
    if (error) analyzer.damaged_file(names.names[i], *error);
    if (file.cut_at_B()) analyzer.cut_file(names.names[i], *file.cut_at_B());
  }
  return analyzer.finish();
}

}  // namespace weft::analyze
