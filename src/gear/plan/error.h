// Mistake in what a user asked a plan for: a file and line where there is one, what, and what to do about it.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace weft::gear {

struct PlanError {
  std::string message;  // "host.txt:14: NUMANode: 9 is not a NUMA node of this machine"
  std::string remedy;
};

template <class Value>
using Planned = tl::expected<Value, PlanError>;

inline tl::unexpected<PlanError> plan_error(std::string message, std::string remedy = "") {
  return tl::unexpected(PlanError{std::move(message), std::move(remedy)});
}

}  // namespace weft::gear
