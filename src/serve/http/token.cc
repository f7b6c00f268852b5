#include "serve/http/token.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <cstdint>

namespace weft::serve {

std::string make_token() {
  std::uint8_t bytes[16];
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) return {};
  std::string text;
  for (std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool same_secret(std::string_view a, std::string_view b) {
  std::size_t differs = a.size() ^ b.size();
  for (std::size_t i = 0; i < a.size() && !b.empty(); ++i)
    differs |= static_cast<std::size_t>(a[i] ^ b[i % b.size()]) & 0xff;
  return differs == 0;
}

bool is_loopback(std::string_view address) {
  const std::string text(address);
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, text.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return address == "localhost";
}

}  // namespace weft::serve
