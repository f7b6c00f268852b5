// Packet numbers of a run's capture for the steps of its incidents: as Wireshark counts them, from 1.
#pragma once

#include <string>

#include "results/explanation.h"

namespace weft::explain {

// Fills in ChainStep::packet where capture.pcapng has the packet. What kept it from looking is a note of the
// explanation; without a capture there is nothing to say.
void find_packets(const std::string& directory, const lab::Evidence& evidence, lab::Explanation& explanation);

}  // namespace weft::explain
