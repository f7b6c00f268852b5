// weft inspect: the script that collects a host's state (inspect.sh, part of the binary), and its run on this host.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::gear {

std::string_view inspect_script();
// The bundle; the error is a reason.
tl::expected<std::string, std::string> inspect_this_host();

}  // namespace weft::gear
