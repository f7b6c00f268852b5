// workloads: who sends what to whom, from when on.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/nearest.h"
#include "labfile/sections.h"
#include "labfile/words.h"
#include "model/perftest_check.h"
#include "model/port_pairs.h"
#include "text/yaml_walk.h"
#include "wire/mtu.h"

namespace weft::lab {
namespace {

// One end as written, and what was found of it.
struct End {
  const YamlNode* node = nullptr;
  EndpointText text;
  NodeState* host = nullptr;
  PortState* port = nullptr;
};

class WorkloadReader {
 public:
  WorkloadReader(const YamlNode& node, LabContext& context)
      : context_(context),
        problems_(context.problems),
        map_(node, fmt::format("workloads[{}]", context.lab.workloads.size()), workload_keys(), context.problems) {}

  void read() {
    const std::size_t problems_before = problems_.size();
    read_name_and_start();
    const YamlNode *perftest = map_.get("perftest"), *transfer = map_.get("transfer"), *flows = map_.get("flows"),
                   *program = map_.get("program");
    const int kinds = (perftest != nullptr) + (transfer != nullptr) + (flows != nullptr) + (program != nullptr);
    if (perftest != nullptr) read_perftest(*perftest);
    const bool connected = flows == nullptr && program == nullptr && read_ends();
    if (map_.ok() && kinds != 1) {
      problems_.add(map_.place(), kinds == 0 ? "a workload that does nothing" : "more than one kind in one workload",
                    "write one of perftest: write_bw, transfer: write, flows: incast and program: […]");
    } else if (program != nullptr) {
      forbid_all_but({"name", "start", "program"}, "a program takes everything in its command");
      read_programs(*program, workload_, context_);
    } else if (flows != nullptr) {
      forbid(not_flow_keys(), "flows run between hosts: write hosts, and to for incast");
      read_flows(map_, *flows, workload_, context_);
      read_traffic_class(map_, workload_.flow_ports, workload_, context_);
    } else if (perftest != nullptr) {
      forbid(transfer_only_keys(), "perftest takes its own flags, in args");
      forbid(flow_only_keys(), "perftest takes its own flags, in args");
      if (connected) read_class();
      if (connected && workload_.perftest) check_perftest(*perftest);
    } else if (transfer != nullptr) {
      forbid(perftest_only_keys(), "only perftest has args");
      forbid(flow_only_keys(), "only flows have it");
      workload_.transfer = read_transfer(map_, *transfer, connected ? path_mtu_B() : kUnknownMtu_B, problems_);
      if (connected) read_class();
    }
    const YamlNode* test = perftest != nullptr ? perftest : transfer;
    if (connected && test != nullptr) warn_of_read(*test);
    context_.lab.workloads.push_back(std::move(workload_));
    context_.workload_usable.push_back(problems_.size() == problems_before);
  }

 private:
  void read_name_and_start() {
    const YamlNode* node = map_.require("name", "name: bw");
    const auto name = node == nullptr ? std::nullopt : read_name(*node, "name", problems_);
    if (name) {
      workload_.name = *name;
      if (!context_.workloads.emplace(*name, context_.lab.workloads.size()).second) {
        problems_.add(node->place, fmt::format("two workloads are named {}", *name), "give each a name of its own");
      }
    }
    if (const YamlNode* start = map_.get("start")) {
      store(workload_.start_ps, read_quantity(*start, "start", Quantity::kTime, {0, 3600 * kSecond_ps}, problems_));
    }
  }

  End read_end(std::string_view key) {
    End end;
    end.node = map_.require(key, fmt::format("{}: vm00, or \"vm00:p0\"", key));
    if (end.node == nullptr || !read_text(*end.node, key, problems_)) return end;
    end.text = split_endpoint(end.node->text);
    end.host = find_host(end.text.host, end.node->place, context_);
    if (end.host == nullptr || !end.text.port) return end;
    end.port = find_port(*end.host, end.text.host, *end.text.port, end.node->place, context_);
    if (end.port != nullptr && !end.port->link) {
      if (context_.links_complete) {
        problems_.add(end.node->place, fmt::format("{} has no cable", in_quotes(end.node->text)),
                      "join it to its peer in links");
      }
      end.port = nullptr;
    }
    return end;
  }

