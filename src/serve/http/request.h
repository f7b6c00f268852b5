// A request and an answer of the page's server, independent of the HTTP library: every handler is a function from one
// to the other and can be tested without a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::serve {

struct Request {
  std::string method;                         // "GET"
  std::string path;                           // decoded, "/api/runs/incast/flows"
  std::map<std::string, std::string> query;   // decoded; the first value of a repeated name
  std::map<std::string, std::string> header;  // names in lower case
  std::string body;
  std::vector<std::string> match;  // the values of the route's variables

  // A parameter, or `otherwise`; nothing if it is present and not a whole number in this range.
  std::optional<std::int64_t> number(const std::string& name, std::int64_t otherwise, std::int64_t least,
                                     std::int64_t most) const;
  std::string text(const std::string& name, std::string_view otherwise = "") const;
};

// Sends a piece of a stream; false: the client is gone.
using Send = std::function<bool(std::string_view)>;

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::map<std::string, std::string> header;
  // In place of a body: called on the client's thread until it returns.
  std::function<void(const Send&)> stream;
  // In place of a body: the file at this path, sent piece by piece; a part of it when the client asks for a range.
  std::string file = {};
  // In place of a body: one shared with other clients.
  std::shared_ptr<const std::string> shared = {};

  const std::string& text() const { return shared ? *shared : body; }
};

// A body that is sent to many clients is in memory once.
Response shared_answer(std::shared_ptr<const std::string> body, std::string type = "application/json");

// {"errors": [{"message", "remedy"}]}, as every verb prints it with --json.
Response problem(int status, std::string_view message, std::string_view remedy = "");

}  // namespace weft::serve
