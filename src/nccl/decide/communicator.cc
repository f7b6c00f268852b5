#include "nccl/decide/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "nccl/decide/channel_builder.h"
#include "nccl/decide/net_devices.h"
#include "nccl/decide/rccl_graphs.h"
#include "nccl/decide/rccl_tuning.h"
#include "nccl/text/graph_xml.h"
#include "nccl/text/topology_xml.h"

namespace weft::nccl {

namespace {

// NCCL begins with an interface for its bootstrap, also where all data goes by RDMA (bootstrapNetInit()). Empty: there
// is one. Up to 2.23 it returns ncclInternalError, since then ncclInvalidUsage.
std::string bootstrap_error(const Machine& machine, const Environment& environment) {
  constexpr std::uint32_t kInvalidUsageSince = 22400;
  if (environment.socket_ifname.empty() || machine.nics.empty() || bootstrap_nic(machine, environment)) return "";
  std::string names;
  for (const Nic& nic : machine.nics) names += (names.empty() ? "" : ", ") + nic.interface;
  return fmt::format("{}: NCCL WARN Bootstrap : no socket interface found ({}): NCCL_SOCKET_IFNAME={} takes none of {}",
                     machine.name, environment.version >= kInvalidUsageSince ? "ncclInvalidUsage" : "ncclInternalError",
                     environment.socket_ifname, names);
}

struct NodePlan {
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Graphs> graphs;
};

// Common properties of two machines that have the same rings.
std::string signature(const Machine& machine, const std::vector<std::uint32_t>& devices) {
  std::string text = fmt::format("{} {} {} {};", machine.cpu_kind, machine.gpu_fabric, machine.places.gpu_fabric,
                                 machine.places.gpudirect);
  text += fmt::format("{};", machine.layout.nodes.size());
  for (const host::PcieSlot& slot : machine.layout.slots)
    text += fmt::format("{},{},{},{};", slot.parent, slot.node, slot.generation, slot.lanes);
  const auto slot_of = [](const std::optional<std::uint32_t>& slot) {
    return slot ? static_cast<std::int64_t>(*slot) : -1;
  };
  for (const host::GpuPlace& gpu : machine.places.gpus)
    text += fmt::format("{},{};", gpu.model.name, slot_of(gpu.slot));
  for (const Nic& nic : machine.nics)
    text += fmt::format("{},{},{},{},{},{},{},{};", nic.name, nic.interface, nic.rate_bps, slot_of(nic.slot),
                        nic.pcie_generation, nic.pcie_lanes, nic.pci, nic.rdma);
  for (std::uint32_t device : devices) text += fmt::format("{} ", device);
  return text;
}

std::string at(const std::string& file, const XmlError& error) {
  return fmt::format("{}:{}:{}: {}", file, error.line, error.column, error.message);
}

void agree(Graph& all, const Graph& one) {
  if (one.channels.size() < all.channels.size()) all.channels.resize(one.channels.size());
  all.same_channels = all.same_channels && one.same_channels;
  all.intra_GBps = std::min(all.intra_GBps, one.intra_GBps);
  all.inter_GBps = std::min(all.inter_GBps, one.inter_GBps);
  all.intra_type = std::max(all.intra_type, one.intra_type);
  all.inter_type = std::max(all.inter_type, one.inter_type);
  all.cross_nic = std::max(all.cross_nic, one.cross_nic);
  all.pattern = std::max(all.pattern, one.pattern);
}

}  // namespace

Communicator::Communicator(const Cluster& cluster, std::vector<RankPlace> ranks, const Environment& environment)
    : environment_(std::make_shared<Environment>(environment)), ranks_(std::move(ranks)) {
  rccl_ = all_amd(cluster, ranks_);
  if (rccl_) {
    amd_arch_ = amd_arch(cluster.machines[ranks_[0].machine].places.gpus[ranks_[0].gpu].model.compute_capability);
    environment_ = std::make_shared<Environment>(rccl_environment(environment, amd_arch_, ranks_.size()));
  }
  if (environment_->topo_text.empty()) {
    find_nodes(cluster);
  } else if (const auto seen = as_topology_file(cluster)) {
    find_nodes(*seen);
  }
  if (!error_.empty() || ranks_.empty()) return;
  if (rccl_) use_rccl_graphs();
  agree_on_graphs();
  ChannelBuilder(*this, cluster.machines.size()).build();
  set_nvls();
  count_p2p_channels();

  TuningInput input;
  input.ranks = static_cast<std::uint32_t>(ranks_.size());
  input.nodes = static_cast<std::uint32_t>(nodes_.size());
  input.min_compute_capability = 999;
  input.cpu_arch = nodes_.front().topology->cpu.arch;
  input.cpu_vendor = nodes_.front().topology->cpu.vendor;
  for (const Node& node : nodes_) {
    for (const TopologyGpu& gpu : node.topology->gpus) {
      input.min_compute_capability = std::min(input.min_compute_capability, gpu.compute_capability);
      input.max_compute_capability = std::max(input.max_compute_capability, gpu.compute_capability);
    }
    if (node.topology->cpu.vendor != input.cpu_vendor) input.cpu_vendor = CpuVendor::kMixed;
    input.nvswitch |= node.topology->nvswitch >= 0;
  }
  input.graphs = &graphs_;
  input.environment = environment_.get();
  if (rccl_) input.rccl = &rccl_table(amd_arch_, rccl_model_);
  tuning_ = Tuning(input);
}

// The machines as NCCL_TOPO_FILE draws them, the same for all.
std::optional<Cluster> Communicator::as_topology_file(const Cluster& cluster) {
  const auto system = parse_xml(environment_->topo_text);
  if (!system) {
    error_ = at(environment_->topo_file, system.error());
    return std::nullopt;
  }
  Cluster seen;
  for (const Machine& machine : cluster.machines) {
    auto made = with_topology(machine, *system);
    if (!made) {
      error_ = at(environment_->topo_file, made.error());
      return std::nullopt;
    }
    seen.machines.push_back(*std::move(made));
  }
  return seen;
}

void Communicator::find_nodes(const Cluster& cluster) {
  XmlElement graph_file;
  if (!environment_->graph_text.empty()) {
    auto parsed = parse_xml(environment_->graph_text);
    if (!parsed) {
      error_ = at(environment_->graph_file, parsed.error());
      return;
    }
    graph_file = *std::move(parsed);
  }
  node_of_.resize(ranks_.size());
  local_of_.resize(ranks_.size());
  std::vector<std::vector<std::uint32_t>> on_machine(cluster.machines.size());
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) on_machine[ranks_[rank].machine].push_back(rank);

