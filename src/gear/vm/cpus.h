// Lists of CPUs as Linux writes them: "2-7,34-39".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::gear {

inline constexpr std::uint32_t kMaxCpus = 8192;  // the most that Linux is built for

using CpuList = std::vector<std::uint32_t>;

// In the order of the text, as cpulist files have it; nothing when it is no list, or names a CPU twice.
std::optional<CpuList> parse_cpus(std::string_view text);
// Sorted, neighbours as ranges.
std::string cpus_text(CpuList cpus);
// A whole number in decimal, no sign and no spaces.
std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t most);
std::string_view stripped(std::string_view text);

}  // namespace weft::gear
