#include "nccl/decide/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/nearest.h"
#include "nccl/decide/environment_table.h"

namespace weft::nccl {

namespace {

constexpr std::string_view kFunctionNames[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
constexpr std::string_view kAlgorithmNames[] = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                "NVLSTree", "PAT"};
constexpr std::string_view kProtocolNames[] = {"LL", "LL128", "Simple"};

// As strtok does: empty parts do not count.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

// "ring,tree;allreduce:^tree": allowed elements, for all functions and then for some. Returns what is wrong with it.
template <std::size_t N>
std::string read_allowed(std::string_view text, std::span<const std::string_view> elements,
                         std::array<std::array<std::uint8_t, N>, kFunctions>& allowed) {
  const std::vector<std::string_view> entries = split(text, ';');
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::vector<std::string_view> halves = split(entries[i], ':');
    if (halves.empty()) continue;
    const bool has_function = halves.size() > 1;
    if (!has_function && i > 0) return "all entries but the first need a function and a colon before them";
    std::string_view list = has_function ? halves[1] : halves[0];
    const bool all_but = list.front() == '^';
    if (all_but) list.remove_prefix(1);
    bool found = false;
    for (std::size_t f = 0; f < kFunctions; ++f) {
      if (has_function && !same_word(halves[0], kFunctionNames[f])) continue;
      found = true;
      allowed[f].fill(all_but ? 1 : 0);
      for (std::string_view name : split(list, ',')) {
        const auto element =
            std::ranges::find_if(elements, [&](std::string_view each) { return same_word(each, name); });
        if (element == elements.end()) return fmt::format("{} is not one of {}", name, fmt::join(elements, ", "));
        allowed[f][static_cast<std::size_t>(element - elements.begin())] = all_but ? 0 : 1;
      }
    }
    if (!found) return fmt::format("{} is not one of {}", halves[0], fmt::join(kFunctionNames, ", "));
  }
  return {};
}

// NCCL's numbers of the old days, 0 to 5, or a name.
std::optional<PathType> read_level(const std::string& text) {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(PathType::kSys); ++i) {
    if (text == to_string(static_cast<PathType>(i))) return static_cast<PathType>(i);
  }
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  constexpr PathType kOld[] = {PathType::kLoc, PathType::kPix, PathType::kPxb,
                               PathType::kPhb, PathType::kSys, PathType::kSys};
  const long number = std::strtol(text.c_str(), nullptr, 0);
  return kOld[std::clamp<long>(number, 0, 5)];
}

class Reader {
 public:
  Reader(std::size_t variable, ParsedEnvironment& parsed) : variable_(variable), parsed_(parsed) {}

  void read(const Variable& variable) {
    const auto rules = variable_rules();
    const auto rule = std::ranges::find(rules, variable.name, &VariableRule::name);
    if (rule == rules.end()) {
      unknown(variable.name);
      return;
    }
    parsed_.environment.given.emplace_back(variable.name, variable.value);
    Environment& environment = parsed_.environment;
    if (const auto* text = std::get_if<std::string Environment::*>(&rule->member)) {
      environment.*(*text) = variable.value;
      check_words(variable);
    } else if (const auto* number = std::get_if<std::int64_t Environment::*>(&rule->member)) {
      if (const auto value = integer(variable, rule->least, rule->most)) environment.*(*number) = *value;
    } else if (const auto* flag = std::get_if<bool Environment::*>(&rule->member)) {
      if (const auto value = integer(variable, INT64_MIN, INT64_MAX)) environment.*(*flag) = *value != 0;
    } else {
      special(variable);
    }
  }

 private:
  void add(bool error, std::string message, std::string remedy) {
    parsed_.problems.push_back({variable_, error, std::move(message), std::move(remedy)});
  }

  void unknown(const std::string& name) {
    const auto others = other_variables();
    if (std::ranges::find(others, name) != others.end()) {
      add(false, fmt::format("{} is not modelled and changes nothing", name),
          "docs/mechanisms/nccl.md lists the variables that mean something");
      return;
    }
    std::vector<std::string_view> names(others.begin(), others.end());
    for (const VariableRule& rule : variable_rules()) names.push_back(rule.name);
    add(false, fmt::format("NCCL has no variable {}", name), did_you_mean(name, names, "variables"));
  }

  void check_words(const Variable& variable) {
    constexpr std::string_view kLevels[] = {"VERSION", "WARN", "INFO", "ABORT", "TRACE"};
    constexpr std::string_view kNets[] = {"IB", "Socket"};
    const auto knows = [&](std::span<const std::string_view> words) {
      return variable.value.empty() ||
             std::ranges::any_of(words, [&](std::string_view word) { return same_word(word, variable.value); });
    };
    if (variable.name == "NCCL_DEBUG" && !knows(kLevels))
      add(false, fmt::format("NCCL_DEBUG: NCCL has no level {}", variable.value), "write VERSION, WARN or INFO");
    if (variable.name == "NCCL_NET" && !knows(kNets))
      add(true, fmt::format("NCCL_NET: there is no network plugin {}", variable.value), "write IB or Socket");
  }

  std::optional<std::int64_t> integer(const Variable& variable, std::int64_t least, std::int64_t most) {
    if (variable.value.empty()) return std::nullopt;  // as if it were not set
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(variable.value.c_str(), &end, 0);
    if (errno != 0) {
      add(false, fmt::format("{}: {} does not fit in 64 bits; NCCL takes the default", variable.name, variable.value),
          "write a smaller number");
      return std::nullopt;
    }
    if (*end != '\0')
      add(false, fmt::format("{}: NCCL reads {} as {}", variable.name, variable.value, value),
          "write a whole number without a unit");
    if (value < least || value > most) {
      add(true, fmt::format("{} is {}", variable.name, value), fmt::format("write {} to {}", least, most));
      return std::nullopt;
    }
    return value;
  }

