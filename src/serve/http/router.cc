#include "serve/http/router.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/check_throws.h"
#include "serve/http/gzip.h"

namespace weft::serve {

namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t at = 1;
  while (at <= path.size()) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

std::optional<std::vector<std::string>> fit(const std::vector<std::string>& route,
                                            const std::vector<std::string>& parts) {
  std::vector<std::string> match;
  for (std::size_t i = 0; i < route.size(); ++i) {
    if (route[i] == "**") {
      if (i >= parts.size()) return std::nullopt;
      std::string rest = parts[i];
      for (std::size_t k = i + 1; k < parts.size(); ++k) rest += "/" + parts[k];
      match.push_back(rest);
      return match;
    }
    if (i >= parts.size()) return std::nullopt;
    if (route[i] == "*") {
      match.push_back(parts[i]);
    } else if (route[i] != parts[i]) {
      return std::nullopt;
    }
  }
  if (route.size() != parts.size()) return std::nullopt;
  return match;
}

}  // namespace

void Router::add(std::string method, std::string path, Handler handler) {
  routes_.push_back({std::move(method), parts_of(path), std::move(handler)});
}

Response Router::answer(Request request) const {
  const bool packs = accepts_gzip(request);
  Response response = route(std::move(request));
  if (packs) compress(response);
  const auto digit = static_cast<std::size_t>(response.status / 100);
  if (digit < counts_->by_class.size()) ++counts_->by_class[digit];
  return response;
}

Response Router::route(Request request) const {
  const std::vector<std::string> parts = parts_of(request.path);
  std::string others;
  for (const Route& route : routes_) {
    auto match = fit(route.parts, parts);
    if (!match) continue;
    if (route.method != request.method) {
      if (others.find(route.method) == others.npos) others += (others.empty() ? "" : ", ") + route.method;
      continue;
    }
    request.match = std::move(*match);
    try {
      const CheckThrows guard;
      return route.handler(request);
    } catch (const CheckFailure& failure) {
      return problem(500, failure.what(), "report it, with what was asked; the server goes on");
    }
  }
  if (others.empty()) return problem(404, fmt::format("unknown path {}", request.path), "docs/api.md lists the paths");
  Response response = problem(405, fmt::format("method {} is not allowed for {}", request.method, request.path));
  response.header["Allow"] = others;
  return response;
}

}  // namespace weft::serve
