// Why a switch lost a packet, in the words of What Just Happened (NVIDIA's reason ids, [cumulus-docs]) and of Linux'
// devlink traps. Reasons that WJH does not have carry no id.
#pragma once

#include <span>
#include <string_view>

#include "spec/ledger.h"

namespace weft::lab {

struct DropReason {
  fabric::Fate fate;
  int wjh_id;               // 0: not a WJH reason
  std::string_view name;    // WJH's, or ours
  std::string_view group;   // WJH's: buffer, router
  std::string_view metric;  // for expect: and results.json
  std::string_view remedy;
};

// Those of a switch, in the order of fabric::Fate.
std::span<const DropReason> drop_reasons();
const DropReason& drop_reason(fabric::Fate fate);

}  // namespace weft::lab
