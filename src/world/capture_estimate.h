// How large a capture of a run will be, before anything runs: the bytes that the workloads ask for, as frames, at the
// captured ports of the shortest paths. An estimate: paths of equal length get equal shares, and what the fabric adds
// (retransmissions, pause frames, CNPs) is not in it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lab.h"

namespace weft::lab {

struct CaptureEstimate {
  double file_B = 0;     // in pcapng
  bool is_whole = true;  // false: not all is in it: collectives, jobs and programs say no bytes
  double full_Bps = 0;   // what the captured ports carry in both directions at full load
};

// `snaplen_B` 0: whole frames.
CaptureEstimate estimate_capture(const Lab& lab, const std::vector<PortRef>& ports, std::uint32_t snaplen_B);

}  // namespace weft::lab
