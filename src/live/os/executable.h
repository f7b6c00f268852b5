// Properties of a program file for the loader: whether it takes preloaded libraries at all. One that is linked
// statically does not; one that gains rights (setuid, file capabilities) does not either, unless it is run from a copy
// without them.
#pragma once

#include <optional>
#include <string>

namespace weft::live {

// Path of a program, as execvp finds it; empty: nowhere.
std::string find_program(const std::string& name);

bool is_static_program(const std::string& path);
// It would gain rights when this user runs it, so that the loader ignores LD_PRELOAD.
bool gains_rights(const std::string& path);
// A copy in `directory`, which is made, that anybody runs with his own rights. Nothing when the file cannot be read.
std::optional<std::string> copy_without_rights(const std::string& path, const std::string& directory);

}  // namespace weft::live
