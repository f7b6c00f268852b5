// The lab that a run was made from, read again from its directory.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "model/lab.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

// The error is the reason why it cannot be read: its files may have been in another place.
tl::expected<lab::Lab, std::string> lab_of_run(const OpenRun& run);

}  // namespace weft::serve
