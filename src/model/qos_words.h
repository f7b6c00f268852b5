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

// A parameter of a congestion control algorithm by the name that the lab file gives it.
template <class Parameters>
struct ParameterKey {
  std::string_view name;
  std::uint32_t Parameters::*member;
  std::uint64_t max = UINT32_MAX;
  std::uint64_t min = 0;
};
std::span<const ParameterKey<nic::DcqcnParameters>> dcqcn_keys();  // those of mlxconfig
std::span<const ParameterKey<nic::HpccParameters>> hpcc_keys();
std::span<const ParameterKey<nic::TimelyParameters>> timely_keys();
std::span<const ParameterKey<nic::SwiftParameters>> swift_keys();

}  // namespace weft::lab
