#include "serve/jobs/roofline.h"

#include <string>

namespace weft::serve {

// n ranks on m hosts, R the rate of a host, S the size.
std::optional<double> busbw_roofline_Bps(std::string_view collective, const CollectivePlace& place) {
  const double n = place.ranks, m = place.hosts, rate = place.host_Bps;
  if (m < 2 || n < m || rate <= 0) return std::nullopt;
  std::string name;
  for (const char c : collective)
    if (c != '-' && c != '_') name += c;
  if (name.ends_with("perf")) name.resize(name.size() - 4);
  // Through the ports between two hosts a ring sends 2 (n-1)/n S of an all-reduce and (n-1)/n S of the others: busbw
  // over time, and no more than the rate.
  if (name == "allreduce" || name == "allgather" || name == "reducescatter") return rate;
  // Each of its n/m ranks sends S (n - n/m)/n to other hosts; busbw is (n-1)/n S over time.
  if (name == "alltoall") return rate * (n - 1) / ((n / m) * (n - n / m));
  if (name == "broadcast" || name == "reduce" || name == "sendrecv") return rate;
  return std::nullopt;
}

}  // namespace weft::serve
