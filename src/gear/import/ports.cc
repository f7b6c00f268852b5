#include "gear/import/ports.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace weft::gear {
namespace {

Contract contract_of_port(const Contract& all, const ImportedPort& port) {
  Contract one{all.node, all.model, port.qos, {}, port.trusts, port.watched_mask};
  one.qos.ingress_pool_B = all.qos.ingress_pool_B;
  one.qos.egress_pool_B = all.qos.egress_pool_B;
  one.qos.headroom_pool_B = all.qos.headroom_pool_B;
  return one;
}

// Values of `own` that differ from `common`.
ContractValues values_that_differ(const ContractValues& own, const ContractValues& common) {
  const std::map<std::string_view, std::string_view> of_common(common.begin(), common.end());
  std::map<std::string_view, std::string_view> of_own(own.begin(), own.end());
  ContractValues differ;
  for (const auto& [name, value] : own) {
    const auto found = of_common.find(name);
    if (found == of_common.end() || found->second != value) differ.emplace_back(name, value);
  }
  for (const auto& [name, value] : common) {
    if (!of_own.contains(name)) differ.emplace_back(name, "nothing");
  }
  return differ;
}

}  // namespace

void merge_ports(Contract& contract, const std::vector<ImportedPort>& ports) {
  // Ports with the same values, the first of each kind, and how many: few kinds in any real file.
  std::map<ContractValues, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < ports.size(); ++i)
    kinds[contract_values(contract_of_port(contract, ports[i]))].push_back(i);
  const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    // Among kinds with as many ports, that of the first port.
    return a.second.size() != b.second.size() ? a.second.size() < b.second.size() : a.second.front() > b.second.front();
  });
  if (most == kinds.end()) return;
  for (const auto& [values, members] : kinds) {
    if (&values == &most->first) continue;
    const ContractValues own = values_that_differ(values, most->first);
    for (std::size_t i : members) contract.ports[i].own = own;
  }
  Contract common = contract_of_port(contract, ports[most->second.front()]);
  common.ports = std::move(contract.ports);
  contract = std::move(common);
}

}  // namespace weft::gear
