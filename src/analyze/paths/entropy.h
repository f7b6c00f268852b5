// Checks 18 and 19: UDP source ports, which is all that tells the queue pairs of two hosts apart where paths are chosen
// by a hash (path-entropy), and MigReq, which some NICs handle slowly when it is clear (migreq). Both look at the marks
// of streams when the capture has been read.
#pragma once

#include "analyze/findings/finding.h"
#include "analyze/pauses/lanes.h"
#include "analyze/streams/stream_marks.h"

namespace weft::analyze {

// path_collisions.cc: which of several ways flows took, as far as a capture shows it.
void check_collisions(Findings& findings, const Reading& reading, PauseLanes& lanes);
void check_path_entropy(Findings& findings, const Reading& reading, PauseLanes& lanes);
void check_migreq(Findings& findings, const Reading& reading);

}  // namespace weft::analyze
