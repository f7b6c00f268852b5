// The counters of a run, or of a world that is up, as the tools of its devices print them: ethtool -S and rdma
// statistic for a NIC, SONiC's show commands and the What Just Happened table for a switch, ethtool -S
// and tc -s qdisc for a software forwarder. Reads results.json; only
// what is modelled is shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::lab {

enum class CounterStyle : unsigned char { kEthtool, kRdma, kSonic, kWjh, kTc };
std::optional<CounterStyle> counter_style(std::string_view name);  // "ethtool"

struct CountersProblem {
  std::string message;
  std::string remedy;
};

// `where` is "h0", "h0:p0", "leaf0" or "leaf0:swp1". Without a style: ethtool for hosts, sonic for switches, tc for
// forwarders. As JSON: what results.json has of it.
tl::expected<std::string, CountersProblem> counters_text(const std::string& directory, const std::string& where,
                                                         std::optional<CounterStyle> style, bool json);
// The same of the text of a results.json; `whole` is what it is of: "this run".
tl::expected<std::string, CountersProblem> counters_of(const std::string& results, std::string_view whole,
                                                       const std::string& where, std::optional<CounterStyle> style,
                                                       bool json);

}  // namespace weft::lab
