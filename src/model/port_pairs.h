// Which ports of hosts reach each other, over one cable or over switches, and which two of them a test between two
// hosts runs on. The lab file's workloads and `weft perftest` choose alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "model/lab.h"

namespace weft::lab {

// Ports of hosts with the same segment number reach each other.
class Segments {
 public:
  Segments() = default;
  explicit Segments(const Lab& lab);
  // Of a host's port at one end of a link.
  std::uint32_t of(const Lab& lab, std::size_t link, const PortRef& port) const;
  std::uint32_t of_switch(std::size_t index) const { return switch_component_[index]; }
  // Behind switches, rather than one bare cable.
  bool is_switched(std::uint32_t segment) const { return segment < switch_component_.size(); }
  std::size_t switched_count() const { return switch_component_.size(); }

 private:
  std::vector<std::uint32_t> switch_component_;  // by switch: equal where cables join them
};

struct PortPair {
  PortRef client, server;
  std::uint32_t client_function = 0, server_function = 0;  // PCIe functions
  friend bool operator==(const PortPair&, const PortPair&) = default;
};

struct PairProblem {
  std::string message;
  std::string remedy;
};

bool one_subnet(const Lab& lab, const PortPair& pair);
// Address families or VLANs that keep two ports behind switches apart.
std::optional<PairProblem> pair_problem(const Lab& lab, const PortPair& pair);
// The smaller of the two ends' RoCE MTUs.
std::uint32_t path_mtu_B(const Lab& lab, const PortPair& pair);

// "vm00:p0/1" in its three parts; the last two may be absent.
struct EndpointText {
  std::string_view host;
  std::optional<std::string_view> port;
  std::optional<std::string_view> function;
};
EndpointText split_endpoint(std::string_view text);

// The pairs that a test can run on. Ends are written as "vm00", "vm00:p0" or "vm00:p0/1"; an empty one is any host.
class PortPairs {
 public:
  explicit PortPairs(const Lab& lab);

  // The first one: of the hosts in the order of the lab, of the ports of two hosts those in one subnet, otherwise those
  // with the same name, otherwise the first that reach each other.
  tl::expected<PortPair, PairProblem> first(const std::string& client, const std::string& server) const;
  // Every ordered pair of ports. Between two hosts with several ports, those in one subnet if there are any, otherwise
  // those with the same name if there are any.
  tl::expected<std::vector<PortPair>, PairProblem> all(const std::string& client, const std::string& server) const;
  // How many switches the shortest way between them has.
  std::uint32_t switches_between(const PortPair& pair) const;
  // "vm00", or "vm00:p1" where the host has several ports with a cable.
  std::string short_name(const PortRef& port) const;

 private:
  struct End {
    std::vector<std::uint32_t> hosts;
    std::optional<PortRef> port;
    std::uint32_t function = 0;
  };
  struct Cabled {
    PortRef port;
    std::uint32_t segment = 0;
    std::uint32_t first_switch = 0;  // when the segment is switched
  };
  tl::expected<End, PairProblem> read_end(std::string_view option, const std::string& text) const;
  std::optional<PairProblem> read_ends(const std::string& client, const std::string& server, End& from, End& to) const;
  std::vector<PortPair> between(std::uint32_t client, const End& from, std::uint32_t server, const End& to) const;
  PairProblem no_path(const std::string& client, const std::string& server, const End& from, const End& to) const;
  const Cabled& cabled(const PortRef& port) const;

  const Lab& lab_;
  Segments segments_;
  std::vector<std::vector<Cabled>> ports_;              // by host, in the order of NICs and ports
  std::vector<std::vector<std::uint32_t>> neighbours_;  // by switch
};

}  // namespace weft::lab