  // True when client and server reach each other over one cable or over switches, and it is clear by which ports.
  bool read_ends() {
    if (!map_.ok()) return false;
    End client = read_end("client"), server = read_end("server");
    for (const End* end : {&client, &server}) {
      if (end->host == nullptr || (end->text.port && end->port == nullptr)) return false;
    }
    if (client.host == server.host) {
      problems_.add(server.node->place, fmt::format("client and server are one host, {}", client.text.host),
                    "name two hosts: a workload runs between them");
      return false;
    }
    std::vector<PortPair> pairs = pairs_of(client, server);
    if (workload_.perftest && !workload_.perftest->device.empty()) {
      const auto is_other = [&](const PortPair& p) {
        return device_name(context_.lab, p.client) != workload_.perftest->device;
      };
      // Where there is no such device, check_perftest says so.
      if (!std::all_of(pairs.begin(), pairs.end(), is_other)) std::erase_if(pairs, is_other);
    }
    if (pairs.size() > 1) {
      // As the operating system would: the address of the other end is on a subnet of one of the ports.
      std::vector<PortPair> near;
      std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(near),
                   [&](const PortPair& p) { return one_subnet(context_.lab, p); });
      if (near.size() == 1) pairs = near;
    }
    if (pairs.size() != 1) {
      report_not_one(pairs, client, server);
      return false;
    }
    workload_.client = pairs[0].client;
    workload_.server = pairs[0].server;
    // Over one cable the link's reader did this.
    if (auto problem = pair_problem(context_.lab, pairs[0]); problem && is_switched(client, pairs[0].client)) {
      problems_.add(server.node->place, problem->message, problem->remedy);
      return false;
    }
    return read_function(client, workload_.client, workload_.client_function) &&
           read_function(server, workload_.server, workload_.server_function);
  }

  std::vector<const PortState*> ports_of(const End& end) {
    if (end.port != nullptr) return {end.port};
    std::vector<const PortState*> ports;
    for (const auto& [name, port] : end.host->ports) {
      if (port.link) ports.push_back(&port);
    }
    return ports;
  }

  bool is_switched(const End& end, const PortRef& ref) {
    const auto ports = ports_of(end);
    return std::any_of(ports.begin(), ports.end(), [&](const PortState* port) {
      return port->ref == ref && context_.segments.is_switched(segment_of(*port, context_));
    });
  }

  std::vector<PortPair> pairs_of(const End& client, const End& server) {
    std::vector<PortPair> pairs;
    for (const PortState* a : ports_of(client)) {
      for (const PortState* b : ports_of(server)) {
        if (segment_of(*a, context_) == segment_of(*b, context_)) pairs.push_back({a->ref, b->ref});
      }
    }
    return pairs;
  }

  void report_not_one(const std::vector<PortPair>& pairs, const End& client, const End& server) {
    const bool switched = !context_.lab.switches.empty();
    if (pairs.empty()) {
      if (!context_.links_complete || !client.host->complete || !server.host->complete) return;
      problems_.add(server.node->place,
                    fmt::format("no {} joins {} and {}", switched ? "path" : "link", in_quotes(client.node->text),
                                in_quotes(server.node->text)),
                    switched ? "hosts do not forward: join both to switches that are joined, or by a cable"
                             : "a workload runs between the two ends of one cable: add it to links");
      return;
    }
    std::vector<std::string> clients, servers;
    for (const PortPair& pair : pairs) {
      clients.push_back(port_name(context_.lab, pair.client));
      servers.push_back(port_name(context_.lab, pair.server));
    }
    // The end that can be named more closely: the client's, when it has several ports.
    const bool by_client = std::adjacent_find(clients.begin(), clients.end(), std::not_equal_to<>()) != clients.end();
    std::vector<std::string>& names = by_client ? clients : servers;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    problems_.add(by_client ? client.node->place : server.node->place,
                  fmt::format("{} {} join {} and {}", pairs.size(), switched ? "paths" : "links", client.text.host,
                              server.text.host),
                  fmt::format("name the port: {}", fmt::join(names, ", ")));
  }

