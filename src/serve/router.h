// Which handler answers which path. A route is a method and a path; "*" in it stands for one part, "**" at its end for
// all that follows. The first that fits answers; of a path that is there with other methods the answer is 405.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "serve/request.h"

namespace weft::serve {

using Handler = std::function<Response(const Request&)>;

class Router {
 public:
  void add(std::string method, std::string path, Handler handler);
  Response answer(Request request) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> parts;
    Handler handler;
  };
  std::vector<Route> routes_;
};

}  // namespace weft::serve
