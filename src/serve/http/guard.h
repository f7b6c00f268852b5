// Access control of the server. The page is for the users of this machine: other sites in the same browser must not be
// able to use it. A request therefore needs the server's own name in Host (a name that was made to point to 127.0.0.1
// differs), the server's own origin if it has one, no Sec-Fetch-Site of another site unless it follows a link to a
// view, and JSON in its body, which a form of another site cannot send. A server with a token, which other machines can
// reach, answers to any name, and only requests with the token: in a cookie or as Authorization: Bearer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "serve/http/request.h"

namespace weft::serve {

class Guard {
 public:
  Guard() = default;
  Guard(std::string address, std::uint16_t port, std::string token);

  // Nothing: the request is permitted. A view's address with the right ?token= is answered here, with the cookie and
  // the address without the token.
  std::optional<Response> refuse(const Request& request) const;
  // Headers of every answer: other sites may not frame or read it, and only the page's own script may run.
  void add_headers(Response& response) const;

 private:
  bool is_own_host(const std::string& host) const;
  bool has_token(const Request& request) const;

  std::string address_, token_, cookie_;
  std::uint16_t port_ = 0;
};

}  // namespace weft::serve
