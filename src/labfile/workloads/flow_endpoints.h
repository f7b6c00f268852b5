// Inside the lab reader: the ports between which flows run, in the order in which the lab file names them.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "labfile/sections.h"

namespace weft::lab {

class FlowEndpoints {
 public:
  FlowEndpoints(std::vector<PortRef>& ports, LabContext& context)
      : ports_(ports), context_(context), problems_(context.problems) {}

  // all, a list, or "h0..h15".
  void read_hosts(const YamlNode& node);
  // Index of the only port with a cable of a host, or of the port that is named; UINT32_MAX when it was reported.
  std::uint32_t one(std::string_view text, const Place& place);
  std::uint32_t count() const { return static_cast<std::uint32_t>(ports_.size()); }
  const std::vector<const PortState*>& states() const { return states_; }

 private:
  // Every port of the host with a cable, or the one that is named.
  std::vector<std::uint32_t> all_of(std::string_view text, const Place& place);
  std::uint32_t index_of(const PortState& port);
  void read_host_names(const YamlNode& node);

  std::vector<PortRef>& ports_;
  LabContext& context_;
  ProblemList& problems_;
  std::map<std::uint64_t, std::uint32_t> indices_;
  std::vector<const PortState*> states_;
};

}  // namespace weft::lab