  void special(const Variable& variable) {
    Environment& environment = parsed_.environment;
    if (variable.name == "NCCL_ALGO") {
      environment.algo = variable.value;
      environment.algo_set = true;
      allowed(variable, read_allowed<kModelAlgorithms>(variable.value, kAlgorithmNames, environment.algorithms));
    } else if (variable.name == "NCCL_PROTO") {
      environment.proto = variable.value;
      environment.proto_set = true;
      allowed(variable, read_allowed<kProtocols>(variable.value, kProtocolNames, environment.protocols));
    } else if (variable.name == "NCCL_P2P_DISABLE") {
      if (integer(variable, INT64_MIN, INT64_MAX) == 1) environment.p2p_level = PathType::kLoc;
    } else if (variable.name == "NCCL_P2P_LEVEL" || variable.name == "NCCL_NET_GDR_LEVEL") {
      level(variable, variable.name == "NCCL_P2P_LEVEL" ? environment.p2p_level : environment.net_gdr_level);
    } else if (variable.name == "NCCL_THREAD_THRESHOLDS") {
      const std::vector<std::string_view> numbers = split(variable.value, ' ');
      for (std::size_t i = 0; i < std::min(numbers.size(), environment.thread_thresholds.size()); ++i)
        environment.thread_thresholds[i] = std::strtol(std::string(numbers[i]).c_str(), nullptr, 10);
    }
  }

  void allowed(const Variable& variable, const std::string& wrong) {
    if (!wrong.empty())
      add(true, fmt::format("{}: {}", variable.name, wrong), "write e.g. Ring, ^Tree, allreduce:tree or LL,Simple");
  }

  void level(const Variable& variable, std::optional<PathType>& to) {
    if (const auto read = read_level(variable.value)) {
      to = read;
    } else {
      add(false, fmt::format("{}: NCCL does not know {} and takes the default", variable.name, variable.value),
          "write LOC, NVL, PIX, PXB, PHB or SYS");
    }
  }

  std::size_t variable_;
  ParsedEnvironment& parsed_;
};

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

Environment::Environment() {
  for (auto& row : algorithms) row.fill(1);
  for (auto& row : protocols) row = {1, 2, 1};
}

std::string_view to_string(Function function) {
  return kFunctionNames[static_cast<std::size_t>(function)];
}

std::string_view to_string(ModelAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

namespace {

// A port's table is as Linux makes it: the link-local address and its own, each as RoCE v1 and v2. NCCL takes an index
// as it is, without a look at its type.
void check_gid_index(std::span<const Variable> variables, ParsedEnvironment& parsed) {
  constexpr std::int64_t kOwnV2 = 3;
  const std::int64_t index = parsed.environment.ib_gid_index;
  if (index < 0 || index == kOwnV2 || parsed.environment.ib_disable) return;
  std::size_t variable = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == "NCCL_IB_GID_INDEX") variable = i;
  }
  const std::string name = fmt::format("NCCL_IB_GID_INDEX={}", index);
  const std::string remedy = "write 3, RoCE v2 of the port's address, or leave it out: NCCL finds it by itself";
  if (index > kOwnV2) {
    parsed.problems.push_back(
        {variable, true,
         name + " is an empty entry of the GID table, which has 0 to 3: NCCL fails in ibv_modify_qp (to RTR)", remedy});
  } else if (index % 2 == 0) {
    parsed.problems.push_back({variable, true,
                               name +
                                   " is RoCE v1: NCCL would use it, without IP, so that no router forwards it and no "
                                   "DSCP says its class; Weft has RoCE v2",
                               remedy});
  } else {
    parsed.problems.push_back({variable, false,
                               name + " is the link-local address, which no router forwards; Weft's packets have the "
                                      "port's own",
                               remedy});
  }
}

}  // namespace

ParsedEnvironment parse_environment(std::span<const Variable> variables) {
  ParsedEnvironment parsed;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name.starts_with("NCCL_")) Reader(i, parsed).read(variables[i]);
  }
  // NCCL_P2P_DISABLE=1 goes before NCCL_P2P_LEVEL, in whichever order they stand.
  for (const Variable& variable : variables) {
    if (variable.name == "NCCL_P2P_DISABLE" && std::strtoll(variable.value.c_str(), nullptr, 0) == 1)
      parsed.environment.p2p_level = PathType::kLoc;
  }
  check_gid_index(variables, parsed);
  return parsed;
}

std::span<const VariableInfo> known_variables() {
  static const std::vector<VariableInfo> all = [] {
    std::vector<VariableInfo> list;
    for (const VariableRule& rule : variable_rules()) list.push_back({rule.name, Modelled::kYes, rule.meaning});
    for (std::string_view name : other_variables()) list.push_back({name, Modelled::kNo, {}});
    return list;
  }();
  return all;
}

bool name_matches(std::string_view list, std::string_view name, std::uint32_t port) {
  const bool all_but = list.starts_with('^');
  if (all_but) list.remove_prefix(1);
  const bool whole = list.starts_with('=');
  if (whole) list.remove_prefix(1);
  const std::vector<std::string_view> entries = split(list, ',');
  if (entries.empty()) return true;
  for (std::string_view entry : entries) {
    const std::vector<std::string_view> parts = split(entry, ':');
    if (parts.empty()) continue;
    const bool same = whole ? name == parts[0] : name.starts_with(parts[0]);
    const bool any_port = port == 0 || parts.size() < 2;
    if (same && (any_port || std::strtol(std::string(parts[1]).c_str(), nullptr, 10) == port)) return !all_but;
  }
  return all_but;
}

}  // namespace weft::nccl
