#include "serve/guard.h"

#include <utility>

namespace weft::serve {

Guard::Guard(std::string address, std::uint16_t port, std::string token)
    : address_(std::move(address)), token_(std::move(token)), port_(port) {}

bool Guard::is_own_host(const std::string& host) const {
  const std::string port = ":" + std::to_string(port_);
  return host == "127.0.0.1" + port || host == "localhost" + port || host == "[::1]" + port || host == address_ + port;
}

std::optional<Response> Guard::refuse(const Request& request) const {
  const auto host = request.header.find("host");
  if (host == request.header.end() || !is_own_host(host->second))
    return problem(403, "this is not the server's name", "open the address that weft serve has printed");
  const auto origin = request.header.find("origin");
  if (origin != request.header.end() && origin->second != "http://" + host->second)
    return problem(403, "another site asks for this");
  return std::nullopt;
}

void Guard::add_headers(Response& response) const {
  response.header["X-Content-Type-Options"] = "nosniff";
  response.header["Referrer-Policy"] = "no-referrer";
  response.header["Cross-Origin-Resource-Policy"] = "same-origin";
  response.header["Content-Security-Policy"] =
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";
}

}  // namespace weft::serve
