// NCCL_GRAPH_DUMP_FILE and NCCL_GRAPH_FILE: rings and trees of a machine as NCCL's XML.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "nccl/decide/communicator.h"
#include "nccl/text/xml.h"

namespace weft::nccl {

// Graphs of the machine of this rank.
std::string graph_xml(const Communicator& communicator, std::uint32_t rank);

// Replaces those of `graphs` that the file has. Its GPUs and devices must be those of the topology.
tl::expected<void, XmlError> read_graphs(const XmlElement& element, const Topology& topology, Graphs& graphs);

}  // namespace weft::nccl
