// The targets of weft_fuzz, each in the file of its name. fuzz.cc chooses one of them.
#pragma once

#include <cstddef>
#include <cstdint>

// libFuzzer's own mutation.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t room);

namespace weft::fuzz {

// One input: returns 0, or aborts where something does not hold.
using FuzzTarget = int(const std::uint8_t* data, std::size_t size);
FuzzTarget analyze_fuzz, chakra_fuzz, cm_fuzz, connection_fuzz, doctor_fuzz, frame_fuzz, gear_import_fuzz, lab_fuzz,
    mad_fuzz, nccl_fuzz, outside_fuzz, pcap_fuzz, program_fuzz, results_fuzz, simai_fuzz, vm_host_fuzz;

// Changes a lab by its keys and values.
std::size_t mutate_lab(std::uint8_t* data, std::size_t size, std::size_t room, unsigned seed);

}  // namespace weft::fuzz
