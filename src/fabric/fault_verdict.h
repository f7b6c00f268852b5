// What becomes of one frame on a link direction: the faults of the cable and the impairment of the port add to it.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "spec/ledger.h"

namespace weft::fabric {

struct FaultVerdict {
  bool lost = false;
  Fate loss = Fate::kFaultDrop;
  bool corrupt = false;
  bool bit_error = false;
  bool ce_mark = false;
  bool duplicate = false;
  Time_ps duplicate_delay_ps = 0;
  Time_ps delay_ps = 0;
  std::string comment;  // for captures; empty when nothing happened

  void note(std::string_view text) {
    if (!comment.empty()) comment += "; ";
    comment += text;
  }
};

}  // namespace weft::fabric
