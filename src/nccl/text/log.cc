#include "nccl/text/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "nccl/decide/environment.h"
#include "nccl/decide/net_devices.h"
#include "nccl/text/log_graph.h"
#include "nccl/text/log_nvls.h"

namespace weft::nccl {

namespace {

std::string shown_version(const Environment& environment) {
  return environment.version == Environment().version ? std::string(kNcclVersion) : version_text(environment.version);
}

struct SubsystemWord {
  std::string_view word;
  std::uint32_t bits;
};
constexpr SubsystemWord kSubsystems[] = {{"INIT", kInit},
                                         {"COLL", kColl},
                                         {"P2P", kP2pTransport},
                                         {"SHM", kShmTransport},
                                         {"NET", kNetTransport},
                                         {"GRAPH", kGraphSearch},
                                         {"TUNING", kTuningModel},
                                         {"ENV", kEnv},
                                         {"BOOTSTRAP", kBootstrap},
                                         {"ALLOC", kOtherSubsystems},
                                         {"CALL", kOtherSubsystems},
                                         {"PROXY", kOtherSubsystems},
                                         {"NVLS", kNvlsTransport},
                                         {"REG", kOtherSubsystems},
                                         {"PROFILE", kOtherSubsystems},
                                         {"RAS", kOtherSubsystems},
                                         {"ALL", kEverything}};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

std::string version_line(const Communicator& communicator) {
  if (communicator.is_rccl()) return fmt::format("RCCL version : {}", kRcclVersionText);
  return fmt::format("NCCL version {}", shown_version(communicator.environment()));
}

// Channel, sender, receiver.
using Connected = std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>;

// The lines of one rank.
class RankLog {
 public:
  RankLog(const Cluster& cluster, const Communicator& communicator, std::uint32_t rank, const LogSink& sink)
      : machine_(cluster.machines[communicator.ranks()[rank].machine]),
        all_(communicator),
        node_(communicator.nodes()[communicator.node_of(rank)]),
        rank_(rank),
        sink_(sink) {}

  void write(const LogFilter& filter) {
    filter_ = filter;
    network();
    say(kInit, "[Rank {}] ncclCommInitRank {} - Init START", rank_, identity());
    variables();
    gdr_support();
    affinity();
    const SubsystemSink nvls = [&](std::uint32_t subsystems, std::string_view line) { say(subsystems, "{}", line); };
    write_nvls_support(all_, rank_, nvls);
    if (filter_.shows(kGraphSearch)) {
      write_topology(*node_.topology, node_.ranks, [&](std::string_view line) { say(kGraphSearch, "{}", line); });
      write_graphs(node_, [&](std::string_view line) { say(kGraphSearch, "{}", line); });
    }
    nodes();
    write_nvls_heads(all_, rank_, nvls);
    channels();
    connections();
    write_nvls_buffers(all_, rank_, comm_address(), nvls);
    nvls_trees();
    tuning();
    say(kInit, "ncclCommInitRank {} - Init COMPLETE", identity());
  }

 private:
  template <class... Args>
  void say(std::uint32_t subsystems, fmt::format_string<Args...> text, Args&&... args) {
    if (filter_.shows(subsystems)) sink_(rank_, subsystems, fmt::format(text, std::forward<Args>(args)...));
  }

