// Text of a filter and its operands; case is ignored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/ipv6.h"

namespace weft::serve {

std::string lower_case(std::string_view text);
// "10.0.0.1" or "fe80::1"; nothing: neither.
std::optional<wire::IpAddress> address_from_text(const std::string& text);

}  // namespace weft::serve
