// weft plan fabric, weft plan uplink.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/common.h"
#include "cli/plan_verbs.h"
#include "gear/plan/fabric.h"
#include "gear/plan/uplink.h"

namespace weft::cli {

namespace {

struct FabricArguments {
  gear::FabricOptions options;
  std::string rate = "200G", out;
  bool json = false;
};

// "200G", or the lab file's "200 Gbps".
std::optional<std::int64_t> link_rate_bps(std::string text) {
  if (text.ends_with("bps")) text.resize(text.size() - 3);
  if (!text.ends_with('G')) return std::nullopt;
  text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  const auto rate_G = gear::parse_count(text, 1600);
  if (!rate_G || *rate_G == 0) return std::nullopt;
  return std::int64_t{*rate_G} * 1'000'000'000;
}

int plan_data_fabric(FabricArguments& arguments) {
  use_json(arguments.json);
  const auto rate_bps = link_rate_bps(arguments.rate);
  if (!rate_bps) return wrong_input("--nic " + arguments.rate + " is no rate", "write 25G, 100G, 200G or 400G");
  arguments.options.rate_bps = *rate_bps;
  const auto plan = gear::plan_fabric(arguments.options, gear::Market::built_in());
  if (!plan) return wrong_plan(plan.error());
  put(arguments.json ? gear::fabric_json(*plan) : gear::fabric_text(*plan));
  const int written = arguments.out.empty() ? kExitWell : write_planned(arguments.out, gear::fabric_files(*plan));
  return written == kExitWell && plan->within_budget() == gear::Answer::kNo ? kExitFailed : written;
}

struct UplinkArguments {
  gear::UplinkOptions options;
  std::string rate = "100G";
  bool json = false;
};

int plan_cluster_uplink(UplinkArguments& arguments) {
  use_json(arguments.json);
  const auto rate_bps = link_rate_bps(arguments.rate);
  if (!rate_bps) return wrong_input("--nic " + arguments.rate + " is no rate", "write 25G, 100G, 200G or 400G");
  arguments.options.nic_Gbps = static_cast<double>(*rate_bps) / 1e9;
  const auto plan = gear::plan_uplink(arguments.options);
  if (!plan) return wrong_plan(plan.error());
  put(arguments.json ? gear::uplink_json(*plan) : gear::uplink_text(*plan));
  return kExitWell;
}

}  // namespace

void add_plan_fabric(CLI::App& plan, int& status) {
  auto arguments = std::make_shared<FabricArguments>();
  gear::FabricOptions& options = arguments->options;
  CLI::App* verb = plan.add_subcommand("fabric", "Leaves, spines, cables, addresses, cost and a lab file");
  verb->add_option("--gpus", options.gpus, "In all")->required()->check(whole_number(1, 1'000'000));
  verb->add_option("--nic", arguments->rate, "Rate of a NIC: 25G, 100G, 200G, 400G (200G)");
  verb->add_option("--gpus-per-host", options.gpus_per_host, "8")->check(whole_number(1, 64));
  verb->add_option("--nics-per-host", options.nics_per_host, "One for each GPU unless given")
      ->check(whole_number(1, 16));
  verb->add_option("--nic-model", options.nic, "NIC of the catalog (the cheapest)");
  verb->add_option("--gpu-model", options.gpu, "GPU of the catalog, for the lab file (h100-sxm)");
  verb->add_option("--switch,--leaf", options.leaf,
                   "Leaf of the catalog (the cheapest); none: cables from host to host");
  verb->add_option("--spine", options.spine, "Spine of the catalog (the cheapest)");
  verb->add_option("--oversubscription", options.oversubscription, "Of a leaf, at most (1)");
  verb->add_option("--hosts-per-rack", options.hosts_per_rack, "4")->check(whole_number(1, 48));
  verb->add_option("--mtu", options.mtu_B, "Of the hosts' ports (9000)")->check(whole_number(1500, 9216));
  verb->add_flag("--single-switch", options.single_switch, "One switch; refused where none has the ports");
  verb->add_flag("--clos", options.clos, "Leaves and spines although one switch has the ports");
  verb->add_option("--budget", options.budget_USD, "USD; status 1 when the sum is above it");
  verb->add_option("--out", arguments->out, "Write the lab file, cables and addresses to this directory");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback([arguments, &status] { status = plan_data_fabric(*arguments); });
}

void add_plan_uplink(CLI::App& plan, int& status) {
  auto arguments = std::make_shared<UplinkArguments>();
  gear::UplinkOptions& options = arguments->options;
  CLI::App* verb = plan.add_subcommand("uplink", "What connects a cluster to the rest: ingest, transfers, flows");
  verb->add_option("--nodes", options.nodes, "4")->check(whole_number(1, 100'000));
  verb->add_option("--gpus-per-node", options.gpus_per_node, "4")->check(whole_number(1, 64));
  verb->add_option("--workload", options.workload, "pretraining, image, finetuning or inference (all)");
  verb->add_option("--per-gpu", options.per_gpu_GBps, "GB/s that one GPU reads, in place of the workload's");
  verb->add_option("--params", options.parameters_B, "Billions of parameters, for weights and checkpoints (70)");
  verb->add_option("--nic", arguments->rate, "Rate of a NIC of a node (100G)");
  verb->add_option("--nics", options.nics, "NICs of a node (4)")->check(whole_number(1, 64));
  verb->add_option("--streams", options.streams, "Flows at a time, each with an equal part of the file (1)")
      ->check(whole_number(1, 512));
  verb->add_option("--shard", options.shard_GB, "GB of one file (1000)");
  verb->add_option("--busbw", options.busbw_GBps, "GB/s of all-reduce of a node (22)");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback([arguments, &status] { status = plan_cluster_uplink(*arguments); });
}

}  // namespace weft::cli