  std::uint32_t device() const { return all_.ranks()[rank_].gpu; }
  std::uint64_t comm_address() const { return 0x55d0c0000000 + std::uint64_t{rank_} * 0x100000; }
  std::string identity() const {
    return fmt::format("comm 0x{:x} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId 0x{:x}", comm_address(),
                       rank_, all_.ranks().size(), device(), device(), gpu_bus_id(device()),
                       0x77656674'00000000 | all_.ranks().size());
  }
  std::string name_of(std::uint32_t rank) const { return fmt::format("{}[{}]", rank, all_.ranks()[rank].gpu); }

  void network() {
    const auto bootstrap = bootstrap_nic(machine_, all_.environment());
    std::string oob;
    if (bootstrap) {
      const Nic& nic = machine_.nics[*bootstrap];
      oob = fmt::format("{}:{}<0>", nic.interface, nic.address);
      say(kBootstrap, "Bootstrap: Using {}", oob);
    }
    if (rank_ == 0) say(kEverything, "{}", version_line(all_));
    const std::vector<NetDevice>& devices = node_.topology->nets;
    const bool sockets = devices.empty() || devices.front().socket;
    const Environment& environment = all_.environment();
    if (environment.net.empty() || same_word(environment.net, "IB")) {
      if (!environment.ib_hca.empty()) say(kNetTransport | kEnv, "NCCL_IB_HCA set to {}", environment.ib_hca);
      if (sockets) {
        if (!environment.ib_disable) say(kInit | kNetTransport, "NET/IB : No device found.");
        say(kInit | kNetTransport, "Failed to initialize NET plugin IB");
      } else {
        std::string line;
        for (std::size_t i = 0; i < devices.size(); ++i) {
          for (std::uint32_t nic : devices[i].nics) line += fmt::format(" [{}]{}:1/RoCE", i, machine_.nics[nic].name);
        }
        say(kInit | kNetTransport, "NET/IB : Using{} {}; OOB {}", line,
            environment.ib_pci_relaxed_ordering != 0 ? "[RO]" : "", oob);
      }
    }
    std::string_view used = "IB";
    if (sockets) {
      used = "Socket";
      std::string line;
      for (std::size_t i = 0; i < devices.size(); ++i) {
        const Nic& nic = machine_.nics[devices[i].nics.front()];
        line += fmt::format(" [{}]{}:{}<0>", i, nic.interface, nic.address);
      }
      say(kInit | kNetTransport, "NET/Socket : Using{}", line);
    }
    say(kInit | kNetTransport, "Initialized NET plugin {}", used);
    say(kInit | kNetTransport, "Assigned NET plugin {} to comm", used);
    say(kInit | kNetTransport, "Using network {}", used);
  }

  void variables() {
    for (const auto& given : all_.environment().given) {
      if (given.first == "NCCL_IB_HCA" || given.first.starts_with("NCCL_DEBUG")) continue;
      say(kEnv, "{} set by environment to {}.", given.first, given.second);
    }
  }

  void gdr_support() {
    const Topology& topology = *node_.topology;
    for (std::size_t i = 0; i < topology.nets.size(); ++i) {
      if (topology.nets[i].socket) continue;
      const bool on = topology.nets[i].gdr && std::ranges::any_of(topology.gpus, &TopologyGpu::gdr);
      say(kNetTransport, "NET/IB : GPU Direct RDMA {} for HCA {} '{}'", on ? "Enabled" : "Disabled", i,
          topology.nets[i].name);
    }
  }

  void affinity() {
    const std::uint32_t cpu = node_.topology->local_cpu(all_.local_rank(rank_));
    if (cpu >= machine_.layout.nodes.size()) return;
    const auto range_text = [](const host::NumaNode& node) {
      std::string text;
      for (const auto& range : node.cpus)
        text += fmt::format("{}{}-{}", text.empty() ? "" : ",", range.front(), range.back());
      return text;
    };
    const std::string own = range_text(machine_.layout.nodes[cpu]);
    if (own.empty()) return;
    std::uint32_t last = 0;
    for (const host::NumaNode& node : machine_.layout.nodes) {
      for (const auto& range : node.cpus) last = std::max(last, range.back());
    }
    say(kInit, "ncclTopoGetCpuAffinity: Affinity for GPU {} is {}. (GPU affinity = {} ; CPU affinity = 0-{}).",
        device(), own, own, last);
  }

  void nodes() {
    const auto nets = static_cast<std::uint32_t>(node_.topology->nets.size());
    say(kInit, "Rank {}: {} Net devices", rank_, nets);
    say(kInit, "comm 0x{:x} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL 0", comm_address(), rank_,
        all_.ranks().size(), all_.nodes().size(), node_.ranks.size(), all_.local_rank(rank_));
  }

  void channels() {
    const std::vector<Channel>& channels = all_.channels();
    const auto rank = static_cast<std::int32_t>(rank_);
    const std::size_t width = fmt::formatted_size("{}", all_.ranks().size() - 1);
    for (std::size_t c = 0; rank_ == 0 && c < channels.size(); ++c) {
      std::string line = fmt::format("Channel {:02}/{:02} :", c, channels.size());
      for (std::uint32_t each : channels[c].ring) line += fmt::format(" {:{}}", each, width);
      if (line.size() > 127) line.replace(124, std::string::npos, "...");  // NCCL's buffer
      say(kInit, "{}", line);
    }
    std::string trees;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const auto& ring = channels[c].ring;
      const auto at = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank_) - ring.begin());
      say(kGraphSearch, "Ring {:02} : {} -> {} -> {}", c, ring[(at + ring.size() - 1) % ring.size()], rank_,
          ring[(at + 1) % ring.size()]);
      const TreeNode& tree = channels[c].tree[rank_];
      trees += fmt::format(" [{}] {}/{}/{}->{}->{}", c, tree.down[0], tree.down[1], tree.down[2], rank, tree.up);
    }
    say(kInit, "Trees{}", trees.substr(0, 1023));
    say(kInit, "P2P Chunksize set to {}", all_.p2p_chunk_B());
  }

