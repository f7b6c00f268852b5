// Any bytes are XML or an error with its place; any XML is a topology or graphs of the machine, or an error; any list
// of variables is read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "fuzz/targets.h"
#include "nccl/decide/communicator.h"
#include "nccl/decide/environment.h"
#include "nccl/text/graph_xml.h"
#include "nccl/text/topology_xml.h"

namespace {

weft::nccl::Machine two_gpus() {
  weft::nccl::Machine machine;
  machine.name = "host";
  machine.cpu_kind = "amd";
  for (int i = 0; i < 2; ++i) machine.places.gpus.push_back({*weft::lab::Catalog::built_in().gpu("a100-40g"), {}});
  machine.nics.push_back({"mlx5_0", "eth0", "10.0.0.1", 100'000'000'000, {}, 4, 16, "", true});
  return machine;
}

}  // namespace

int weft::fuzz::nccl_fuzz(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const weft::nccl::Cluster cluster{{two_gpus(), two_gpus()}};
  static const std::vector<weft::nccl::RankPlace> ranks{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  weft::nccl::Environment environment;
  if (data[0] % 3 == 0) {
    environment.topo_text = text;
  } else if (data[0] % 3 == 1) {
    environment.graph_text = text;
  } else {
    std::vector<weft::nccl::Variable> variables;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      const std::size_t equals = line.find('=');
      if (equals != std::string_view::npos)
        variables.push_back({std::string(line.substr(0, equals)), std::string(line.substr(equals + 1))});
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    environment = weft::nccl::parse_environment(variables).environment;
  }
  const weft::nccl::Communicator communicator(cluster, ranks, environment);
  if (!communicator.error().empty()) return 0;
  for (const weft::nccl::Channel& channel : communicator.channels()) {
    if (channel.ring.size() != ranks.size()) std::abort();
  }
  communicator.choose(weft::nccl::Collective::kAllReduce, size);
  if (weft::nccl::topology_xml(cluster, communicator, 0).empty() || weft::nccl::graph_xml(communicator, 0).empty())
    std::abort();
  return 0;
}
