// Runs a lab from its start to its end.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "world/session.h"

namespace weft::lab {

// The error names what could not be started or created; what fails later is in the result.
tl::expected<RunResult, std::string> run_lab(const Lab& lab, const SessionOptions& options,
                                             Session::Subscriber subscriber = {});

}  // namespace weft::lab
