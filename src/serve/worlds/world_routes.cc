#include "serve/worlds/world_routes.h"

#include "serve/worlds/world_view.h"

namespace weft::serve {

void add_world_routes(Router& router) {
  router.add("GET", "/api/worlds", [](const Request&) {
    return Response{200, "application/json", worlds_json(), {}, {}};
  });
  router.add("GET", "/api/worlds/*", [](const Request& request) {
    auto json = world_json(request.match[0]);
    if (!json) return problem(404, "no world " + request.match[0] + " is up", "start one with weft up LAB");
    return Response{200, "application/json", std::move(*json), {}, {}};
  });
}

}  // namespace weft::serve
