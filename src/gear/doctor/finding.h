// Findings of the doctor: their kinds in the order in which to suspect them, and a list of them.
//
// The order is that of cluster bring-up: first the physical layer and what a port is at all, then what lowers bandwidth
// by a fifth and more (MTU, PFC and the rest of the QoS contract, cable, PCIe, NUMA placement), then GPUDirect, then
// symptoms that counters show, then settings of the host. A cause comes before its symptoms.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gear/bundle/text.h"

namespace weft::gear {

enum class Severity { kBroken, kSlow, kAdvice };
std::string_view severity_word(Severity severity);

struct FindingKind {
  std::string_view id;
  Severity severity;
  std::string_view title;
};
// In the order of suspicion.
std::span<const FindingKind> finding_kinds();

struct Finding {
  std::string_view id;  // of finding_kinds()
  std::string where;    // "gpu01 mlx5_0 (ens1f0np0)"
  std::string message;
  std::vector<Evidence> evidence;
  std::vector<std::string> fix;  // commands, or what to do by hand
};

const FindingKind& kind_of(const Finding& finding);

class Findings {
 public:
  // `id` must be in finding_kinds().
  void add(std::string_view id, std::string where, std::string message, std::vector<Evidence> evidence,
           std::vector<std::string> fix);
  // Ordered by suspicion, then by place.
  std::vector<Finding> take();

 private:
  std::vector<Finding> findings_;
};

}  // namespace weft::gear
