// client and server of a workload: which ports they are, and how they reach each other.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "labfile/workloads/workload_kind.h"
#include "model/qos_words.h"

namespace weft::lab {

// One end as written, and what was found of it.
struct WorkloadReading::End {
  const YamlNode* node = nullptr;
  EndpointText text;
  NodeState* host = nullptr;
  PortState* port = nullptr;
};

WorkloadReading::End WorkloadReading::read_end(std::string_view key) {
  End end;
  end.node = map.require(key, fmt::format("{}: vm00, or \"vm00:p0\"", key));
  if (end.node == nullptr || !read_text(*end.node, key, problems)) return end;
  end.text = split_endpoint(end.node->text);
  end.host = find_host(end.text.host, end.node->place, context);
  if (end.host == nullptr || !end.text.port) return end;
  end.port = find_port(*end.host, end.text.host, *end.text.port, end.node->place, context);
  if (end.port != nullptr && report_second_of_bond(*end.port, end.text.host, end.node->place, context)) {
    end.port = nullptr;
  } else if (end.port != nullptr && !end.port->link) {
    if (context.links_complete) {
      problems.add(end.node->place, fmt::format("{} has no cable", in_quotes(end.node->text)),
                   "join it to its peer in links");
    }
    end.port = nullptr;
  }
  return end;
}

bool WorkloadReading::read_ends(const std::function<bool(const PortPair&)>& prefers) {
  if (!map.ok()) return false;
  End client = read_end("client"), server = read_end("server");
  for (const End* end : {&client, &server}) {
    if (end->host == nullptr || (end->text.port && end->port == nullptr)) return false;
  }
  if (client.host == server.host) {
    problems.add(server.node->place, fmt::format("client and server are one host, {}", client.text.host),
                 "name two hosts: a workload runs between them");
    return false;
  }
  std::vector<PortPair> pairs = pairs_of(client, server);
  if (prefers && std::any_of(pairs.begin(), pairs.end(), prefers)) std::erase_if(pairs, std::not_fn(prefers));
  if (pairs.size() > 1) {
    // As the operating system would: the address of the other end is on a subnet of one of the ports.
    std::vector<PortPair> near;
    std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(near),
                 [&](const PortPair& p) { return one_subnet(context.lab, p); });
    if (near.size() == 1) pairs = near;
  }
  if (pairs.size() != 1) {
    report_not_one(pairs, client, server);
    return false;
  }
  workload.client = pairs[0].client;
  workload.server = pairs[0].server;
  // Over one cable the link's reader did this.
  if (auto problem = pair_problem(context.lab, pairs[0]); problem && is_switched(client, pairs[0].client)) {
    problems.add(server.node->place, problem->message, problem->remedy);
    return false;
  }
  return read_function(client, workload.client, workload.client_function) &&
         read_function(server, workload.server, workload.server_function);
}

std::vector<const PortState*> WorkloadReading::ports_of(const End& end) const {
  if (end.port != nullptr) return {end.port};
  std::vector<const PortState*> ports;
  for (const auto& [name, port] : end.host->ports) {
    if (port.is_end()) ports.push_back(&port);
  }
  return ports;
}

bool WorkloadReading::is_switched(const End& end, const PortRef& ref) const {
  const auto ports = ports_of(end);
  return std::any_of(ports.begin(), ports.end(), [&](const PortState* port) {
    return port->ref == ref && context.segments.is_switched(segment_of(*port, context));
  });
}

std::vector<PortPair> WorkloadReading::pairs_of(const End& client, const End& server) const {
  std::vector<PortPair> pairs;
  for (const PortState* a : ports_of(client)) {
    for (const PortState* b : ports_of(server)) {
      if (segment_of(*a, context) == segment_of(*b, context)) pairs.push_back({a->ref, b->ref});
    }
  }
  return pairs;
}

void WorkloadReading::report_not_one(const std::vector<PortPair>& pairs, const End& client, const End& server) {
  const bool switched = !context.lab.switches.empty();
  if (pairs.empty()) {
    if (!context.links_complete || !client.host->complete || !server.host->complete) return;
    problems.add(server.node->place,
                 fmt::format("no {} joins {} and {}", switched ? "path" : "link", in_quotes(client.node->text),
                             in_quotes(server.node->text)),
                 switched ? "hosts do not forward: join both to switches that are joined, or by a cable"
                          : "a workload runs between the two ends of one cable: add it to links");
    return;
  }
  std::vector<std::string> clients, servers;
  for (const PortPair& pair : pairs) {
    clients.push_back(port_name(context.lab, pair.client));
    servers.push_back(port_name(context.lab, pair.server));
  }
  // The end that can be named more closely: the client's, when it has several ports.
  const bool by_client = std::adjacent_find(clients.begin(), clients.end(), std::not_equal_to<>()) != clients.end();
  std::vector<std::string>& names = by_client ? clients : servers;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  problems.add(by_client ? client.node->place : server.node->place,
               fmt::format("{} {} join {} and {}", pairs.size(), switched ? "paths" : "links", client.text.host,
                           server.text.host),
               fmt::format("name the port: {}", fmt::join(names, ", ")));
}

bool WorkloadReading::read_function(const End& end, const PortRef& ref, std::uint32_t& target) {
  if (!end.text.function) return true;
  const nic::NicModel& model = context.nic(ref).model;
  const auto number = parse_unsigned(*end.text.function);
  if (number && *number < model.pcie_functions_per_port) {
    target = static_cast<std::uint32_t>(*number);
    return true;
  }
  problems.add(end.node->place,
               fmt::format("{}: a port of {} has {} PCIe function{}", in_quotes(end.node->text), model.name,
                           model.pcie_functions_per_port, model.pcie_functions_per_port == 1 ? "" : "s"),
               model.pcie_functions_per_port == 1 ? "leave out the /"
                                                  : fmt::format("write /0 to /{}", model.pcie_functions_per_port - 1));
  return false;
}

// TIMELY and Swift time ACKs, HPCC reads what ACKs echo; a READ response has none (IBTA vol 1, 9.7.5.1.9).
void WorkloadReading::warn_of_read(const YamlNode& node) {
  const nic::CongestionKind kind = context.lab.hosts[workload.server.host].qos.congestion.kind;
  if (kind == nic::CongestionKind::kOff || nic::reacts_to_cnps(kind)) return;
  context.warnings.add(
      node.place,
      fmt::format("{} does not control READ: responses are not acknowledged, so that their sender measures nothing",
                  word_of(congestion_words(), kind)),
      "write dcqcn, whose CNPs are sent for responses too, or let the other end WRITE");
}

std::uint32_t WorkloadReading::path_mtu_B() const {
  return lab::path_mtu_B(context.lab, {workload.client, workload.server});
}

void WorkloadReading::read_class() {
  const PortRef ends[] = {workload.client, workload.server};
  read_traffic_class(map, ends, workload, context);
}

}  // namespace weft::lab