  std::map<std::string, NodePlan> plans;
  std::map<std::string, std::vector<std::vector<std::uint32_t>>> groups_of;
  for (std::uint32_t m = 0; m < cluster.machines.size(); ++m) {
    if (on_machine[m].empty()) continue;
    const Machine& machine = cluster.machines[m];
    error_ = bootstrap_error(machine, *environment_);
    if (!error_.empty()) return;
    std::map<std::uint32_t, std::uint32_t> rank_of;  // by device
    std::vector<std::uint32_t> devices;
    for (std::uint32_t rank : on_machine[m]) {
      devices.push_back(ranks_[rank].gpu);
      if (!rank_of.emplace(ranks_[rank].gpu, rank).second) {
        error_ = fmt::format("ranks {} and {} are both on GPU {} of {}", rank_of[ranks_[rank].gpu], rank,
                             ranks_[rank].gpu, machine.name);
        return;
      }
    }
    const bool elsewhere = devices.size() < ranks_.size();
    std::vector<std::vector<std::uint32_t>>& groups = groups_of[signature(machine, devices)];
    if (groups.empty()) groups = Topology(machine, devices, elsewhere, *environment_).groups();
    for (const std::vector<std::uint32_t>& group : groups) {
      const bool inter = group.size() < ranks_.size();
      NodePlan& plan = plans[signature(machine, group)];
      if (plan.topology == nullptr) {
        plan.topology = std::make_shared<Topology>(machine, group, inter, *environment_);
        if (inter && plan.topology->nets.empty()) {
          error_ = fmt::format("{} has no network device that NCCL may use", machine.name);
          return;
        }
        // The search takes seconds on a mesh; use_rccl_graphs() has those of RCCL's models.
        const bool ready = rccl_ && graph_file.name.empty() && has_rccl_model(*plan.topology);
        auto graphs = std::make_shared<Graphs>(ready ? Graphs{} : search_graphs(*plan.topology, *environment_));
        if (!graph_file.name.empty()) {
          if (const auto read = read_graphs(graph_file, *plan.topology, *graphs); !read) {
            error_ = at(environment_->graph_file, read.error());
            return;
          }
        }
        plan.graphs = std::move(graphs);
      }
      Node node{m, {}, plan.topology, plan.graphs};
      for (const TopologyGpu& gpu : plan.topology->gpus) node.ranks.push_back(rank_of[gpu.device]);
      nodes_.push_back(std::move(node));
    }
  }
  // NCCL numbers nodes by their first rank.
  std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) {
    return *std::min_element(a.ranks.begin(), a.ranks.end()) < *std::min_element(b.ranks.begin(), b.ranks.end());
  });
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    for (std::uint32_t local = 0; local < nodes_[n].ranks.size(); ++local) {
      node_of_[nodes_[n].ranks[local]] = n;
      local_of_[nodes_[n].ranks[local]] = local;
    }
  }
}

