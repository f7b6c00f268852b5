// Who may ask the server. The page is on this machine for its user alone: a site that the same browser shows must not
// be able to use it. So a request needs the server's own name in Host (a name that was made to point to 127.0.0.1 has
// another), the server's own origin where there is one, no Sec-Fetch-Site of another site unless it is a link to a
// view, and JSON in its body, which a form of another site cannot send. A server with a token, which other machines can
// reach, answers to any name, and to those alone who have the token: in a cookie or as Authorization: Bearer.
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

  // Nothing: it may be answered. A view's address with the right ?token= is answered here, with the cookie and the
  // address without it.
  std::optional<Response> refuse(const Request& request) const;
  // What every answer says to the browser: no other site may frame it or read it, no script but ours.
  void add_headers(Response& response) const;

 private:
  bool is_own_host(const std::string& host) const;
  bool has_token(const Request& request) const;

  std::string address_, token_, cookie_;
  std::uint16_t port_ = 0;
};

}  // namespace weft::serve
