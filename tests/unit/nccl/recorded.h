// What real NCCL posted, read from tests/interop/nccl-schedules.txt (docs/nccl.md says how it was recorded).
#pragma once

#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/decide/environment.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {

struct Run {
  std::uint64_t times = 0, size_B = 0;
  friend bool operator==(const Run&, const Run&) = default;
};
using Sizes = std::vector<Run>;  // of messages in order, equal ones together

inline void add_message(Sizes& sizes, std::uint64_t size_B) {
  if (sizes.empty() || sizes.back().size_B != size_B) sizes.push_back({0, size_B});
  ++sizes.back().times;
}

inline std::string to_text(const Sizes& sizes) {
  std::string text;
  for (const Run& run : sizes) {
    if (!text.empty()) text += ' ';
    if (run.times > 1) text += std::to_string(run.times) + 'x';
    text += std::to_string(run.size_B);
  }
  return text;
}

struct Connection {
  std::uint32_t source = 0, target = 0, channel = 0, queue_pair = 0;
  friend auto operator<=>(const Connection&, const Connection&) = default;
};

struct Recorded {
  std::uint32_t ranks = 0;
  std::vector<Variable> variables;
  std::string collective;  // as nccl-tests calls it: "all_reduce"
  std::uint64_t count = 0;
  std::uint32_t root = 0;
  std::string algorithm, protocol;  // "RING", "LL"; "P2P" and nothing
  std::uint32_t channels = 0;       // 0 of sends and receives
  std::map<Connection, Sizes> messages;
  // Its channels were found by the order of queue pairs alone: they may be one another.
  bool unsure = false;

  std::string name() const {
    std::string text = std::to_string(ranks) + " ranks";
    for (const Variable& variable : variables) text += " " + variable.name + "=" + variable.value;
    return text + " " + collective + " count " + std::to_string(count) + " root " + std::to_string(root);
  }
  std::string variable(std::string_view name) const {
    for (const Variable& each : variables) {
      if (each.name == name) return each.value;
    }
    return {};
  }
};

namespace recorded {

inline std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

inline std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

// "0-3,5", or "0.0,0.1": channel and queue pair.
inline std::vector<std::pair<std::uint32_t, std::uint32_t>> channels(const std::string& text) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dot = part.find('.'), dash = part.find('-');
    const auto first = static_cast<std::uint32_t>(number(part));
    if (dot != std::string::npos) {
      found.emplace_back(first, static_cast<std::uint32_t>(number(std::string_view(part).substr(dot + 1))));
      continue;
    }
    const std::uint64_t last = dash == std::string::npos ? first : number(std::string_view(part).substr(dash + 1));
    for (std::uint32_t channel = first; channel <= last; ++channel) found.emplace_back(channel, 0);
  }
  return found;
}

inline Sizes sizes(const std::string& text) {
  Sizes sizes;
  for (const std::string& part : split(text, ' ')) {
    if (part.empty()) continue;
    const std::size_t x = part.find('x');
    if (x == std::string::npos) {
      sizes.push_back({1, number(part)});
    } else {
      sizes.push_back({number(part), number(std::string_view(part).substr(x + 1))});
    }
  }
  return sizes;
}

}  // namespace recorded

// The machines of the recording as NCCL saw them: an H200 without NVLink and a NIC at root ports of one Intel
// CPU, no GPUDirect.
inline Cluster recorded_cluster(std::uint32_t ranks) {
  Machine machine = plain_machine(1, {{"gpu0", -1, 0, 5, 16}, {"nic0", -1, 0, 3, 16}});
  machine.cpu_kind = "intel-emerald-rapids";
  machine.gpu_fabric = "none";
  machine.places.gpudirect = false;
  machine.places.gpus.push_back({gpu_model("h200"), machine.layout.slot("gpu0")});
  Nic nic;
  nic.name = "mlx5_0";
  nic.interface = "p0";
  nic.address = "10.0.0.1";
  nic.rate_bps = 100'000'000'000;
  nic.slot = machine.layout.slot("nic0");
  machine.nics.push_back(nic);
  return cluster_of(ranks, machine);
}

inline std::vector<Recorded> read_recorded(const std::string& path) {
  std::ifstream file(path);
  std::vector<Recorded> cases;
  Recorded plain;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("  ")) {
      const std::size_t colon = line.find(": ");
      std::string pairs, channels;
      std::istringstream(line.substr(0, colon)) >> pairs >> channels;
      if (channels.front() == '?') {
        cases.back().unsure = true;
        channels.erase(0, 1);
      }
      const Sizes sizes = recorded::sizes(line.substr(colon + 2));
      for (const std::string& pair : recorded::split(pairs, ',')) {
        const auto source = static_cast<std::uint32_t>(recorded::number(pair));
        const auto target =
            static_cast<std::uint32_t>(recorded::number(std::string_view(pair).substr(pair.find('>') + 1)));
        for (const auto& [channel, queue_pair] : recorded::channels(channels))
          cases.back().messages[{source, target, channel, queue_pair}] = sizes;
      }
    } else if (line.starts_with("ranks ")) {
      plain = {};
      words >> word >> plain.ranks;
      while (words >> word)
        plain.variables.push_back({word.substr(0, word.find('=')), word.substr(word.find('=') + 1)});
    } else {
      Recorded next = plain;
      words >> next.collective >> word >> next.count >> word >> next.root >> word >> next.algorithm >> next.protocol;
      if (words >> word)
        next.channels = static_cast<std::uint32_t>(recorded::number(word.substr(word.find('-') + 1))) + 1;
      cases.push_back(std::move(next));
    }
  }
  return cases;
}

}  // namespace weft::nccl
