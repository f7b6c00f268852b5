#include "serve/http/request.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace weft::serve {

std::optional<std::int64_t> Request::number(const std::string& name, std::int64_t otherwise, std::int64_t least,
                                            std::int64_t most) const {
  const auto it = query.find(name);
  if (it == query.end()) return otherwise;
  std::int64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [stop, error] = std::from_chars(it->second.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) return std::nullopt;
  return value;
}

std::string Request::text(const std::string& name, std::string_view otherwise) const {
  const auto it = query.find(name);
  return it == query.end() ? std::string(otherwise) : it->second;
}

Response shared_answer(std::shared_ptr<const std::string> body, std::string type) {
  Response response{200, std::move(type), "", {}, {}};
  response.shared = std::move(body);
  return response;
}

Response problem(int status, std::string_view message, std::string_view remedy) {
  nlohmann::ordered_json error{{"message", message}};
  if (!remedy.empty()) error["remedy"] = remedy;
  // Messages quote what a client sent, which may be invalid UTF-8.
  const nlohmann::ordered_json errors{{"errors", nlohmann::ordered_json::array({error})}};
  return {status, "application/json", errors.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), {}, {}};
}

}  // namespace weft::serve
