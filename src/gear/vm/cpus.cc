#include "gear/vm/cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weft::gear {

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<CpuList> parse_cpus(std::string_view text) {
  CpuList cpus;
  std::vector<bool> seen(kMaxCpus);
  text = stripped(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view range = stripped(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t dash = range.find('-');
    const auto first = parse_count(range.substr(0, dash), kMaxCpus - 1);
    const auto last = dash == range.npos ? first : parse_count(range.substr(dash + 1), kMaxCpus - 1);
    if (!first || !last || *last < *first) return std::nullopt;
    for (std::uint32_t cpu = *first; cpu <= *last; ++cpu) {
      if (seen[cpu]) return std::nullopt;
      seen[cpu] = true;
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::string cpus_text(CpuList cpus) {
  std::sort(cpus.begin(), cpus.end());
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace weft::gear
