#include "serve/packets/filter_text.h"

#include <arpa/inet.h>

#include <algorithm>

namespace weft::serve {

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::optional<wire::IpAddress> address_from_text(const std::string& text) {
  wire::IpAddress address{};
  if (::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  address = {};
  address[10] = address[11] = 0xff;
  if (::inet_pton(AF_INET, text.c_str(), address.data() + 12) == 1) return address;
  return std::nullopt;
}

}  // namespace weft::serve
