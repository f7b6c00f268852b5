#include "serve/http/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "serve/http/token.h"

namespace weft::serve {

namespace {

const std::string* header_of(const Request& request, const std::string& name) {
  const auto it = request.header.find(name);
  return it == request.header.end() ? nullptr : &it->second;
}

bool is_api(const std::string& path) {
  return path == "/api" || path.starts_with("/api/") || path == "/metrics";
}

// A link to a view was followed: the browser replaces the other site with it.
bool is_navigation(const Request& request) {
  const std::string *mode = header_of(request, "sec-fetch-mode"), *to = header_of(request, "sec-fetch-dest");
  return request.method == "GET" && !is_api(request.path) && mode != nullptr && *mode == "navigate" && to != nullptr &&
         *to == "document";
}

// Host as a browser writes it, and nothing that could end a header or a name in quotes.
bool is_host_text(const std::string& host) {
  return !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == ':' || c == '[' || c == ']' || c == '_';
  });
}

// Percent-encoded, for Location.
std::string encoded(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos || kept.find(c) != kept.npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string cookie_value(const std::string& cookies, const std::string& name) {
  for (std::size_t at = 0; at < cookies.size();) {
    const std::size_t end = std::min(cookies.find(';', at), cookies.size());
    std::string_view one = std::string_view(cookies).substr(at, end - at);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name + "=")) return std::string(one.substr(name.size() + 1));
    at = end + 1;
  }
  return {};
}

}  // namespace

Guard::Guard(std::string address, std::uint16_t port, std::string token)
    : address_(std::move(address)), token_(std::move(token)), cookie_(fmt::format("weft-{}", port)), port_(port) {
  if (address_.find(':') != std::string::npos) address_ = "[" + address_ + "]";
}

bool Guard::is_own_host(const std::string& host) const {
  if (!is_host_text(host)) return false;
  if (!token_.empty()) return true;
  const std::string port = ":" + std::to_string(port_);
  for (const std::string& name : {std::string("127.0.0.1"), std::string("localhost"), std::string("[::1]"), address_}) {
    if (host == name + port || (port_ == 80 && host == name)) return true;  // browsers omit the port of the scheme
  }
  return false;
}

bool Guard::has_token(const Request& request) const {
  if (const std::string* bearer = header_of(request, "authorization"))
    return bearer->starts_with("Bearer ") && same_secret(std::string_view(*bearer).substr(7), token_);
  const std::string* cookies = header_of(request, "cookie");
  return cookies != nullptr && same_secret(cookie_value(*cookies, cookie_), token_);
}

std::optional<Response> Guard::refuse(const Request& request) const {
  const std::string *host = header_of(request, "host"), *origin = header_of(request, "origin"),
                    *site = header_of(request, "sec-fetch-site"), *type = header_of(request, "content-type");
  if (host == nullptr || !is_own_host(*host))
    return problem(403, "the Host header does not name this server", "open the address that weft serve printed");
  if (origin != nullptr && *origin != "http://" + *host) return problem(403, "requests of other sites are not allowed");
  if (site != nullptr && *site != "same-origin" && *site != "none" && !is_navigation(request))
    return problem(403, "requests of other sites are not allowed");
  if (!token_.empty() && !has_token(request)) {
    const std::string given = request.text("token");
    if (given.empty() || is_api(request.path) || request.method != "GET" || !same_secret(given, token_))
      return problem(401, "this server requires a token",
                     "open the address that weft serve printed, or send Authorization: Bearer TOKEN");
  }
  if (!token_.empty() && request.query.contains("token") && !is_api(request.path) && request.method == "GET" &&
      same_secret(request.text("token"), token_)) {
    // A path of "//" would be another host's address.
    std::string to =
        "/" + encoded(request.path.substr(std::min(request.path.find_first_not_of('/'), request.path.size())), "/");
    char mark = '?';
    for (const auto& [name, value] : request.query) {
      if (name == "token") continue;
      to += mark + encoded(name, "") + "=" + encoded(value, ",:");
      mark = '&';
    }
    Response response{303, "text/plain; charset=utf-8", "", {}, {}};
    response.header["Location"] = to;
    response.header["Cache-Control"] = "no-store";
    response.header["Set-Cookie"] = fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_, token_);
    return response;
  }
  if (request.method == "POST" &&
      (type == nullptr || (*type != "application/json" && !type->starts_with("application/json;"))))
    return problem(415, "the body is not application/json", "send Content-Type: application/json");
  return std::nullopt;
}

void Guard::add_headers(Response& response) const {
  response.header["X-Content-Type-Options"] = "nosniff";
  response.header["X-Frame-Options"] = "DENY";
  response.header["Referrer-Policy"] = "no-referrer";
  response.header["Cross-Origin-Resource-Policy"] = "same-origin";
  response.header["Cross-Origin-Opener-Policy"] = "same-origin";
  response.header["Content-Security-Policy"] =
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'";
  if (!response.header.contains("Cache-Control")) response.header["Cache-Control"] = "no-store";
}

}  // namespace weft::serve
