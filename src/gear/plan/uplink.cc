#include "gear/plan/uplink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "base/plural.h"

namespace weft::gear {
namespace {

constexpr double kTableGpus = 16;  // 4 nodes of 4

// The table of [kentino] of sustained and burst Gb/s, for 16 GPUs.
constexpr UplinkWorkload kWorkloads[] = {
    {"pretraining", "LLM pretraining (tokenized text)", 1 / kTableGpus, 4 / kTableGpus, 20 / kTableGpus},
    {"image", "Image / video model training", 50 / kTableGpus, 150 / kTableGpus, 200 / kTableGpus},
    {"finetuning", "Fine-tuning / RLHF with checkpoint shuffle", 5 / kTableGpus, 20 / kTableGpus, 50 / kTableGpus},
    {"inference", "Inference behind a load balancer", 5 / kTableGpus, 50 / kTableGpus, std::nullopt},
};
constexpr double kPortRates_Gbps[] = {25, 100, 200, 400, 800};
constexpr double kBytesPerParameter = 2;      // bf16
constexpr double kCheckpointOverWeights = 2;  // "a checkpoint is 2x that"
constexpr std::uint32_t kMaxNics = 64, kMaxStreams = 512;
constexpr double kTransferRates_Gbps[] = {25, 100};

// 0: more than one port of the fastest.
double covering_port_Gbps(double rate_Gbps) {
  for (double port_Gbps : kPortRates_Gbps) {
    if (port_Gbps >= rate_Gbps) return port_Gbps;
  }
  return 0;
}

std::string one_port(double rate_Gbps) {
  const double port_Gbps = covering_port_Gbps(rate_Gbps);
  const double fastest = *std::rbegin(kPortRates_Gbps);
  if (port_Gbps == 0) return fmt::format("{:.0f}x {:g} GbE LAG", std::ceil(rate_Gbps / fastest), fastest);
  if (port_Gbps == 200) return "2x 100 GbE LAG or 1x 200 GbE";
  return fmt::format("{:g} GbE", port_Gbps);
}

// Three digits, and from 1000 on whole numbers: never an exponent.
std::string three_digits(double value) {
  return value >= 999.5 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string plain_rate(double low_Gbps, double high_Gbps) {
  return low_Gbps == high_Gbps ? three_digits(low_Gbps) : three_digits(low_Gbps) + "-" + three_digits(high_Gbps);
}

// As {:g}, without exponents of large numbers.
std::string plain_number(double value) {
  return value >= 999'999.5 ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}

}  // namespace

std::string uplink_for(double low_Gbps, double high_Gbps, std::optional<double> burst_Gbps) {
  // Without a known burst the range of the sustained rate decides.
  const double least = burst_Gbps ? high_Gbps : low_Gbps;
  const double most = burst_Gbps ? std::max(*burst_Gbps, high_Gbps) : high_Gbps;
  const double small = covering_port_Gbps(least), large = covering_port_Gbps(most);
  if (small == large || small == 0 || large == 0) return one_port(most);
  return fmt::format("{:g}-{:g} GbE", small, large);
}

double expected_fullest(std::uint32_t streams, std::uint32_t nics) {
  // P(no NIC has more than m): the streams are dealt NIC by NIC, each takes a binomial share of what is left, and
  // shares above m are left out. The mean is the sum over m of P(some NIC has more than m).
  std::vector<double> log_factorial(streams + 1);
  for (std::uint32_t i = 1; i <= streams; ++i) log_factorial[i] = log_factorial[i - 1] + std::log(i);
  const auto within = [&](std::uint32_t most) {
    std::vector<double> left(streams + 1), next(streams + 1);  // probability by streams not dealt yet
    left[streams] = 1;
    for (std::uint32_t nic = nics; nic > 1; --nic) {
      const double log_here = std::log(1.0 / nic), log_elsewhere = std::log(1 - 1.0 / nic);
      std::fill(next.begin(), next.end(), 0);
      for (std::uint32_t n = 0; n <= streams; ++n) {
        if (left[n] == 0) continue;
        for (std::uint32_t k = 0; k <= std::min(n, most); ++k)
          next[n - k] += left[n] * std::exp(log_factorial[n] - log_factorial[k] - log_factorial[n - k] + k * log_here +
                                            (n - k) * log_elsewhere);
      }
      left.swap(next);
    }
    double probability = 0;
    for (std::uint32_t n = 0; n <= std::min(streams, most); ++n) probability += left[n];
    return probability;
  };
  const std::uint32_t least = (streams + nics - 1) / nics;  // some NIC has no fewer
  double mean = least;
  for (std::uint32_t most = least; most < streams; ++most) {
    const double more = 1 - within(most);
    if (more < 1e-9) break;
    mean += more;
  }
  return mean;
}

Planned<UplinkPlan> plan_uplink(const UplinkOptions& options) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0 && value < 1e9; };
  if (options.nodes == 0 || options.gpus_per_node == 0 || options.nics == 0 || options.streams == 0)
    return plan_error("nodes, GPUs, NICs and streams are whole numbers above zero");
  if (options.nics > kMaxNics || options.streams > kMaxStreams)
    return plan_error(fmt::format("{} and {}", counted(options.nics, "NIC"), counted(options.streams, "stream")),
                      fmt::format("take at most {} NICs and {} streams", kMaxNics, kMaxStreams));
  if (!positive(options.parameters_B) || !positive(options.nic_Gbps) || !positive(options.shard_GB) ||
      !positive(options.busbw_GBps) || (options.per_gpu_GBps && !positive(*options.per_gpu_GBps)))
    return plan_error("sizes and rates are numbers above zero");
  UplinkPlan plan;
  plan.options = options;
  const double gpus = static_cast<double>(options.nodes) * options.gpus_per_node;
  std::vector<std::string_view> names;
  for (const UplinkWorkload& workload : kWorkloads) {
    names.push_back(workload.name);
    if (!options.workload.empty() && options.workload != workload.name) continue;
    UplinkRow row;
    row.workload = &workload;
    row.low_Gbps = gpus * workload.low_Gbps;
    row.high_Gbps = gpus * workload.high_Gbps;
    if (workload.burst_Gbps) row.burst_Gbps = gpus * *workload.burst_Gbps;
    if (options.per_gpu_GBps) {
      row.low_Gbps = row.high_Gbps = gpus * *options.per_gpu_GBps * 8;
      if (row.burst_Gbps) row.burst_Gbps = std::max(*row.burst_Gbps, row.high_Gbps);
    }
    row.uplink = uplink_for(row.low_Gbps, row.high_Gbps, row.burst_Gbps);
    plan.rows.push_back(std::move(row));
  }
  if (plan.rows.empty())
    return plan_error(fmt::format("no workload {}", options.workload),
                      did_you_mean(options.workload, names, "workloads"));
  const double weights_GB = options.parameters_B * kBytesPerParameter;
  for (double rate_Gbps : kTransferRates_Gbps) {
    plan.transfers.push_back(
        {fmt::format("weights of {}B parameters", plain_number(options.parameters_B)), weights_GB, rate_Gbps});
    plan.transfers.push_back({"checkpoint", weights_GB * kCheckpointOverWeights, rate_Gbps});
  }
  plan.east_west_Gbps = options.nodes * options.busbw_GBps * 8;
  plan.one_flow_Gbps = options.nic_Gbps;
  plan.aggregate_Gbps = options.nic_Gbps * options.nics;
  // Each flow hashes to one of n NICs: n (1 - (1 - 1/n)^k) of them are busy on average.
  double idle = 1;
  for (std::uint32_t i = 0; i < options.streams; ++i) idle *= 1 - 1.0 / options.nics;
  plan.busy_nics = options.nics * (1 - idle);
  // Equal parts: the NIC with most of them is the last to finish.
  plan.fullest_streams = expected_fullest(options.streams, options.nics);
  plan.streams_s = plan.fullest_streams * options.shard_GB * 8 / options.streams / options.nic_Gbps;
  plan.streams_Gbps = options.shard_GB * 8 / plan.streams_s;
  return plan;
}

std::string uplink_text(const UplinkPlan& plan) {
  const UplinkOptions& o = plan.options;
  std::string out =
      fmt::format("# Uplink of {} with {} each\n\n", counted(o.nodes, "node"), counted(o.gpus_per_node, "GPU"));
  if (o.per_gpu_GBps)
    out += fmt::format("{} x {} x {} GB/s = {} GB/s = {} Gb/s sustained\n\n", counted(o.nodes, "node"),
                       counted(o.gpus_per_node, "GPU"), plain_number(*o.per_gpu_GBps),
                       plain_number(plan.rows.front().high_Gbps / 8), plain_number(plan.rows.front().high_Gbps));
  out += "| Workload | Sustained ingest | Burst | Uplink |\n|---|---|---|---|\n";
  for (const UplinkRow& row : plan.rows)
    out += fmt::format("| {} | {} Gb/s | {} | {} |\n", row.workload->title, plain_rate(row.low_Gbps, row.high_Gbps),
                       row.burst_Gbps ? three_digits(*row.burst_Gbps) + " Gb/s" : "model-dependent", row.uplink);
  out += fmt::format(
      "\nThe internal fabric moves {:.0f} Gb/s at {:g} GB/s of all-reduce a node: not what the uplink has to "
      "match.\n",
      plan.east_west_Gbps, o.busbw_GBps);
  out += "\n| Transfer | Size | Link | Time |\n|---|---|---|---|\n";
  for (const TransferTime& transfer : plan.transfers)
    out += fmt::format("| {} | {} GB | {:g} GbE | {:.1f} s |\n", transfer.what, plain_number(transfer.size_GB),
                       transfer.rate_Gbps, transfer.seconds());
  out += fmt::format(
      "\nOne flow against the aggregate: {} of {:g} GbE are {:g} Gb/s, and one flow gets {:g}: {:g} GB take "
      "{:.1f} s.\n",
      counted(o.nics, "NIC"), o.nic_Gbps, plan.aggregate_Gbps, plan.one_flow_Gbps, o.shard_GB,
      o.shard_GB * 8 / plan.one_flow_Gbps);
  if (o.streams > 1)
    out += fmt::format(
        "In {} equal parts, one stream each, spread by a hash: {:.2f} of {} carry data on average, the fullest has "
        "{:.2f} of the {} streams and is the last to finish: {:.1f} s, {:.0f} Gb/s.\n",
        o.streams, plan.busy_nics, counted(o.nics, "NIC"), plan.fullest_streams, o.streams, plan.streams_s,
        plan.streams_Gbps);
  return out;
}

std::string uplink_json(const UplinkPlan& plan) {
  nlohmann::ordered_json j;
  j["nodes"] = plan.options.nodes;
  j["gpus_per_node"] = plan.options.gpus_per_node;
  j["workloads"] = nlohmann::ordered_json::array();
  for (const UplinkRow& row : plan.rows) {
    nlohmann::ordered_json one = {
        {"workload", row.workload->name}, {"sustained_Gbps", {row.low_Gbps, row.high_Gbps}}, {"uplink", row.uplink}};
    if (row.burst_Gbps) one["burst_Gbps"] = *row.burst_Gbps;
    j["workloads"].push_back(std::move(one));
  }
  j["transfers"] = nlohmann::ordered_json::array();
  for (const TransferTime& transfer : plan.transfers)
    j["transfers"].push_back({{"what", transfer.what},
                              {"size_GB", transfer.size_GB},
                              {"rate_Gbps", transfer.rate_Gbps},
                              {"seconds", transfer.seconds()}});
  j["east_west_Gbps"] = plan.east_west_Gbps;
  j["one_flow_Gbps"] = plan.one_flow_Gbps;
  j["aggregate_Gbps"] = plan.aggregate_Gbps;
  j["streams"] = plan.options.streams;
  j["busy_nics"] = plan.busy_nics;
  j["fullest_nic_streams"] = plan.fullest_streams;
  j["streams_seconds"] = plan.streams_s;
  j["streams_Gbps"] = plan.streams_Gbps;
  return j.dump(2) + "\n";
}

}  // namespace weft::gear