  void connection(std::uint32_t channel, std::uint32_t from, std::uint32_t to, bool nvls = false) {
    const Route route = nvls ? all_.nvls_route(channel, from, to) : all_.route(channel, from, to);
    const std::string ends = fmt::format("{} -> {}", name_of(from), name_of(to));
    if (route.transport == Transport::kP2p || route.transport == Transport::kShm) {
      if (from != rank_) return;
      if (route.transport == Transport::kShm) {
        say(kInit | kShmTransport, "Channel {:02} : {} via SHM/direct", channel, ends);
        return;
      }
      const Topology& topology = *node_.topology;
      const Path& way = topology.gpu_to_gpu(all_.local_rank(from), all_.local_rank(to));
      const bool reads =
          way.type == PathType::kNvl && topology.gpus[all_.local_rank(from)].compute_capability == 80;  // Ampere alone
      std::string kind = "CUMEM";
      if (way.type == PathType::kNvb && way.links.size() == 2) {
        const TopologyNode& middle = topology.nodes[topology.links[way.links[0]].to];
        kind = fmt::format("indirect/{}", name_of(node_.ranks[middle.index]));
      }
      say(kInit | kP2pTransport, "Channel {:02}/0 : {} via P2P/{}{}", channel, ends, kind, reads ? "/read" : "");
      return;
    }
    const bool sends = from == rank_;
    const bool gdr = sends ? route.send_gdr : route.receive_gdr;
    all_gdr_ = all_gdr_ && gdr;
    pxn_ |= sends && route.proxy_rank != rank_;
    const std::string proxy = sends && route.proxy_rank != rank_ ? fmt::format("({})", route.proxy_rank) : "";
    say(kInit | kNetTransport, "Channel {:02}/0 : {} [{}] via NET/{}/{}{}{}", channel, ends, sends ? "send" : "receive",
        route.transport == Transport::kSocket ? "Socket" : "IB", sends ? route.send_device : route.receive_device,
        proxy, gdr ? "/GDRDMA" : "");
    over_network_ = true;
  }

  // Peers by distance in the list of ranks; of each what comes from the one and goes to the other.
  void connect(const Connected& wanted, std::size_t channels, bool nvls = false) {
    const auto count = static_cast<std::uint32_t>(all_.ranks().size());
    for (std::uint32_t i = 1; i < count; ++i) {
      const std::uint32_t before = (rank_ + count - i) % count, after = (rank_ + i) % count;
      for (std::uint32_t c = 0; c < channels; ++c) {
        if (wanted.contains({c, before, rank_})) connection(c, before, rank_, nvls);
      }
      for (std::uint32_t c = 0; c < channels; ++c) {
        if (wanted.contains({c, rank_, after})) connection(c, rank_, after, nvls);
      }
    }
  }

