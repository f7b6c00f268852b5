// iperf3's command line (3.16, one thread for each stream): the flags of a TCP client, their defaults and refusals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"

namespace weft::workload {

enum class TcpAlgorithm : std::uint8_t { kCubic, kReno, kDctcp };

struct Iperf3Options {
  static constexpr std::string_view kKey = "iperf3";  // in the lab file
  static constexpr std::string_view kExample = "-t 1";

  std::vector<std::string> words;                       // as given, for the record
  TcpAlgorithm algorithm = TcpAlgorithm::kCubic;        // -C
  Time_ps duration_ps = 10 * kSecond_ps;                // -t
  std::uint64_t total_B = 0;                            // -n, -k; 0: by time
  std::uint32_t parallel = 1;                           // -P
  std::uint32_t block_B = 131072;                       // -l
  std::uint64_t window_B = 0;                           // -w; 0: automatic
  std::uint32_t mss_B = 0;                              // -M; 0: of the MTU
  bool reverse = false;                                 // -R
  Time_ps interval_ps = kSecond_ps;                     // -i; 0: none
  std::uint16_t port = 5201;                            // -p
  char format = 0;                                      // -f
  bool json = false;                                    // -J
  std::optional<std::uint8_t> tos;                      // -S, --dscp
  std::optional<std::uint32_t> client_cpu, server_cpu;  // -A, or the lab's `cpus`
};

// On failure every problem is returned: what is wrong; what to do.
tl::expected<Iperf3Options, std::vector<std::string>> parse_iperf3(std::span<const std::string> words);
std::string_view name(TcpAlgorithm algorithm);

}  // namespace weft::workload
