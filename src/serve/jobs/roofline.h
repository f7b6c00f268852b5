// The bus bandwidth that a collective cannot beat at the line rate of the hosts' ports: what a ring sends through them,
// of an all-to-all what every algorithm must send. Follows from the factors of nccl-tests, which are made so that busbw
// compares with the rate of the line. Algorithms that reduce within each host first (trees, NVLS) send less between
// hosts, and can come out above it.
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
