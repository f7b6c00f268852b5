// NCCL_TOPO_DUMP_FILE and NCCL_TOPO_FILE: a machine as NCCL's XML. What is written can be read back, also by NCCL.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "nccl/decide/communicator.h"
#include "nccl/text/xml.h"

namespace weft::nccl {

// Machine of this rank, as NCCL_TOPO_DUMP_FILE has it.
std::string topology_xml(const Cluster& cluster, const Communicator& communicator, std::uint32_t rank);

// The machine as NCCL sees it with this NCCL_TOPO_FILE: CPUs, PCIe switches and what is below them come from the file.
// GPUs are found by `dev`, else by their order; NICs by the name of their `net`, else by their order. What the file
// says that is not true of the machine is an error: other GPUs or NICs, another kind, another rate.
tl::expected<Machine, XmlError> with_topology(const Machine& machine, const XmlElement& system);

}  // namespace weft::nccl
