// What each LAG carried in one direction, by member: the fullest decides how long equal transfers take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/run_result.h"

namespace weft::lab {

struct LagMember {
  std::string port;  // "leaf0:swp29", "h0:p1"
  std::uint64_t packets = 0, bytes = 0;
};
struct LagDirection {
  std::string name, from, to;  // of the LAG, switches or a host
  std::int64_t rate_bps = 0;   // of a member
  std::vector<LagMember> members;

  std::uint64_t bytes() const;
  const LagMember& fullest() const;  // the first of equal ones
};

std::vector<LagDirection> lag_directions(const Lab& lab, const RunResult& result);
std::string lag_section(const Lab& lab, const RunResult& result);  // of the report; empty without LAGs

}  // namespace weft::lab
