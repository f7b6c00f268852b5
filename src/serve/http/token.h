// The secret that a server requires if other machines can reach it.
#pragma once

#include <string>
#include <string_view>

namespace weft::serve {

// 128 random bits of the kernel as 32 hexadecimal digits; empty if the kernel provides none.
std::string make_token();
// In constant time.
bool same_secret(std::string_view a, std::string_view b);
// True of 127.0.0.0/8, ::1 and localhost: only this machine's users can reach it.
bool is_loopback(std::string_view address);

}  // namespace weft::serve
