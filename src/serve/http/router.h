// Which handler answers which path. A route is a method and a path; "*" in it stands for one part, "**" at its end for
// all that follows. The first match answers; a path that exists with other methods is answered with 405.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/request.h"

namespace weft::serve {

using Handler = std::function<Response(const Request&)>;

// Answers so far, by the first digit of their status. Copies of a router count together.
struct AnswerCounts {
  std::array<std::atomic<std::uint64_t>, 6> by_class{};
};

class Router {
 public:
  std::shared_ptr<const AnswerCounts> counts() const { return counts_; }
  void add(std::string method, std::string path, Handler handler);
  Response answer(Request request) const;

 private:
  Response route(Request request) const;

  struct Route {
    std::string method;
    std::vector<std::string> parts;
    Handler handler;
  };
  std::vector<Route> routes_;
  std::shared_ptr<AnswerCounts> counts_ = std::make_shared<AnswerCounts>();
};

}  // namespace weft::serve
