// What software forwarders counted, in the words of ethtool -S, tc -s qdisc and /proc/net/softnet_stat.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/run_result.h"
#include "store/json_text.h"
#include "store/sqlite_file.h"

namespace weft::lab {

// Of the report; empty without forwarders.
std::string forwarder_section(const RunResult& result);
// Members of a port's object in results.json: "ethtool" and "qdisc".
void add_forwarder_port(store::JsonText& j, const ForwarderPortOutcome& port);
void write_forwarders(store::SqliteFile& file, const RunResult& result);
// A metric of one port: "rx_out_of_buffer", "qdisc_marked"; nothing when it is none of these.
std::optional<std::uint64_t> forwarder_value(std::string_view metric, const fabric::ForwarderPortCounters& port);
// "red limit 2000000b min 50000b max 200000b ecn", as tc prints it.
std::string qdisc_text(const fabric::QdiscConfig& qdisc);

}  // namespace weft::lab
