// perftest's command line: ib_{write,read,send,atomic}_{bw,lat} with their own flags, defaults and
// refusals ([perftest]; 4.5 as Debian 12 ships it). The lab file and `weft perftest` share it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace weft::workload {

enum class PerftestVerb : std::uint8_t { kWrite, kRead, kSend, kAtomic };
enum class RateUnits : std::uint8_t { kGbps, kMiBps, kPps };
enum class AtomicKind : std::uint8_t { kFetchAdd, kCompareSwap };

struct PerftestOptions {
  static constexpr std::string_view kKey = "perftest";  // in the lab file
  static constexpr std::string_view kExample = "write_bw";

  PerftestVerb verb = PerftestVerb::kWrite;
  bool latency = false;
  std::vector<std::string> words;  // the flags as given, for the record

  std::uint64_t size_B = 65536;  // -s; 65536 for bandwidth, 2 for latency, always 8 for atomics
  bool all_sizes = false;        // -a: 2 .. 2^23
  std::uint64_t iterations = 0;  // -n; 5000 for write_bw, else 1000
  std::uint32_t duration_s = 0;  // -D; 0 = by iterations
  std::uint32_t margin_s = 0;    // -f, or duration / 4: not counted at either end
  bool bidirectional = false;    // -b
  std::uint32_t qps = 1;         // -q
  std::uint32_t tx_depth = 128;  // -t; 1 for latency
  std::uint32_t rx_depth = 512;  // -r
  std::uint32_t cq_mod = 100;    // -Q; 1 when size > 8192 and not -a, never above tx_depth
  bool cq_mod_given = false;
  std::uint32_t post_list = 1;                 // -l
  std::uint32_t inline_B = 0;                  // -I; write_lat 220, send_lat 236 (UD 188), bandwidth 0
  std::uint32_t outstanding_reads = 16;        // -o
  std::uint32_t mtu_B = 0;                     // -m; 0 = the port's active MTU
  std::uint32_t qp_timeout = 14;               // -u
  std::optional<std::uint32_t> traffic_class;  // --tclass; none: the lab's QoS
  std::optional<std::uint32_t> service_level;  // -S; none: the lab's QoS
  std::string device;                          // -d, of the client; empty: any
  std::optional<std::uint32_t> gpu;            // --use_cuda=N, --use_rocm=N: payload is in its memory, at both ends
  bool rocm = false;
  bool dmabuf = false;                        // --use_cuda_dmabuf, --use_rocm_dmabuf
  bool relaxed_ordering = true;               // --disable_pcie_relaxed
  AtomicKind atomic = AtomicKind::kFetchAdd;  // -A
  double rate_limit = 0;                      // --rate_limit with --rate_limit_type=SW; 0: none
  RateUnits rate_units = RateUnits::kGbps;    // --rate_units
  std::uint32_t burst_size = 0;               // --burst_size, messages; without it tx_depth
  bool ud = false;                            // -c UD (send only)
  bool report_gbits = false;                  // --report_gbits
  bool no_peak = false;                       // -N, implied above 20000 iterations and by -D
  bool report_unsorted = false;               // -U (latency)
  bool report_histogram = false;              // -H (latency)
  std::string out_json_file;                  // --out_json / --out_json_file=
};

// `test` is "write_bw", "ib_write_bw" …. On failure every problem is returned, one line each, with a remedy.
tl::expected<PerftestOptions, std::vector<std::string>> parse_perftest(std::string_view test,
                                                                       std::span<const std::string> words);
// With a rate limit: the time from the first message of a burst to that of the next. perftest counts bursts in a
// second, and whole ones only; 0 where that is none.
std::int64_t burst_interval_ps(const PerftestOptions& options, std::uint64_t size_B);
// "write_bw"
std::string perftest_name(const PerftestOptions& options);
// Splits as a shell would without expansions: blanks, single and double quotes.
std::vector<std::string> split_words(std::string_view line);

}  // namespace weft::workload
