// How a cluster connects to the rest: the uplink follows the rate at which data is read, not that of the internal
// fabric ([kentino]). Ingest is nodes x GPUs x what one GPU reads; what a GPU reads by workload is that article's
// table divided by its 16 GPUs. A port covers a rate when it is one of 25, 100, 200, 400 and 800 GbE that is no slower.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gear/plan/error.h"

namespace weft::gear {

struct UplinkOptions {
  std::uint32_t nodes = 4, gpus_per_node = 4;
  std::string workload;                // one of the table's, or empty: all
  std::optional<double> per_gpu_GBps;  // in place of the table's
  double parameters_B = 70;            // billions, for the size of weights and checkpoints
  double nic_Gbps = 100;               // of one NIC of a node
  std::uint32_t nics = 4, streams = 1;
  double shard_GB = 1000;  // one file of a dataset
  double busbw_GBps = 22;  // all-reduce of each node
};

// Gb/s of one GPU. No burst: it depends on the model that is served.
struct UplinkWorkload {
  std::string_view name, title;
  double low_Gbps = 0, high_Gbps = 0;
  std::optional<double> burst_Gbps;
};

struct UplinkRow {
  const UplinkWorkload* workload = nullptr;
  double low_Gbps = 0, high_Gbps = 0;  // sustained
  std::optional<double> burst_Gbps;
  std::string uplink;  // "25 GbE", "25-100 GbE", "2x 100 GbE LAG or 1x 200 GbE"
};

struct TransferTime {
  std::string what;
  double size_GB = 0, rate_Gbps = 0;

  double seconds() const { return size_GB * 8 / rate_Gbps; }
};

struct UplinkPlan {
  UplinkOptions options;
  std::vector<UplinkRow> rows;
  std::vector<TransferTime> transfers;
  double east_west_Gbps = 0;  // what the internal fabric moves
  double one_flow_Gbps = 0, aggregate_Gbps = 0;
  double busy_nics = 0;        // expected, of `streams` flows that a hash spreads
  double fullest_streams = 0;  // expected on the NIC that has most of them
  double streams_s = 0;        // until the last of equal parts has come, on average
  double streams_Gbps = 0;     // the shard over that time
};

// Mean of the largest number of `streams` on one of `nics`, each chosen evenly and on its own.
double expected_fullest(std::uint32_t streams, std::uint32_t nics);

Planned<UplinkPlan> plan_uplink(const UplinkOptions& options);
// The port, or ports, that cover the sustained rate and the burst.
std::string uplink_for(double low_Gbps, double high_Gbps, std::optional<double> burst_Gbps);

std::string uplink_text(const UplinkPlan& plan);
std::string uplink_json(const UplinkPlan& plan);

}  // namespace weft::gear
