// What a simulated perftest measured, in integers, before any formatting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "spec/message_budget.h"
#include "spec/perftest_budget.h"
#include "spec/perftest_options.h"

namespace weft::workload {

// One direction of a bandwidth test at one size.
struct BwMeasure {
  std::uint64_t messages = 0;       // counted: iterations * QPs, or those inside the -D window
  Time_ps elapsed_ps = 0;           // first post to last completion, or the -D window
  std::uint64_t peak_messages = 0;  // the best stretch (perftest's peak); 0 = not measured
  Time_ps peak_ps = 0;
};

// The failure of a row that a signal or the end of the lab cut short.
inline constexpr std::string_view kInterrupted = "interrupted";

struct PerftestRow {
  std::uint64_t size_B = 0;
  std::uint64_t iterations = 0;  // as the #iterations column shows it
  std::vector<BwMeasure> bw;     // one entry; two with -b (client, server): the report adds them
  // Latency: one sample for each iteration but the last, in the order measured, as perftest reports them
  // (half the round trip for write and send, all of it for read and atomic). With -D: empty, see below.
  std::vector<Time_ps> samples_ps;
  std::uint64_t duration_iterations = 0;  // latency with -D
  Time_ps duration_elapsed_ps = 0;
  PortAccount account;    // bandwidth: of the port that sent the payload
  MessageBudget message;  // with --why: of a typical message, or of one in the middle of a bandwidth test
  std::string failure;    // empty, or what ended this size early: "Completion with error … status 12"
};

// One end of one connection, as perftest prints it.
struct PerftestEndpoint {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t rkey = 0;
  std::uint64_t vaddr = 0;
  std::uint8_t gid[16] = {};
};

struct PerftestResult {
  using Options = PerftestOptions;

  std::string device;  // "mlx5_0"
  std::uint32_t mtu_B = 0;
  std::uint32_t gid_index = 3;
  std::vector<PerftestEndpoint> local, remote;  // one per QP
  std::vector<PerftestRow> rows;
};

}  // namespace weft::workload
