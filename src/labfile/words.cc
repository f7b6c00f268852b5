#include "labfile/words.h"

#include <algorithm>

#include "labfile/workloads/workload_kind.h"

namespace weft::lab {
namespace {

using fabric::FaultAction;
using fabric::FaultFrames;
using workload::Misuse;
using workload::TransferOp;

constexpr std::string_view kLabKeys[] = {"version", "name",      "description", "seed",    "duration", "sample",
                                         "fabric",  "nodes",     "links",       "routing", "qos",      "mirrors",
                                         "faults",  "workloads", "expect",      "network"};
constexpr std::string_view kNodeKeys[] = {"kind",      "host",       "set",  "cpu",       "layout",
                                          "gpus",      "gpu_fabric", "nics", "numactl",   "pages",
                                          "hugepages", "iommu",      "acs",  "gpudirect", "qos"};
constexpr std::string_view kVmKeys[] = {"kind",     "vm_of", "vcpus", "emulator", "share_cpus", "memory", "pages",
                                        "numatune", "irq",   "gpus",  "numactl",  "gpudirect",  "nics",   "qos"};
constexpr std::string_view kVmNicKeys[] = {"of", "function", "max_tx_rate", "ports"};
constexpr std::string_view kLayoutKeys[] = {"numa", "numa_links", "slots"};
constexpr std::string_view kGpuKeys[] = {"model", "slot"};
constexpr std::string_view kNumactlKeys[] = {"cpunodebind", "membind", "physcpubind"};
constexpr std::string_view kCpuKeys[] = {"cpus", "isolated", "stress", "irq"};
constexpr std::string_view kOutsideKeys[] = {"kind", "address", "mtu", "vlan", "mac", "udp", "tap", "qos"};
constexpr std::string_view kUdpKeys[] = {"listen", "peer"};
constexpr std::string_view kNicKeys[] = {"model", "slot", "ports", "set"};
constexpr std::string_view kPortKeys[] = {"address", "mtu", "vlan"};
constexpr std::string_view kLinkKeys[] = {"endpoints", "cable", "lag"};
constexpr std::string_view kCableKeys[] = {"kind", "length", "rate", "fec", "bit_error_rate", "latency"};
constexpr std::string_view kFaultKeys[] = {"name", "link",         "both_directions", "action", "frames", "qp",
                                           "psn",  "transmission", "probability",     "start",  "end",    "delay",
                                           "down", "up",           "priority",        "rate"};
constexpr std::string_view kGraphFlowKeys[] = {"name", "from", "to", "size", "start", "after", "delay"};
constexpr std::string_view kProgramKeys[] = {"node", "command", "script", "start", "timeout", "find"};
constexpr std::string_view kExpectationKeys[] = {"min", "max", "equal"};

constexpr Word<FaultAction> kFaultActionWords[] = {{"drop", FaultAction::kDrop},
                                                   {"corrupt", FaultAction::kCorrupt},
                                                   {"ce-mark", FaultAction::kCeMark},
                                                   {"delay", FaultAction::kDelay},
                                                   {"duplicate", FaultAction::kDuplicate},
                                                   {"cut", FaultAction::kCut},
                                                   {"flap", FaultAction::kFlap},
                                                   {"pause-storm", FaultAction::kPauseStorm},
                                                   {"slow-receiver", FaultAction::kSlowReceiver}};
constexpr Word<FaultFrames> kFaultFramesWords[] = {
    {"any", FaultFrames::kAny}, {"request", FaultFrames::kRequest}, {"response", FaultFrames::kResponse}};
constexpr std::string_view kPerftestWords[] = {"write_bw", "write_lat", "send_bw",   "send_lat",
                                               "read_bw",  "read_lat",  "atomic_bw", "atomic_lat"};
constexpr Word<TransferOp> kTransferWords[] = {
    {"write", TransferOp::kWrite},        {"write-imm", TransferOp::kWriteImm},      {"send", TransferOp::kSend},
    {"send-imm", TransferOp::kSendImm},   {"send-inv", TransferOp::kSendInv},        {"read", TransferOp::kRead},
    {"fetch-add", TransferOp::kFetchAdd}, {"compare-swap", TransferOp::kCompareSwap}};
constexpr Word<Misuse> kMisuseWords[] = {{"wrong-rkey", Misuse::kWrongRkey},
                                         {"beyond-region", Misuse::kBeyondRegion},
                                         {"no-remote-write", Misuse::kNoRemoteWrite},
                                         {"no-receive", Misuse::kNoReceive},
                                         {"dead-peer", Misuse::kDeadPeer}};

constexpr std::string_view kJobKeys[] = {
    "kind",         "hosts",     "gpus_per_host", "steps", "env",     "model",    "parallel",  "micro_batch",
    "global_batch", "precision", "gradients",     "zero",  "overlap", "bucket",   "recompute", "tflops",
    "efficiency",   "compute",   "slow",          "file",  "groups",  "algorithm"};
constexpr std::string_view kJobModelKeys[] = {"layers", "hidden",  "sequence", "vocabulary", "ffn",
                                              "gated",  "experts", "top_k",    "moe_every"};
constexpr std::string_view kJobParallelKeys[] = {"tensor", "context", "data", "pipeline", "expert", "sequence"};
constexpr std::string_view kJobSlowKeys[] = {"rank", "by"};
constexpr Word<bool> kAllReduceWords[] = {{"nccl", false}, {"halving-doubling", true}};
constexpr Word<bool> kNetworkWords[] = {{"management", false}, {"fabric", true}};
constexpr Word<FlowPattern> kFlowPatternWords[] = {
    {"incast", FlowPattern::kIncast},       {"permutation", FlowPattern::kPermutation},
    {"all-to-all", FlowPattern::kAllToAll}, {"point-to-point", FlowPattern::kPointToPoint},
    {"on-off", FlowPattern::kOnOff},        {"distribution", FlowPattern::kDistribution},
    {"matrix", FlowPattern::kMatrix},       {"graph", FlowPattern::kGraph}};
constexpr Word<workload::FlowOp> kFlowOpWords[] = {{"write", workload::FlowOp::kWrite},
                                                   {"send", workload::FlowOp::kSend}};

}  // namespace

std::span<const std::string_view> lab_keys() {
  return kLabKeys;
}
std::span<const std::string_view> node_keys() {
  return kNodeKeys;
}
std::span<const std::string_view> vm_keys() {
  return kVmKeys;
}
std::span<const std::string_view> vm_nic_keys() {
  return kVmNicKeys;
}
std::span<const std::string_view> cpu_keys() {
  return kCpuKeys;
}
std::span<const std::string_view> outside_keys() {
  return kOutsideKeys;
}
std::span<const std::string_view> udp_keys() {
  return kUdpKeys;
}
std::span<const std::string_view> layout_keys() {
  return kLayoutKeys;
}
std::span<const std::string_view> gpu_keys() {
  return kGpuKeys;
}
std::span<const std::string_view> numactl_keys() {
  return kNumactlKeys;
}
std::span<const std::string_view> nic_keys() {
  return kNicKeys;
}
std::span<const std::string_view> port_keys() {
  return kPortKeys;
}
std::span<const std::string_view> link_keys() {
  return kLinkKeys;
}
std::span<const std::string_view> cable_keys() {
  return kCableKeys;
}
std::span<const std::string_view> fault_keys() {
  return kFaultKeys;
}
std::span<const std::string_view> workload_keys() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> keys = {"name", "start"};
    workload::for_each_kind([&](auto kind) {
      for (std::string_view key : kind_keys(kind)) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    });
    return keys;
  }();
  return all;
}
std::span<const std::string_view> graph_flow_keys() {
  return kGraphFlowKeys;
}
std::span<const std::string_view> job_keys() {
  return kJobKeys;
}
std::span<const std::string_view> job_model_keys() {
  return kJobModelKeys;
}
std::span<const std::string_view> job_parallel_keys() {
  return kJobParallelKeys;
}
std::span<const std::string_view> job_slow_keys() {
  return kJobSlowKeys;
}
std::span<const std::string_view> program_keys() {
  return kProgramKeys;
}
std::span<const std::string_view> expectation_keys() {
  return kExpectationKeys;
}

std::span<const Word<FaultAction>> fault_action_words() {
  return kFaultActionWords;
}
std::span<const Word<FaultFrames>> fault_frames_words() {
  return kFaultFramesWords;
}
std::span<const std::string_view> perftest_words() {
  return kPerftestWords;
}
std::span<const Word<TransferOp>> transfer_words() {
  return kTransferWords;
}
std::span<const Word<Misuse>> misuse_words() {
  return kMisuseWords;
}
std::span<const Word<FlowPattern>> flow_pattern_words() {
  return kFlowPatternWords;
}
std::span<const Word<bool>> all_reduce_words() {
  return kAllReduceWords;
}
std::span<const Word<bool>> network_words() {
  return kNetworkWords;
}
std::span<const Word<engine::TelemetryFormat>> telemetry_words() {
  static constexpr Word<engine::TelemetryFormat> kWords[] = {{"none", engine::TelemetryFormat::kNone},
                                                             {"int", engine::TelemetryFormat::kInt},
                                                             {"ifa", engine::TelemetryFormat::kIfa}};
  return kWords;
}
std::span<const Word<workload::FlowOp>> flow_op_words() {
  return kFlowOpWords;
}

}  // namespace weft::lab
