// Common part of the verbs of worlds that are up: which world is meant, complaints.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "cli/output.h"

namespace weft::cli {

// Prints it and returns the exit status of wrong input.
int complain(const std::string& what);

// The world that is meant: the one named, or the only one that is up. The error lists the worlds that are up.
tl::expected<std::string, std::string> choose_world(const std::string& directory, const std::string& asked);

}  // namespace weft::cli
