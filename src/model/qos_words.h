// The values of each choice in the QoS contract, as the lab file and `weft qos` write them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/qos_contract.h"
#include "text/word.h"

namespace weft::lab {

std::span<const Word<QosProfile>> profile_words();
std::span<const Word<fabric::Trust>> trust_words();
std::span<const Word<fabric::FlowControl>> flow_control_words();
std::span<const Word<fabric::Scheduling>> scheduling_words();
std::span<const Word<bool>> mark_words();     // true: at enqueue
std::span<const Word<bool>> not_ect_words();  // true: dropped
std::span<const Word<fabric::WatchdogAction>> watchdog_words();
std::span<const Word<nic::CongestionKind>> congestion_words();
std::span<const Word<bool>> dcqcn_set_words();  // true: the paper's

}  // namespace weft::lab
