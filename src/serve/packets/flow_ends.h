// The queue pairs of a flow with the addresses of both ends, to find its packets in a capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/ipv6.h"

namespace weft::serve {

struct FlowEnds {
  wire::IpAddress sender{}, receiver{};
  std::uint32_t sender_qp = 0, receiver_qp = 0;
};

// Ends of a flow of the run in this directory, by its name in the API ("incast/3"). Empty: there is no such flow.
std::vector<FlowEnds> ends_of_flow(const std::string& id, const std::string& directory, const std::string& flow);

}  // namespace weft::serve
