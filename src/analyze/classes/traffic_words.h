// A class of traffic in the words of remedies: what to type for the DSCP and priority that a capture shows, in place of
// an example's.
#pragma once

#include <cstdint>
#include <string>

#include "analyze/streams/streams.h"

namespace weft::analyze {

struct TrafficWords {
  static constexpr std::uint8_t kUsualDscp = 26;  // of RoCE, with priority 3 (NVIDIA, SONiC)

  std::uint8_t dscp = kUsualDscp;
  std::uint8_t priority = 3;

  // "0,0,0,1,0,0,0,0": mlnx_qos --pfc
  std::string pfc_mask() const;
  // The byte of cma_roce_tos and traffic_class with ECT(0).
  unsigned tos() const { return dscp * 4U + 2; }
  // The same of a class that can be lossless: where the traffic has none, of the usual one.
  unsigned lossless_tos() const { return (dscp == 0 ? kUsualDscp : dscp) * 4U + 2; }
};

// Without a class (DSCP 0, priority 0): the usual one of RoCE.
TrafficWords words_of_class(std::uint8_t dscp, int pcp);
TrafficWords words_of_priority(std::size_t priority);
TrafficWords words_of(const Stream& stream);

}  // namespace weft::analyze
