// NCCL's environment variables, read as NCCL reads them: numbers by strtoll in any base, lists, levels by name or
// number, `^` and `=` before lists of names. Defaults are those of NCCL 2.30. Which variables mean something here, and
// which NCCL has and Weft does not model, is one table (environment_table.cc); docs/mechanisms/nccl.md shows it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/nccl_environment.h"

namespace weft::nccl {

struct Variable {
  std::string name, value;
};

struct EnvironmentProblem {
  std::size_t variable = 0;  // which of those given
  bool error = false;        // NCCL would end with an error too, or the meaning cannot be given; else a warning
  std::string message, remedy;
};

struct ParsedEnvironment {
  Environment environment;
  std::vector<EnvironmentProblem> problems;
};

// "2.18.3" as ncclGetVersion gives it, 21803; none: not a version from 2.18 to 2.30.
std::optional<std::uint32_t> parse_version(std::string_view text);
std::string version_text(std::uint32_t version);

// Names that do not begin with NCCL_ are left alone.
ParsedEnvironment parse_environment(std::span<const Variable> variables);

enum class Modelled : std::uint8_t { kYes, kNo };
struct VariableInfo {
  std::string_view name;
  Modelled modelled = Modelled::kNo;
  std::string_view meaning;  // of those that are modelled
};
std::span<const VariableInfo> known_variables();

// Does a list of names, with `^` (all but these) and `=` (whole names, else beginnings), take this name? An empty list
// takes all. Ports may be given: "mlx5_0:1".
bool same_word(std::string_view a, std::string_view b);  // in either case
bool name_matches(std::string_view list, std::string_view name, std::uint32_t port);

}  // namespace weft::nccl
