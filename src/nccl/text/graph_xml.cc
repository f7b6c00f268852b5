#include "nccl/text/graph_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace weft::nccl {

namespace {

XmlElement graph_element(const Node& node, const Graph& graph) {
  XmlElement element;
  element.name = "graph";
  element.set("id", std::to_string(graph.id));
  element.set("pattern", std::to_string(static_cast<int>(graph.pattern)));
  element.set("crossnic", std::to_string(graph.cross_nic));
  element.set("nchannels", std::to_string(graph.channels.size()));
  element.set("speedintra", fmt::format("{:g}", graph.intra_GBps));
  element.set("speedinter", fmt::format("{:g}", graph.inter_GBps));
  element.set("latencyinter", "0");
  element.set("typeintra", std::string(to_string(graph.intra_type)));
  element.set("typeinter", std::string(to_string(graph.inter_type)));
  element.set("samechannels", graph.same_channels ? "1" : "0");
  for (const GraphChannel& found : graph.channels) {
    XmlElement& channel = element.add("channel");
    const auto add_net = [&](std::int32_t net) {
      if (net != kNoNet) channel.add("net").set("dev", net == 0 ? "0" : fmt::format("0x{:x}", net));
    };
    add_net(found.nets[0]);
    for (std::uint32_t gpu : found.gpus) {
      XmlElement& each = channel.add("gpu");
      const std::uint32_t device = node.topology->gpus[gpu].device;
      each.set("dev", device == 0 ? "0" : fmt::format("0x{:x}", device));
      each.set("rank", std::to_string(node.ranks[gpu]));
      if (graph.pattern == Pattern::kNvls) break;
    }
    add_net(found.nets[1]);
  }
  return element;
}

class GraphReader {
 public:
  GraphReader(const Topology& topology, Graphs& graphs) : topology_(topology), graphs_(graphs) {}

  tl::expected<void, XmlError> read(const XmlElement& top) {
    if (top.name != "graphs") return wrong(top, fmt::format("<graphs> was expected, not <{}>", top.name));
    if (top.attribute("version") == nullptr || *top.attribute("version") != "1")
      return wrong(top, "version=\"1\" was expected");
    for (const XmlElement& element : top.children) {
      if (element.name != "graph") continue;
      const auto id = integer(element, "id", 0, 5);
      if (!id) return tl::unexpected(error_);
      Graph* graph = *id == 0 ? &graphs_.ring : *id == 1 ? &graphs_.tree : *id == 3 ? &graphs_.nvls : nullptr;
      if (graph == nullptr) continue;  // CollNet
      if (!read_graph(element, *graph)) return tl::unexpected(error_);
    }
    return {};
  }

 private:
  tl::expected<void, XmlError> wrong(const XmlElement& at, std::string message) {
    fail(at, std::move(message));
    return tl::unexpected(error_);
  }
  bool fail(const XmlElement& at, std::string message) {
    error_ = {at.line, 1, std::move(message)};
    return false;
  }

  std::optional<std::int64_t> integer(const XmlElement& element, const char* key, std::int64_t least,
                                      std::int64_t most) {
    const std::string* text = element.attribute(key);
    if (text == nullptr) {
      fail(element, fmt::format("{} is missing", key));
      return std::nullopt;
    }
    char* end = nullptr;
    const long long value = std::strtoll(text->c_str(), &end, 0);
    if (text->empty() || *end != '\0' || value < least || value > most) {
      fail(element, fmt::format("{} is {}: a number from {} to {} was expected", key, *text, least, most));
      return std::nullopt;
    }
    return value;
  }
  std::optional<double> speed(const XmlElement& element, const char* key) {
    const std::string* text = element.attribute(key);
    char* end = nullptr;
    const double value = text == nullptr ? -1 : std::strtod(text->c_str(), &end);
    if (text == nullptr || text->empty() || *end != '\0' || !std::isfinite(value) || value < 0 || value > 10000) {
      fail(element, fmt::format("{} must be a speed in GB/s", key));
      return std::nullopt;
    }
    return value;
  }
  std::optional<PathType> path_type(const XmlElement& element, const char* key) {
    const std::string* text = element.attribute(key);
    for (std::uint8_t i = 0; text != nullptr && i <= static_cast<std::uint8_t>(PathType::kSys); ++i) {
      if (*text == to_string(static_cast<PathType>(i))) return static_cast<PathType>(i);
    }
    fail(element, fmt::format("{} must be a path type: LOC, NVL, PIX, PXB, PXN, PHB, SYS", key));
    return std::nullopt;
  }

