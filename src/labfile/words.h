// The words of the lab file: its keys, section by section, and the values of each choice. The reader,
// the JSON schema's test and the documentation's test all use these tables.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/lab.h"
#include "model/qos_contract.h"
#include "model/qos_words.h"
#include "model/topology.h"
#include "model/workloads/job_training.h"
#include "spec/fault_rule.h"
#include "spec/transfer_options.h"
#include "text/yaml_walk.h"

namespace weft::lab {

enum class FlowPattern : std::uint8_t {
  kIncast,
  kPermutation,
  kAllToAll,
  kPointToPoint,
  kOnOff,
  kDistribution,
  kMatrix,
  kGraph
};

enum class JobKind : std::uint8_t { kTraining, kInference, kChakra, kSimai };

std::span<const std::string_view> lab_keys();
std::span<const std::string_view> node_keys();  // of a host
std::span<const std::string_view> vm_keys();
std::span<const std::string_view> vm_nic_keys();
std::span<const std::string_view> cpu_keys();  // of a host's CPUs
std::span<const std::string_view> outside_keys();
std::span<const std::string_view> udp_keys();
std::span<const std::string_view> switch_keys();
std::span<const std::string_view> switch_port_keys();
std::span<const std::string_view> forwarder_keys();
std::span<const std::string_view> forwarder_port_keys();
std::span<const std::string_view> qdisc_keys();
std::span<const Word<fabric::QdiscKind>> qdisc_words();
std::span<const std::string_view> mirror_keys();
std::span<const Word<MirrorKind>> mirror_words();
std::span<const Word<MirrorDirection>> mirror_direction_words();
std::span<const std::string_view> routing_keys();
std::span<const std::string_view> route_keys();
std::span<const std::string_view> fabric_keys();
std::span<const std::string_view> fabric_host_keys();
std::span<const std::string_view> layout_keys();
std::span<const std::string_view> gpu_fabric_words();
std::span<const Word<host::Iommu>> iommu_words();
std::span<const Word<std::int64_t>> page_words();
std::span<const std::string_view> gpu_keys();
std::span<const std::string_view> numactl_keys();
std::span<const std::string_view> nic_keys();
std::span<const std::string_view> port_keys();
std::span<const std::string_view> link_keys();
std::span<const std::string_view> cable_keys();
std::span<const std::string_view> qos_keys();
std::span<const std::string_view> pfc_keys();
std::span<const std::string_view> watchdog_keys();
std::span<const std::string_view> queue_keys();
std::span<const std::string_view> ecn_keys();
std::span<const std::string_view> group_keys();
std::span<const std::string_view> buffer_keys();
std::span<const std::string_view> congestion_keys();  // of all algorithms
std::span<const std::string_view> fault_keys();
std::span<const std::string_view> workload_keys();    // of every kind
std::span<const std::string_view> graph_flow_keys();  // of one flow of a graph
std::span<const std::string_view> job_keys();
std::span<const std::string_view> job_model_keys();
std::span<const std::string_view> job_parallel_keys();
std::span<const std::string_view> job_slow_keys();
std::span<const Word<JobKind>> job_kind_words();
std::span<const Word<std::uint32_t>> job_precision_words();  // bytes of a value
std::span<const Word<workload::Recompute>> job_recompute_words();
std::span<const std::string_view> program_keys();  // of one program
std::span<const std::string_view> expectation_keys();

std::span<const Word<fabric::FaultAction>> fault_action_words();
std::span<const Word<fabric::FaultFrames>> fault_frames_words();
std::span<const std::string_view> perftest_words();  // "write_bw"
std::span<const Word<workload::TransferOp>> transfer_words();
std::span<const Word<workload::Misuse>> misuse_words();
std::span<const Word<FlowPattern>> flow_pattern_words();
std::span<const Word<engine::TelemetryFormat>> telemetry_words();
std::span<const Word<bool>> network_words();     // true: fabric
std::span<const Word<bool>> all_reduce_words();  // true: by halving and doubling
std::span<const Word<workload::FlowOp>> flow_op_words();
std::span<const Word<FabricTemplate>> template_words();
std::span<const Word<fabric::Balancing>> balancing_words();
std::span<const Word<bool>> hash_words();      // true: with the destination QP
std::span<const Word<bool>> lag_hash_words();  // true: with ports

}  // namespace weft::lab
