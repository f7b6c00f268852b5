// The secret that a server which other machines can reach asks for.
#pragma once

#include <string>
#include <string_view>

namespace weft::serve {

// 128 random bits of the kernel as 32 hexadecimal digits; empty when the kernel has none.
std::string make_token();
// In a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b);
// True of 127.0.0.0/8, ::1 and localhost: only this machine's users can reach it.
bool is_loopback(std::string_view address);

}  // namespace weft::serve
