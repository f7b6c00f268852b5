// The keys of a lab file, one row each (text/fields.h), section by section; those of `qos` are in model/qos_fields.h,
// values of models in catalog/model_fields.h. Each section is in the file of its reader, or beside it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/draft.h"
#include "model/lab.h"
#include "model/topology.h"
#include "model/topology_builder.h"
#include "model/workloads/job_training.h"
#include "spec/cpu_use.h"
#include "spec/flow_options.h"
#include "spec/forwarder_model.h"
#include "spec/places.h"
#include "spec/switch_config.h"
#include "spec/transfer_options.h"
#include "text/fields.h"

namespace weft::lab {

// All of it.
extern const SectionOf<Lab> kLabKeys;

// fabric_fields.cc: networks.
extern const SectionOf<FabricSpec> kFabricKeys;
extern const SectionOf<FabricSpec> kFabricHostKeys;
extern const SectionOf<LinkConfig> kLinkKeys;
extern const SectionOf<CableSpec> kCableKeys;
extern const SectionOf<fabric::RoutingConfig> kRoutingKeys;
extern const SectionOf<void> kRouteKeys;
extern const SectionOf<MirrorConfig> kMirrorKeys;
extern const SectionOf<FaultConfig> kFaultKeys;
extern const SectionOf<Expectation> kExpectationKeys;

// node_fields.cc
extern const SectionOf<HostConfig> kHostKeys;
extern const SectionOf<void> kFabricNodeKeys;    // changes to a host of a template
extern const SectionOf<void> kFabricSwitchKeys;  // and to a switch
extern const SectionOf<HostConfig> kVmKeys;
extern const SectionOf<NicConfig> kVmNicKeys;
extern const SectionOf<void> kLayoutKeys;
extern const SectionOf<void> kGpuKeys;
extern const SectionOf<void> kNumactlKeys;
extern const SectionOf<void> kHugePageKeys;
extern const SectionOf<host::CpuUse> kCpuKeys;
extern const SectionOf<void> kOutsideKeys;
extern const SectionOf<void> kUdpKeys;
extern const SectionOf<NicConfig> kNicKeys;
extern const SectionOf<PortConfig> kPortKeys;
extern const SectionOf<void> kSwitchKeys;
extern const SectionOf<void> kSwitchChangeKeys;  // of them, those that one of a template takes too
extern const SectionOf<void> kSwitchPortKeys;
extern const SectionOf<void> kForwarderKeys;
extern const SectionOf<fabric::ForwarderPort> kForwarderPortKeys;
extern const SectionOf<fabric::QdiscConfig> kQdiscKeys;

// workload_fields.cc
struct FlowNumbers {  // of a pattern
  std::int64_t size_B = 0;
  std::uint32_t rounds = 1;
  std::uint64_t count = 0;
  Time_ps period_ps = 0, duration_ps = 0;
  std::int64_t load_ppb = 0;
};
extern const SectionOf<WorkloadConfig> kWorkloadKeys;  // with those of every kind
extern const SectionOf<void> kPerftestKeys;
extern const SectionOf<void> kIperf3Keys;
extern const SectionOf<workload::TransferOptions> kTransferKeys;
extern const SectionOf<workload::FlowOptions> kFlowKeys;
extern const SectionOf<FlowNumbers> kFlowNumberKeys;
extern const SectionOf<workload::Flow> kGraphFlowKeys;
extern const SectionOf<workload::NcclOptions> kNcclKeys;
extern const SectionOf<void> kProgramKindKeys;
extern const SectionOf<workload::ProgramCommand> kProgramKeys;
extern const SectionOf<WorkloadConfig> kClassKeys;  // dscp and priority
extern const SectionOf<void> kLoadKeys;             // `cpu` of a workload
extern const SectionOf<void> kJobKindKeys;
extern const SectionOf<workload::JobOptions> kJobKeys;
extern const SectionOf<workload::TrainingOptions> kJobTrainingKeys;  // of them, those of a job that is computed
extern const SectionOf<workload::TrainingOptions> kJobOnlyTrainingKeys;
extern const SectionOf<void> kJobTraceKeys;
extern const SectionOf<workload::TrainingModel> kJobModelKeys;
extern const SectionOf<workload::TrainingParallel> kJobParallelKeys;
extern const SectionOf<void> kJobSlowKeys;

// Words of choices that are read one by one.
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
inline constexpr Word<FlowPattern> kFlowPatternWords[] = {
    {"incast", FlowPattern::kIncast},       {"permutation", FlowPattern::kPermutation},
    {"all-to-all", FlowPattern::kAllToAll}, {"point-to-point", FlowPattern::kPointToPoint},
    {"on-off", FlowPattern::kOnOff},        {"distribution", FlowPattern::kDistribution},
    {"matrix", FlowPattern::kMatrix},       {"graph", FlowPattern::kGraph}};
enum class JobKind : std::uint8_t { kTraining, kInference, kChakra, kSimai };
inline constexpr Word<JobKind> kJobKindWords[] = {{"training", JobKind::kTraining},
                                                  {"inference", JobKind::kInference},
                                                  {"chakra", JobKind::kChakra},
                                                  {"simai", JobKind::kSimai}};
enum class NodeKind : std::uint8_t { kHost, kVm, kSwitch, kForwarder, kOutside };
inline constexpr Word<NodeKind> kNodeKindWords[] = {{"host", NodeKind::kHost},
                                                    {"vm", NodeKind::kVm},
                                                    {"switch", NodeKind::kSwitch},
                                                    {"forwarder", NodeKind::kForwarder},
                                                    {"outside", NodeKind::kOutside}};
enum class Function : std::uint8_t { kPf, kVf };
inline constexpr Word<Function> kFunctionWords[] = {{"pf", Function::kPf}, {"vf", Function::kVf}};
inline constexpr Word<std::int64_t> kPageWords[] = {{"4K", 4 << 10}, {"2M", 2 << 20}, {"1G", 1 << 30}};
inline constexpr Word<FabricTemplate> kTemplateWords[] = {{"direct", FabricTemplate::kDirect},
                                                          {"ring", FabricTemplate::kRing},
                                                          {"single-switch", FabricTemplate::kSingleSwitch},
                                                          {"leaf-spine", FabricTemplate::kLeafSpine},
                                                          {"rail-optimised", FabricTemplate::kRailOptimised},
                                                          {"fat-tree", FabricTemplate::kFatTree},
                                                          {"dragonfly", FabricTemplate::kDragonfly}};
inline constexpr std::string_view kPerftestWords[] = {"write_bw", "write_lat", "send_bw",   "send_lat",
                                                      "read_bw",  "read_lat",  "atomic_bw", "atomic_lat"};

}  // namespace weft::lab
