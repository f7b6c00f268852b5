// Environment of a program on a node: the variables by which the preloaded library finds its world, and
// the libraries themselves, first in the loader's paths. `weft exec` and the programs of a lab file use the same.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "verbs/protocol.h"

namespace weft::live {

// The folder with libweft.so: lib/weft beside this executable in the build tree, ../lib/weft where it is installed.
tl::expected<std::string, std::string> library_directory();

// Whether the kernel lets a program's reads of the CPU's counter be answered. Where it does not, a program that reads
// it directly would mix real time with virtual: such a world can only run in wall-clock mode.
bool can_trap_counter();

// Names and values to set; those of the loader come before what is set already.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables program_variables(const std::string& libraries, const std::string& socket, const std::string& sysfs,
                            const std::string& node, verbs::Clock clock);

}  // namespace weft::live
