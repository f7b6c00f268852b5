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
#include "analyze/capture_check.h"
#include "analyze/cm_check.h"
#include "analyze/contract.h"
#include "analyze/counters_check.h"
#include "analyze/decode.h"
#include "analyze/integrity.h"
#include "analyze/streams.h"
#include "analyze/uet_check.h"
#include "pcap/pcap_reader.h"

namespace weft::analyze {

struct AnalyzeOptions {
  DecodeOptions decode;
  Contract contract;  // without ports: none
  std::vector<PortCounters> counters;
};

class Analyzer {
 public:
  explicit Analyzer(const AnalyzeOptions& options) : options_(options) {
    contract_.use(options.contract);
    counters_.use(options.counters);
  }

  PointId add_point(const std::string& file, const pcap::CaptureInterface& interface);
  void see(PointId point, const pcap::CapturedPacket& packet);
  void cut_file(const std::string& file, std::uint64_t offset_B) { capture_check_.add_cut_file(file, offset_B); }
  // The file says that this many frames were not written.
  void dropped(PointId point, std::uint64_t frames) { capture_check_.add_dropped(point, frames); }
  Analysis finish();

 private:
  void see_roce();
  void summarise();

  AnalyzeOptions options_;
  Addresses addresses_;
  Streams streams_;
  CaptureCheck capture_check_;
  Integrity integrity_;
  CmCheck cm_;
  ContractCheck contract_;
  CountersCheck counters_;
  UetCheck uet_;
  Frame frame_;
  Analysis analysis_;
};

// The error says which file and why.
tl::expected<Analysis, std::string> analyze_files(const std::vector<std::string>& paths, const AnalyzeOptions& options);

}  // namespace weft::analyze
