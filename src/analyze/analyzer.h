// Reads frames in order of time and leaves an Analysis. Each section is one group of checks: it sees every frame of its
// kind and, at the end, adds its findings. Sections are members called by name: nothing virtual on the way of a frame.
// Memory grows with streams (bounded), never with frames.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "analyze/addresses.h"
#include "analyze/analysis.h"
#include "analyze/decode.h"
#include "analyze/integrity.h"
#include "analyze/streams.h"
#include "pcap/pcap_reader.h"

namespace weft::analyze {

struct AnalyzeOptions {
  DecodeOptions decode;
};

class Analyzer {
 public:
  explicit Analyzer(const AnalyzeOptions& options) : options_(options) {}

  PointId add_point(const std::string& file, const pcap::CaptureInterface& interface);
  void see(PointId point, const pcap::CapturedPacket& packet);
  void remark(std::string text) { analysis_.capture.remarks.push_back(std::move(text)); }
  Analysis finish();

 private:
  void see_roce();
  void summarise();

  AnalyzeOptions options_;
  Addresses addresses_;
  Streams streams_;
  Integrity integrity_;
  Frame frame_;
  Analysis analysis_;
};

// The error says which file and why.
tl::expected<Analysis, std::string> analyze_files(const std::vector<std::string>& paths, const AnalyzeOptions& options);

}  // namespace weft::analyze