  void connections() {
    if (all_.ranks().size() < 2) return;
    Connected rings, trees;
    for (std::uint32_t c = 0; c < all_.channels().size(); ++c) {
      const Channel& channel = all_.channels()[c];
      const auto& ring = channel.ring;
      const auto at = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank_) - ring.begin());
      rings.insert({c, ring[(at + ring.size() - 1) % ring.size()], rank_});
      rings.insert({c, rank_, ring[(at + 1) % ring.size()]});
      const TreeNode& tree = channel.tree[rank_];
      for (std::int32_t other : {tree.up, tree.down[0], tree.down[1], tree.down[2]}) {
        if (other == kNoRank) continue;
        trees.insert({c, static_cast<std::uint32_t>(other), rank_});
        trees.insert({c, rank_, static_cast<std::uint32_t>(other)});
      }
    }
    for (const auto& each : rings) trees.erase(each);
    connected_ = rings;
    connected_.insert(trees.begin(), trees.end());
    connect(rings, all_.channels().size());
    say(kInit, "Connected all rings, use ring PXN {} GDR {}", pxn_ ? 1 : 0, over_network_ && all_gdr_ ? 1 : 0);
    connect(trees, all_.channels().size());
    say(kInit, "Connected all trees");
    if (all_.nodes().size() < all_.ranks().size()) return;
    // PAT: with one GPU in each node, the ranks that are a power of two away.
    Connected binomial;
    const auto count = static_cast<std::uint32_t>(all_.ranks().size());
    for (std::uint32_t distance = 1; distance < count; distance *= 2) {
      for (std::uint32_t c = 0; c < all_.channels().size(); ++c) {
        for (std::uint32_t peer : {(rank_ + distance) % count, (rank_ + count - distance) % count}) {
          binomial.insert({c, peer, rank_});
          binomial.insert({c, rank_, peer});
        }
      }
    }
    for (const auto& each : rings) binomial.erase(each);
    for (const auto& each : trees) binomial.erase(each);
    connect(binomial, all_.channels().size());
    say(kInit, "Connected binomial trees");
  }

  // Connections that rings and trees have made already are not made again.
  void nvls_trees() {
    const Nvls& nvls = all_.nvls();
    if (nvls.channels == 0 || nvls.nodes.size() == 1) return;
    Connected wanted;
    for (std::uint32_t c = 0; c < nvls.channels; ++c) {
      const TreeNode& node = nvls.trees[c % nvls.trees.size()][rank_];
      for (std::int32_t peer : {node.down[0], node.down[1], node.up}) {
        if (peer == kNoRank) continue;
        wanted.insert({c, static_cast<std::uint32_t>(peer), rank_});
        wanted.insert({c, rank_, static_cast<std::uint32_t>(peer)});
      }
    }
    for (const auto& each : connected_) wanted.erase(each);
    connect(wanted, nvls.channels, true);
    say(kInit, "Connected NVLS tree");
  }

  void tuning() {
    const Tuning& tuning = all_.tuning();
    const auto& limits = tuning.thread_thresholds;
    if (all_.ranks().size() > 1) {
      if (rank_ == 0 && filter_.shows(kTuningModel))
        write_tuning(tuning, [&](std::string_view line) { say(kTuningModel, "{}", line); });
      say(kInit, "threadThresholds {}/{}/{} | {}/{}/{} | {} | {}", limits[0][0], limits[0][1], limits[0][2],
          limits[1][0], limits[1][1], limits[1][2], limits[2][2], limits[3][2]);
    }
    const std::size_t count = all_.channels().size();
    say(kInit, "{} coll channels, {} collnet channels, {} nvls channels, {} p2p channels, {} p2p channels per peer",
        count, count, all_.nvls_channels(), all_.p2p_channels(), all_.p2p_channels_per_peer());
  }

  const Machine& machine_;
  const Communicator& all_;
  const Node& node_;
  std::uint32_t rank_;
  const LogSink& sink_;
  LogFilter filter_;
  Connected connected_;
  bool all_gdr_ = true, pxn_ = false, over_network_ = false;
};

}  // namespace

LogFilter log_filter(const Environment& environment) {
  LogFilter filter;
  const std::string level = upper(environment.debug);
  if (level == "VERSION") filter.level = DebugLevel::kVersion;
  if (level == "WARN") filter.level = DebugLevel::kWarn;
  if (level == "INFO" || level == "TRACE") filter.level = DebugLevel::kInfo;
  std::string list = upper(environment.debug_subsys);
  if (list.empty()) return filter;
  const bool all_but = list.front() == '^';
  if (all_but) list.erase(0, 1);
  filter.subsystems = all_but ? std::uint32_t{kEverything} : 0;
  for (const SubsystemWord& each : kSubsystems) {
    std::string_view rest = list;
    while (!rest.empty()) {
      const std::size_t end = rest.find(',');
      if (rest.substr(0, end) == each.word)
        filter.subsystems = all_but ? filter.subsystems & ~each.bits : filter.subsystems | each.bits;
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  }
  return filter;
}

void write_start(const Cluster& cluster, const Communicator& communicator, const LogFilter& filter,
                 const LogSink& sink) {
  if (filter.level == DebugLevel::kVersion || filter.level == DebugLevel::kWarn)
    sink(0, kEverything, version_line(communicator));
  if (filter.level != DebugLevel::kInfo || !communicator.error().empty()) return;
  for (std::uint32_t rank = 0; rank < communicator.ranks().size(); ++rank)
    RankLog(cluster, communicator, rank, sink).write(filter);
}

}  // namespace weft::nccl