  bool read_graph(const XmlElement& element, Graph& to) {
    Graph graph = to;
    graph.channels.clear();
    const auto pattern = integer(element, "pattern", 1, 6);
    const auto cross = pattern ? integer(element, "crossnic", 0, 2) : std::nullopt;
    const auto same = cross ? integer(element, "samechannels", 0, 1) : std::nullopt;
    const auto intra = same ? speed(element, "speedintra") : std::nullopt;
    const auto inter = intra ? speed(element, "speedinter") : std::nullopt;
    const auto intra_type = inter ? path_type(element, "typeintra") : std::nullopt;
    const auto inter_type = intra_type ? path_type(element, "typeinter") : std::nullopt;
    if (!inter_type) return false;
    const bool fits = to.id == 0 ? *pattern == 4 : to.id == 1 ? *pattern <= 3 : *pattern == 5;
    if (!fits) return fail(element, fmt::format("pattern {} is not one of graph {}", *pattern, to.id));
    graph.pattern = static_cast<Pattern>(*pattern);
    graph.cross_nic = static_cast<std::uint32_t>(*cross);
    graph.same_channels = *same != 0;
    graph.intra_GBps = *intra;
    graph.inter_GBps = *inter;
    graph.intra_type = *intra_type;
    graph.inter_type = *inter_type;
    for (const XmlElement& child : element.children) {
      if (child.name != "channel") continue;
      if (graph.channels.size() == kMaxChannelCount / 2) return fail(child, "too many channels");
      graph.channels.emplace_back();
      if (!read_channel(child, graph.pattern == Pattern::kNvls, graph.channels.back())) return false;
    }
    if (!graph.channels.empty()) to = std::move(graph);
    return true;
  }

  bool read_channel(const XmlElement& element, bool head_only, GraphChannel& to) {
    std::size_t nets = 0;
    for (const XmlElement& child : element.children) {
      const auto device = integer(child, "dev", 0, 1 << 20);
      if (!device) return false;
      if (child.name == "net") {
        if (*device >= static_cast<std::int64_t>(topology_.nets.size()))
          return fail(child, fmt::format("there is no network device {}", *device));
        if (nets == 2) return fail(child, "a channel has two ends");
        to.nets[nets++] = static_cast<std::int32_t>(*device);
      } else if (child.name == "gpu") {
        const auto found = std::ranges::find(topology_.gpus, static_cast<std::uint32_t>(*device), &TopologyGpu::device);
        if (found == topology_.gpus.end()) return fail(child, fmt::format("GPU {} has no rank here", *device));
        const auto gpu = static_cast<std::uint32_t>(found - topology_.gpus.begin());
        if (std::ranges::find(to.gpus, gpu) != to.gpus.end())
          return fail(child, fmt::format("GPU {} is in the channel twice", *device));
        to.gpus.push_back(gpu);
      }
    }
    if (head_only ? to.gpus.empty() : to.gpus.size() != topology_.gpus.size())
      return fail(element, fmt::format("a channel has all {} GPUs", topology_.gpus.size()));
    if (topology_.inter && nets != 2) return fail(element, "a channel begins and ends at a network device");
    return true;
  }

  const Topology& topology_;
  Graphs& graphs_;
  XmlError error_;
};

}  // namespace

std::string graph_xml(const Communicator& communicator, std::uint32_t rank) {
  const Node& node = communicator.nodes()[communicator.node_of(rank)];
  XmlElement top;
  top.name = "graphs";
  top.set("version", "1");
  for (const Graph* graph : {&node.graphs->ring, &node.graphs->tree, &node.graphs->nvls}) {
    if (!graph->channels.empty()) top.children.push_back(graph_element(node, *graph));
  }
  return write_xml(top);
}

tl::expected<void, XmlError> read_graphs(const XmlElement& element, const Topology& topology, Graphs& graphs) {
  return GraphReader(topology, graphs).read(element);
}

}  // namespace weft::nccl
