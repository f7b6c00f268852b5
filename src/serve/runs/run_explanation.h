// The explanation of a run (results/explanation.h), read from its directory.
#pragma once

#include <memory>
#include <string>

#include "results/explanation.h"

namespace weft::serve {

// Explanation of the whole run, without the packet numbers of its capture, which take longer. Throws when the store is
// damaged. Those of the last few runs are kept, because every view of a run needs it.
std::shared_ptr<const lab::Explanation> explanation_of(const std::string& directory);

}  // namespace weft::serve
