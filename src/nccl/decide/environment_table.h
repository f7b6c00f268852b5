// The variables that NCCL reads, as a table. Of environment.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "nccl/decide/environment.h"

namespace weft::nccl {

struct VariableRule {
  std::string_view name;
  // Where its value goes; monostate: it has a syntax of its own.
  std::variant<std::monostate, std::int64_t Environment::*, bool Environment::*, std::string Environment::*> member;
  std::int64_t least = 0, most = 0;  // of a number
  std::string_view meaning;
};

std::span<const VariableRule> variable_rules();
std::span<const std::string_view> other_variables();  // NCCL reads them; nothing here is changed by them

}  // namespace weft::nccl