  bool read_function(const End& end, const PortRef& ref, std::uint32_t& target) {
    if (!end.text.function) return true;
    const nic::NicModel& model = context_.nic(ref).model;
    const auto number = parse_unsigned(*end.text.function);
    if (number && *number < model.pcie_functions_per_port) {
      target = static_cast<std::uint32_t>(*number);
      return true;
    }
    problems_.add(end.node->place,
                  fmt::format("{}: a port of {} has {} PCIe function{}", in_quotes(end.node->text), model.name,
                              model.pcie_functions_per_port, model.pcie_functions_per_port == 1 ? "" : "s"),
                  model.pcie_functions_per_port == 1
                      ? "leave out the /"
                      : fmt::format("write /0 to /{}", model.pcie_functions_per_port - 1));
    return false;
  }

  // TIMELY and Swift time ACKs, HPCC reads what ACKs echo; a READ response has none (IBTA vol 1, 9.7.5.1.9).
  void warn_of_read(const YamlNode& node) {
    const bool reads = (workload_.perftest && workload_.perftest->verb == workload::PerftestVerb::kRead) ||
                       (workload_.transfer && workload_.transfer->op == workload::TransferOp::kRead);
    const nic::CongestionAlgorithm* algorithm =
        nic::congestion_algorithm(context_.lab.hosts[workload_.server.host].qos.congestion.kind);
    if (!reads || algorithm == nullptr || algorithm->cnp != nullptr) return;
    context_.warnings.add(
        node.place,
        fmt::format("{} does not control READ: responses are not acknowledged, so that their sender measures nothing",
                    algorithm->name),
        "write dcqcn, whose CNPs are sent for responses too, or let the other end WRITE");
  }

  void forbid(std::span<const std::string_view> keys, std::string_view why) {
    for (std::string_view key : keys) {
      if (const YamlNode* node = map_.get(key))
        problems_.add(node->place, fmt::format("{} does not fit here", key), std::string(why));
    }
  }

  void forbid_all_but(std::initializer_list<std::string_view> allowed, std::string_view why) {
    std::vector<std::string_view> others;
    for (std::string_view key : workload_keys()) {
      if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) others.push_back(key);
    }
    forbid(others, why);
  }

  std::uint32_t path_mtu_B() { return lab::path_mtu_B(context_.lab, {workload_.client, workload_.server}); }

  void read_class() {
    const PortRef ends[] = {workload_.client, workload_.server};
    read_traffic_class(map_, ends, workload_, context_);
  }

  void check_perftest(const YamlNode& test) {
    const YamlNode* args = map_.get("args");
    const Place& place = args == nullptr ? test.place : args->place;
    for (TextError& problem : perftest_problems(*workload_.perftest, context_.lab, workload_))
      problems_.add(place, std::move(problem.message), std::move(problem.remedy));
  }

  void read_perftest(const YamlNode& test) {
    if (!test.is_scalar()) {
      problems_.add(test.place, "perftest is not the name of a test", "write e.g. perftest: write_bw");
      return;
    }
    const std::string_view name =
        std::string_view(test.text).starts_with("ib_") ? std::string_view(test.text).substr(3) : test.text;
    const auto tests = perftest_words();
    if (std::find(tests.begin(), tests.end(), name) == tests.end()) {
      problems_.add(test.place, fmt::format("there is no perftest {}", in_quotes(test.text)),
                    did_you_mean(name, tests, "tests"));
      return;
    }
    const YamlNode* args = map_.get("args");
    std::vector<std::string> words;
    if (args != nullptr) {
      const auto text = read_text(*args, "args", problems_);
      if (!text) return;
      words = workload::split_words(*text);
    }
    auto options = workload::parse_perftest(name, words);
    const Place& place = args == nullptr ? test.place : args->place;
    if (!options) {
      // One line each: what is wrong; what to do.
      for (const std::string& error : options.error()) {
        const std::size_t split = error.find("; ");
        problems_.add(place, error.substr(0, split), split == std::string::npos ? "" : error.substr(split + 2));
      }
      return;
    }
    workload_.perftest = *std::move(options);
  }

  LabContext& context_;
  ProblemList& problems_;
  MapReader map_;
  WorkloadConfig workload_;
};

}  // namespace

void read_workloads(const YamlNode& node, LabContext& context) {
  const auto* list = read_list(node, "workloads", context.problems);
  if (list == nullptr) return;
  for (const YamlNode& item : *list) WorkloadReader(item, context).read();
}

}  // namespace weft::lab
