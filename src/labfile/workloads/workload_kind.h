// Inside the lab reader: the functions that each kind of workload (workload/kinds.h) has, in a file of its own, and
// what they share.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "labfile/sections.h"
#include "model/port_pairs.h"
#include "model/workload_metrics.h"
#include "text/units.h"
#include "text/yaml_walk.h"

namespace weft::lab {

// A workload while it is read.
class WorkloadReading {
 public:
  WorkloadReading(const MapReader& keys, WorkloadConfig& config, LabContext& lab)
      : map(keys), workload(config), context(lab), problems(lab.problems) {}

  const MapReader& map;
  WorkloadConfig& workload;
  LabContext& context;
  ProblemList& problems;

  // client and server. True when they reach each other over one cable or over switches, and it is clear by which ports;
  // where several pairs do, those that `prefers` names come first.
  bool read_ends(const std::function<bool(const PortPair&)>& prefers = {});
  std::uint32_t path_mtu_B() const;  // between them
  // dscp and priority of a workload with two ends.
  void read_class();
  // numactl and gpu of a workload with two ends (places.cc).
  void read_placement();
  void read_placement(std::span<const PortRef> ports);  // of flows between these
  // cpus: one for both ends, or [client, server].
  void read_cpus();
  // One end's programs run on that CPU of its node; false: it has none.
  bool bind_end(std::string_view what, const YamlNode& node, const PortRef& end, std::uint32_t cpu,
                std::optional<host::Placement>& placement);
  // cpu: what else the machines of both ends do (cpu.cc).
  void read_load();
  // READ under an algorithm that does not control it.
  void warn_of_read(const YamlNode& node);

 private:
  struct End;

  End read_end(std::string_view key);
  std::vector<const PortState*> ports_of(const End& end) const;
  bool is_switched(const End& end, const PortRef& ref) const;
  std::vector<PortPair> pairs_of(const End& client, const End& server) const;
  void report_not_one(const std::vector<PortPair>& pairs, const End& client, const End& server);
  bool read_function(const End& end, const PortRef& ref, std::uint32_t& target);
};

// For each kind: its keys beside `name` and `start`; why another key does not fit; its reader, which is given the value
// of the kind's own key; and what is wrong with a metric that is expected of it.
#define WEFT_DECLARE(Options, Outcome)                                                                     \
  const Section& kind_keys(std::type_identity<workload::Options>);                                         \
  std::string_view misfit(std::type_identity<workload::Options>, std::string_view key);                    \
  void read_kind(std::type_identity<workload::Options>, const YamlNode& node, WorkloadReading& reading);   \
  std::vector<TextError> metric_problems(const workload::Options& options, const WorkloadConfig& workload, \
                                         std::string_view metric);
WEFT_WORKLOAD_KINDS(WEFT_DECLARE)
#undef WEFT_DECLARE

// Of a kind whose metrics are plain names: not one of them, or a size after it.
std::vector<TextError> plain_metric_problems(const WorkloadConfig& workload, const std::vector<std::string_view>& names,
                                             std::string_view metric);
TextError size_after_metric(std::string_view metric);

}  // namespace weft::lab
