// The words of the lab file: its keys, section by section, and the values of each choice. The reader,
// the JSON schema's test and the documentation's test all use these tables.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "fabric/fault_rule.h"
#include "lab/lab_model.h"
#include "lab/yaml_walk.h"
#include "workload/transfer_options.h"

namespace weft::lab {

std::span<const std::string_view> lab_keys();
std::span<const std::string_view> node_keys();
std::span<const std::string_view> nic_keys();
std::span<const std::string_view> port_keys();
std::span<const std::string_view> link_keys();
std::span<const std::string_view> cable_keys();
std::span<const std::string_view> qos_keys();
std::span<const std::string_view> fault_keys();
std::span<const std::string_view> workload_keys();  // of both kinds
std::span<const std::string_view> perftest_only_keys();
std::span<const std::string_view> transfer_only_keys();
std::span<const std::string_view> expectation_keys();

std::span<const Word<CableKind>> cable_words();
std::span<const Word<Fec>> fec_words();  // without "auto"
std::span<const Word<fabric::FaultAction>> fault_action_words();
std::span<const Word<fabric::FaultFrames>> fault_frames_words();
std::span<const std::string_view> perftest_words();  // "write_bw"
std::span<const Word<workload::TransferOp>> transfer_words();
std::span<const Word<workload::Misuse>> misuse_words();

}  // namespace weft::lab
