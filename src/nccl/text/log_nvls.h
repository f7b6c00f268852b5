// Lines of the log about NVLS. Of log.h.
#pragma once

#include <functional>
#include <string_view>

#include "nccl/decide/communicator.h"

namespace weft::nccl {

using SubsystemSink = std::function<void(std::uint32_t subsystems, std::string_view line)>;

// Whether the GPU can.
void write_nvls_support(const Communicator& communicator, std::uint32_t rank, const SubsystemSink& sink);
// Channels and chunks; heads and trees between nodes.
void write_nvls_heads(const Communicator& communicator, std::uint32_t rank, const SubsystemSink& sink);
// Buffers: `comm` is what the log shows as the communicator's address.
void write_nvls_buffers(const Communicator& communicator, std::uint32_t rank, std::uint64_t comm,
                        const SubsystemSink& sink);

}  // namespace weft::nccl