// All nodes have a model, or all go by the search; NCCL_GRAPH_FILE goes before both.
void Communicator::use_rccl_graphs() {
  rccl_model_ = environment_->graph_text.empty() &&
                std::ranges::all_of(nodes_, [](const Node& node) { return has_rccl_model(*node.topology); });
  if (!rccl_model_) {
    for (Node& node : nodes_) {
      if (node.graphs->ring.channels.empty())
        node.graphs = std::make_shared<Graphs>(search_graphs(*node.topology, *environment_));
    }
    return;
  }
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint32_t n = 0; n < count; ++n)
    nodes_[n].graphs = std::make_shared<Graphs>(rccl_graphs(*nodes_[n].topology, count, n));
}

void Communicator::agree_on_graphs() {
  graphs_ = *nodes_.front().graphs;
  for (const Node& node : nodes_) {
    agree(graphs_.ring, node.graphs->ring);
    agree(graphs_.tree, node.graphs->tree);
    agree(graphs_.nvls, node.graphs->nvls);
  }
  search_channels_ = static_cast<std::uint32_t>(std::min(graphs_.ring.channels.size(), graphs_.tree.channels.size()));
  graphs_.ring.channels.resize(search_channels_);
  graphs_.tree.channels.resize(search_channels_);
}

void Communicator::count_p2p_channels() {
  const auto ranks = static_cast<std::uint32_t>(ranks_.size());
  std::uint32_t least = kMaxChannelCount;
  bool all_nvlink = true;
  for (const Node& node : nodes_) {
    const Topology& topology = *node.topology;
    for (std::uint32_t gpu = 0; gpu < topology.gpus.size(); ++gpu) {
      for (std::uint32_t peer = 0; peer < topology.gpus.size(); ++peer) {
        if (peer == gpu) continue;
        const Path& way = topology.gpu_to_gpu(peer, gpu);
        std::uint32_t count = 2;
        if (way.type == PathType::kNvl || way.type == PathType::kNvb) {
          const double link_GBps = topology.gpus[gpu].link_GBps;
          if (link_GBps > 0)
            count = (is_mi300(amd_arch_) ? 4 : 2) *
                    std::max(1U, static_cast<std::uint32_t>(way.bandwidth_GBps / link_GBps + 1e-6));
        } else {
          all_nvlink = false;
        }
        least = std::min(least, count);
      }
      if (topology.gpus.size() < ranks) {
        std::uint32_t count = 2;
        if (environment_->nchannels_per_net_peer != kUnset) {
          count = static_cast<std::uint32_t>(std::max<std::int64_t>(environment_->nchannels_per_net_peer, 1));
        } else if (const Topology::LocalNets nets = topology.local_nets(gpu); rccl_) {
          count = std::max(nets.count, 2U);
        } else if (nets.count > 0) {
          const auto per_channel = static_cast<std::uint32_t>(environment_->p2p_per_channel_net_bw);
          const auto whole = static_cast<std::uint32_t>(nets.bandwidth_GBps);
          count = std::max(nets.count, (whole + per_channel - 1) / per_channel);
        }
        least = std::min(least, count);
      }
    }
  }
  const auto all = static_cast<std::uint32_t>(channels_.size());
  const auto bound = [](std::int64_t value) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 1, kMaxChannelCount));
  };
  p2p_channels_ = std::min(all, bound(environment_->max_p2p_nchannels));
  p2p_channels_ = std::bit_ceil(std::max(p2p_channels_, bound(environment_->min_p2p_nchannels)));
  p2p_channels_per_peer_ = std::bit_ceil(std::max(least, 1U));
  if (nodes_.size() > 1 && environment_->nchannels_per_net_peer == kUnset) {
    constexpr std::uint32_t kOfOneBatch = 8;
    const std::uint32_t rounds = (ranks + kOfOneBatch - 1) / kOfOneBatch;
    while (p2p_channels_per_peer_ > 1 && p2p_channels_per_peer_ * rounds > p2p_channels_) p2p_channels_per_peer_ /= 2;
  } else {
    p2p_channels_per_peer_ = std::min(p2p_channels_, p2p_channels_per_peer_);
  }
  if (nodes_.size() == 1 && is_mi300(amd_arch_))
    p2p_channels_per_peer_ = std::min(2 * p2p_channels_per_peer_, p2p_channels_);
  const std::int64_t chunk_B = nodes_.size() > 1 ? environment_->p2p_net_chunksize_B
                               : all_nvlink      ? environment_->p2p_nvl_chunksize_B
                                                 : environment_->p2p_pci_chunksize_B;
  p2p_chunk_B_ = static_cast<std::uint32_t>(std::min(chunk_B, environment_->buffsize_B / 8));
}

std::uint64_t Communicator::buffer_B(Protocol protocol) const {
  if (protocol == Protocol::kLl) return static_cast<std::uint64_t>(environment_->ll_buffsize_B);
  if (protocol == Protocol::kLl128) return static_cast<std::uint64_t>(environment_->ll128_buffsize_B);
  return static_cast<std::uint64_t>(environment_->buffsize_B);
}

const std::vector<NetDevice>& Communicator::net_devices(std::uint32_t rank) const {
  return nodes_[node_of_[rank]].topology->nets;
}

}  // namespace weft::nccl
