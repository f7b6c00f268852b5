// Hostile lab files and --set arguments: a checked lab or a list of problems, never anything else. The input is the
// file, then, each after a NUL, the overrides. Half of the inputs are changed by their meaning
// (support/lab_mutations.h), the others as bytes. Start from the labs that we ship:
//   lab_fuzz CORPUS labs labs/faults
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "fuzz/targets.h"
#include "labfile/knobs.h"
#include "labfile/reader.h"
#include "model/workload_metrics.h"
#include "support/lab_mutations.h"

namespace {

using namespace weft::lab;

void check_port(const Lab& lab, const PortRef& ref) {
  if (ref.is_switch()) {
    WEFT_CHECK(ref.host < lab.switches.size(), "a switch that is there");
    WEFT_CHECK(ref.port < lab.switches[ref.host].ports.size(), "a port that is there");
    return;
  }
  WEFT_CHECK(ref.host < lab.hosts.size(), "a host that is there");
  WEFT_CHECK(ref.nic < lab.hosts[ref.host].nics.size(), "a NIC that is there");
  WEFT_CHECK(ref.port < lab.hosts[ref.host].nics[ref.nic].ports.size(), "a port that is there");
}

// What the world relies on without asking again.
void check_lab(const Lab& lab) {
  for (const LinkConfig& link : lab.links) {
    check_port(lab, link.a);
    check_port(lab, link.b);
    WEFT_CHECK(link.a.host != link.b.host || link.a.is_switch() != link.b.is_switch(), "a cable joins two devices");
    WEFT_CHECK(link.rate_bps > 0 && link.propagation_ps >= 0 && link.fec_latency_ps >= 0, "a cable that can be");
  }
  for (const FaultConfig& fault : lab.faults) {
    check_port(lab, fault.from);
    WEFT_CHECK(fault.rule.end_ps > fault.rule.start_ps, "a fault that lasts");
  }
  for (const WorkloadConfig& workload : lab.workloads) {
    check_port(lab, workload.client);
    check_port(lab, workload.server);
    const bool has_metrics =
        std::visit([](const auto& options) { return !metric_names(options).empty(); }, workload.options);
    WEFT_CHECK(has_metrics, "a workload measures something");
  }
}

void check_problems(const std::vector<Problem>& problems) {
  WEFT_CHECK(!problems.empty(), "a refusal has a reason");
  int line = 0;
  for (const Problem& problem : problems) {
    WEFT_CHECK(!problem.message.empty(), "a problem says what is wrong");
    if (problem.where.empty()) {
      WEFT_CHECK(problem.line >= line && problem.line > 0 && problem.column > 0, "problems are in line order");
      line = problem.line;
    }
    (void)format_problem("lab.yaml", problem);
  }
}

}  // namespace

std::size_t weft::fuzz::mutate_lab(std::uint8_t* data, std::size_t size, std::size_t room, unsigned seed) {
  static YamlNode donor;  // the last lab before this one
  ProblemList problems;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  auto root = parse_yaml(input.substr(0, input.find('\0')), problems);
  if (!root || seed % 2 == 0) return LLVMFuzzerMutate(data, size, room);
  weft::RandomStream random(seed, 0, weft::RandomPurpose::kTest);
  weft::support::LabMutator mutator(*root, donor.is_null() ? *root : donor);
  mutator.change(random);
  donor = std::move(*root);
  const std::string text = mutator.text();
  if (text.size() > room) return LLVMFuzzerMutate(data, size, room);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

int weft::fuzz::lab_fuzz(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != std::string_view::npos;
       input.remove_prefix(end == std::string_view::npos ? 0 : end + 1)) {
    end = input.find('\0');
    parts.emplace_back(input.substr(0, end));
  }
  const std::vector<std::string> overrides(parts.begin() + 1, parts.end());
  const auto lab = read_lab(parts[0], "lab.yaml", overrides);
  if (lab) {
    check_lab(*lab);
    (void)knobs_of(*lab, parts[0]);
  } else {
    check_problems(lab.error());
  }
  return 0;
}
