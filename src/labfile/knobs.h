// The settings of a lab that people turn most, for a form beside the file: where each is written, what the file says,
// and what holds when it says nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/lab.h"

namespace weft::lab {

enum class KnobKind : unsigned char { kNumber, kSize, kTime, kLength, kChoice, kNic, kSwitch, kText };

struct Knob {
  std::string path;   // as --set takes it
  std::string group;  // "Fabric", "ECN", "PFC", "Congestion control", "Workloads", "Run"
  std::string title;
  KnobKind kind = KnobKind::kText;
  std::string value;     // in the file; empty: it says nothing
  std::string in_force;  // by the file, the profile or the default; empty: not known
  std::vector<std::string> choices;
  std::string help;
};

std::string_view knob_kind_name(KnobKind kind);
// Of a lab that `text` was read into.
std::vector<Knob> knobs_of(const Lab& lab, std::string_view text);

}  // namespace weft::lab
