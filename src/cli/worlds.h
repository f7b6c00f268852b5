// What the verbs of worlds that are up share: which world is meant, complaints, strings in JSON.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::cli {

// Prints it and returns the exit status of wrong input.
int complain(const std::string& what);

// The world that is meant: the one named, or the only one that is up. The error says which there are.
tl::expected<std::string, std::string> choose_world(const std::string& directory, const std::string& asked);

// In quotes, with what JSON wants escaped; a byte that is not ASCII is written as it is.
std::string json_string(std::string_view text);

}  // namespace weft::cli
