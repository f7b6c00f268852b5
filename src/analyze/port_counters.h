// Counters of a port as ethtool -S, rdma statistic or the files of hw_counters print them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::analyze {

using Counters = std::map<std::string, std::uint64_t, std::less<>>;
// Any text with "name: value" or "name value" pairs; what is no number is passed over. No counter at all is an error.
tl::expected<Counters, std::string> read_counters(std::string_view text);

struct PortCounters {
  std::string address;  // "10.0.0.1"
  std::string file;     // for messages
  Counters counters;    // since the capture began
};
// ADDRESS=AFTER, or ADDRESS=AFTER,BEFORE: the difference of two readings. The error says which file and why.
tl::expected<PortCounters, std::string> read_port_counters(const std::string& argument);

}  // namespace weft::analyze
