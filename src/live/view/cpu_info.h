// /proc/cpuinfo in virtual time on x86-64, where programs take the frequency of the CPU's counter from it: UCX from "@
// 2.50GHz" in the name of the model, perftest from "cpu MHz". The simulated counter runs at 1 GHz
// (preload/time/counter_trap.cc).
#pragma once

#include <string>
#include <string_view>

namespace weft::live {

// The machine's text with the counter's frequency in place of the CPU's. Empty: the text names no frequency (arm64).
std::string cpu_info_at_counter_frequency(std::string_view machine);

}  // namespace weft::live
