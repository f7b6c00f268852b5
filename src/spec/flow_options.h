// Flows: who sends how much to whom, and when. Patterns (incast, permutation, all-to-all, …) and connection
// matrices become a list of these before the run; FlowRun runs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "spec/telemetry.h"

namespace weft::workload {

struct Flow {
  std::uint32_t source = 0;  // index into the workload's endpoints
  std::uint32_t destination = 0;
  std::uint64_t size_B = 0;
  Time_ps start_ps = 0;  // from the start of the workload; of a flow that waits for others, from the end of the last
  std::uint32_t id = 0;  // for the report: the connection matrix's own; 0: counted from 1
};

// `flow` starts once `before` has ended at the host that `flow` starts from: at its sender by a completion, at its
// receiver by a receive. So nothing acts across nodes but packets.
struct FlowDependency {
  std::uint32_t flow = 0;  // indices of flows
  std::uint32_t before = 0;
};

enum class FlowOp : std::uint8_t { kWrite, kSend };

struct FlowOptions {
  static constexpr std::string_view kKey = "flows";  // in the lab file
  static constexpr std::string_view kExample = "incast";

  FlowOp op = FlowOp::kWrite;
  engine::TelemetryFormat telemetry = engine::TelemetryFormat::kNone;  // switches write into every data packet
  std::uint32_t message_B = 0;  // a flow is posted as messages of this size; 0: as one, or as few as PSNs allow
  std::uint32_t mtu_B = 0;      // 0: the smaller active MTU
  std::uint8_t timeout = 14;
  std::uint8_t retry_cnt = 7;
  std::vector<Flow> flows;  // in order of start, unless they have names
  // Of a graph of flows.
  std::vector<std::string> names;            // of each flow; empty: they have none
  std::vector<FlowDependency> dependencies;  // by `flow`
};

}  // namespace weft::workload
