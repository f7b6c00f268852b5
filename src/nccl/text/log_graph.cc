#include "nccl/text/log_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace weft::nccl {

namespace {

constexpr std::string_view kKindNames[] = {"CPU", "PCI", "NVS", "GPU", "NIC", "NET"};

std::string node_name(const TopologyNode& node) {
  return fmt::format("{}/0-{:x}", kKindNames[static_cast<std::size_t>(node.kind)], node.id);
}

std::string_view link_name(PathType type) {
  return type == PathType::kPix ? "PCI" : to_string(type);
}

class TopologyPrinter {
 public:
  TopologyPrinter(const Topology& topology, const std::vector<std::uint32_t>& ranks, const LineSink& sink)
      : topology_(topology), ranks_(ranks), sink_(sink) {}

  void print() {
    sink_(fmt::format("=== System : maxBw {:2.1f} totalBw {:2.1f} ===", topology_.max_bandwidth_GBps,
                      topology_.total_bandwidth_GBps));
    for (std::uint32_t cpu : topology_.cpus) print_node(cpu, cpu, {});
    sink_("==========================================");
    for (const TopologyGpu& gpu : topology_.gpus) print_paths(gpu.node);
    for (const NetDevice& net : topology_.nets) print_paths(net.node);
  }

 private:
  std::string described(std::uint32_t id) const {
    const TopologyNode& node = topology_.nodes[id];
    if (node.kind == NodeKind::kGpu) return fmt::format("{} ({})", node_name(node), ranks_[node.index]);
    if (node.kind == NodeKind::kCpu) {
      // -1: NCCL does not tell them apart.
      const CpuKind& cpu = topology_.cpu;
      return fmt::format("{} ({}/{}/{})", node_name(node), static_cast<int>(cpu.arch),
                         cpu.vendor == CpuVendor::kNone ? -1 : static_cast<int>(cpu.vendor),
                         cpu.model == 0 ? -1 : static_cast<int>(cpu.model));
    }
    if (node.kind == NodeKind::kNet)
      return fmt::format("{} (0/{:x}/{}/{:f})", node_name(node), topology_.nets[node.index].guid,
                         topology_.nets[node.index].port, topology_.nets[node.index].bandwidth_GBps);
    if (node.kind == NodeKind::kPci) return fmt::format("{} (0)", node_name(node));
    return node_name(node);
  }

  // Links to GPUs and switches first, PCIe downwards, then upwards, then to other CPUs.
  void print_node(std::uint32_t id, std::uint32_t from, const std::string& line) {
    sink_(line + described(id));
    const std::string indent(line.size(), ' ');
    const TopologyNode& node = topology_.nodes[id];
    std::vector<std::uint32_t> links = node.links;
    std::stable_sort(links.begin(), links.end(), [&](std::uint32_t a, std::uint32_t b) {
      return (topology_.links[a].type == PathType::kNvl) > (topology_.links[b].type == PathType::kNvl);
    });
    for (std::uint32_t each : links) {
      const TopologyLink& link = topology_.links[each];
      const bool pcie = link.type == PathType::kPix;
      if (pcie && (link.to == from || topology_.nodes[link.to].kind == NodeKind::kCpu)) continue;
      if (link.type == PathType::kNet && node.kind == NodeKind::kNet) continue;
      const std::string start = fmt::format("{}+ {}[{:2.1f}] - ", indent, link_name(link.type), link.bandwidth_GBps);
      if (pcie) {
        print_node(link.to, id, start);
      } else {
        sink_(start + (link.type == PathType::kNet ? described(link.to) : node_name(topology_.nodes[link.to])));
      }
    }
  }

  void print_paths(std::uint32_t from) {
    std::string line = fmt::format("{} :", node_name(topology_.nodes[from]));
    for (NodeKind kind : {NodeKind::kGpu, NodeKind::kNvSwitch, NodeKind::kCpu, NodeKind::kNet}) {
      for (std::uint32_t to = 0; to < topology_.nodes.size(); ++to) {
        if (topology_.nodes[to].kind != kind) continue;
        const Path& way = topology_.path(from, to);
        if (way.type == PathType::kDis) continue;
        line += fmt::format("{} ({}/{:.1f}/{}) ", node_name(topology_.nodes[to]), way.links.size(), way.bandwidth_GBps,
                            to_string(way.type));
      }
    }
    sink_(line);
  }

  const Topology& topology_;
  const std::vector<std::uint32_t>& ranks_;
  const LineSink& sink_;
};

void write_graph(const Topology& topology, const Graph& graph, const LineSink& sink) {
  sink(fmt::format("Pattern {}, crossNic {}, nChannels {}, bw {:f}/{:f}, type {}/{}, sameChannels {}",
                   static_cast<int>(graph.pattern), graph.cross_nic, graph.channels.size(), graph.intra_GBps,
                   graph.inter_GBps, to_string(graph.intra_type), to_string(graph.inter_type),
                   graph.same_channels ? 1 : 0));
  for (std::size_t c = 0; c < graph.channels.size(); ++c) {
    const GraphChannel& channel = graph.channels[c];
    std::string line = fmt::format("{:2} :", c);
    if (channel.nets[0] != kNoNet) line += fmt::format(" NET/0-{:x}", channel.nets[0]);
    for (std::uint32_t gpu : channel.gpus) {
      line += fmt::format(" {}", node_name(topology.nodes[topology.gpus[gpu].node]));
      if (graph.pattern == Pattern::kNvls) break;
    }
    if (channel.nets[1] != kNoNet) line += fmt::format(" NET/0-{:x}", channel.nets[1]);
    sink(line);
  }
}

}  // namespace

void write_topology(const Topology& topology, const std::vector<std::uint32_t>& ranks, const LineSink& sink) {
  TopologyPrinter(topology, ranks, sink).print();
}

void write_graphs(const Node& node, const LineSink& sink) {
  for (const Graph* graph : {&node.graphs->ring, &node.graphs->tree}) write_graph(*node.topology, *graph, sink);
  if (!node.graphs->nvls.channels.empty()) write_graph(*node.topology, node.graphs->nvls, sink);
}

void write_tuning(const Tuning& tuning, const LineSink& sink) {
  for (std::size_t block = 0; block < kModelAlgorithms; block += 3) {
    const std::size_t end = std::min(block + 3, kModelAlgorithms);
    std::string names = "  Algorithm   |", protocols = "  Protocol    |", threads = " Max NThreads |";
    for (std::size_t a = block; a < end; ++a) {
      names += fmt::format(" {:>14}   {:>14}   {:>14} |", "", to_string(static_cast<ModelAlgorithm>(a)), "");
      for (std::size_t p = 0; p < kProtocols; ++p) threads += fmt::format(" {:>14} |", tuning.max_threads[a][p]);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::string_view protocol : {"LL", "LL128", "Simple"}) protocols += fmt::format(" {:>14} |", protocol);
    }
    sink(names);
    sink(protocols);
    sink(threads);
    for (std::size_t f = 0; f < kFunctions; ++f) {
      std::string line = fmt::format("{:>13} |", to_string(static_cast<Function>(f)));
      for (std::size_t a = block; a < end; ++a) {
        for (std::size_t p = 0; p < kProtocols; ++p)
          line += fmt::format("{:8.1f}/{:6.1f} |", tuning.latency_us[f][a][p], tuning.bandwidth_GBps[f][a][p]);
      }
      sink(line);
    }
  }
}

}  // namespace weft::nccl
