// Reads frames in order of time and leaves an Analysis. Each section is one group of checks: it sees every frame of its
// kind and, at the end, adds its findings. Sections are members called by name: nothing virtual on the way of a frame.
// Memory grows with streams (bounded), never with frames.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "analyze/classes/contract.h"
#include "analyze/cm/check.h"
#include "analyze/congestion/congestion.h"
#include "analyze/counters_check.h"
#include "analyze/findings/analysis.h"
#include "analyze/frames/addresses.h"
#include "analyze/frames/clock_offsets.h"
#include "analyze/frames/decode.h"
#include "analyze/frames/integrity.h"
#include "analyze/frames/uet_check.h"
#include "analyze/paths/transits.h"
#include "analyze/rc/transport.h"
#include "analyze/streams/capture_check.h"
#include "analyze/streams/copies.h"
#include "analyze/streams/streams.h"
#include "pcap/capture.h"

namespace weft::analyze {

struct AnalyzeOptions {
  DecodeOptions decode;
  Contract contract;  // without ports: none
  std::vector<PortCounters> counters;
  // Frames before and after these times are left out; both count from the first frame.
  std::optional<std::int64_t> since_ns, until_ns;
  // Times in reports and findings count from here; without: from the first frame.
  std::optional<std::int64_t> origin_ns;
  std::size_t most_streams = Streams::kMostStreams;  // that the checks look into
  // Called now and then with the bytes read and the size of all files, 0 where a pipe has none.
  std::function<void(std::uint64_t read_B, std::uint64_t all_B)> progress;
  bool messages = false;  // keep the table of messages
};

class Analyzer {
 public:
  explicit Analyzer(const AnalyzeOptions& options) : options_(options), streams_(options.most_streams) {
    contract_.use(options.contract);
    counters_.use(options.counters);
  }

  // `file` is how findings name it; `path` the file itself, where that is another text.
  PointId add_point(const std::string& file, const pcap::CaptureInterface& interface, const std::string& path = {});
  void see(PointId point, const pcap::CapturedPacket& packet);
  // The points are of several files, each with a clock of its own: compares them while frames are read. Times remain
  // those of the files.
  void compare_clocks() { compares_clocks_ = true; }
  // The clocks were compared before, and times are corrected by them. `files` are in the order of their numbers.
  void say_clocks(const std::vector<ClockOffset>& clocks, const std::vector<std::string>& files, bool is_corrected);
  // A frame that the options leave out: it keeps its number, and times count from the first frame of all.
  void skip(std::int64_t time_ns) { number_next(time_ns); }
  void cut_file(const std::string& file, std::uint64_t offset_B) { capture_check_.add_cut_file(file, offset_B); }
  // A record of the file is not one: nothing behind it was read.
  void damaged_file(const std::string& file, const pcap::CaptureError& error);
  // The file says that this many frames were not written.
  void dropped(PointId point, std::uint64_t frames) { capture_check_.add_dropped(point, frames); }
  Analysis finish();

 private:
  void see_roce();
  std::size_t file_of(PointId point);
  std::uint64_t number_next(std::int64_t time_ns) {
    if (numbered_ == 0) analysis_.capture.begin_ns = options_.origin_ns.value_or(time_ns);
    return ++numbered_;
  }
  void summarise();
  void summarise_counted();

  AnalyzeOptions options_;
  Analysis analysis_;
  Addresses addresses_;
  Streams streams_;
  CaptureCheck capture_check_;
  Copies copies_;
  Transits transits_;
  ClockOffsets clocks_;
  bool compares_clocks_ = false;
  std::vector<std::string> files_;  // of the points, where clocks are compared
  std::vector<std::size_t> file_of_point_;
  Integrity integrity_;
  CmCheck cm_;
  ContractCheck contract_;
  CountersCheck counters_;
  UetCheck uet_;
  RcTransport transport_{options_.messages, &analysis_.capture.points};
  Congestion congestion_{analysis_.capture.points};
  Frame frame_;
  std::uint64_t numbered_ = 0;  // frames until now, those left out too
};

// Names of these files in findings: the last part of the path, and as much before it as tells them apart.
std::vector<std::string> short_names(const std::vector<std::string>& paths);

// Reads the files as one, merged by time, in constant memory. A file that is cut or wrong from some byte on gives what
// it holds up to there, with a remark. The error says which file cannot be read at all, and why.
tl::expected<Analysis, std::string> analyze_files(const std::vector<std::string>& paths, const AnalyzeOptions& options);

}  // namespace weft::analyze
