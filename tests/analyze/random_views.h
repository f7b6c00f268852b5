// How a run was captured: at which ports, from when to when, with what the capture itself did to it: frames that were
// not captured, clocks that differ, stamps that are late, mirror sessions. Cuts the files out of the run, and judges
// from the planted incidents what they have to show.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/random_faults.h"

namespace weft::planted {

struct View {
  enum class Kind : std::uint8_t {
    kOnePort,   // of a host or a switch
    kTwoPorts,  // of one flow's ends, in one file
    kAllPorts,
    kFilePerHost,  // each with its clock
    kMirrorPorts,  // two ports of a switch mirrored to one interface
    kErspan,       // sessions of two sources with one number
  };
  Kind kind = Kind::kOnePort;
  std::vector<std::string> ports;
  std::int64_t from_ns = 0, to_ns = 0;
  std::uint32_t snap_B = 0;                       // 0: whole frames
  std::int64_t lost_ppm = 0;                      // frames that were not captured
  std::vector<std::int64_t> clock_ns, drift_ppb;  // of each file
  std::int64_t late_ppm = 0;                      // stamps that are late, by up to late_ns
  std::int64_t late_ns = 0;
  bool sorted = false;   // the file was put in order of stamps afterwards
  bool as_pcap = false;  // without names, speeds and directions
  CaptureFault fault = CaptureFault::kNone;

  bool has_directions() const { return kind != Kind::kMirrorPorts && kind != Kind::kErspan && !as_pcap; }
  std::string text() const;
};

// `impaired`: the capture lacks frames, or has offset clocks, late stamps or two mirror sources.
View draw_view(const GroundTruth& truth, const Family* family, bool impaired, std::uint32_t snap_B, Dice& dice);

struct CutCapture {
  std::vector<std::string> files;
  std::vector<std::vector<const Sighting*>> kept;  // by interface of the run
  std::vector<std::vector<std::int64_t>> removed;  // times of frames in the window that were not captured, likewise
  std::uint64_t lost = 0, disordered = 0;
  bool shows_loss = false;  // a lost data frame whose neighbours and acknowledgement were captured
};
// `truth` outlives the result.
CutCapture cut_capture(const GroundTruth& truth, const View& view, const std::string& directory, Dice& dice);

// What the files have to show, and what they may show.
struct Expected {
  bool surely = false;
  std::set<std::string> right;      // first findings that name the fault; one of them when `surely`
  std::set<std::string> tolerated;  // true of the capture itself
  std::vector<std::string> why;     // for a person
};
Expected expect(const GroundTruth& truth, const View& view, const CutCapture& cut,
                const std::vector<Incident>& incidents);

}  // namespace weft::planted
