// The bus bandwidth that no fabric can beat: what a host must send or receive of a collective, at the line rate of its
// ports. Follows from the factors of nccl-tests; inside a host data moves for nothing (docs/jobs.md).
#pragma once

#include <optional>
#include <string_view>

namespace weft::serve {

struct CollectivePlace {
  double ranks = 0;
  double hosts = 0;
  double host_Bps = 0;  // line rate that a host's part of the group has, of the host that has least
};

// `collective` is nccl-tests' name or a job's: "all_reduce_perf", "all-reduce". Nothing within one host, or for what is
// not known.
std::optional<double> busbw_roofline_Bps(std::string_view collective, const CollectivePlace& place);

}  // namespace weft::serve
