#include "serve/http/event_routes.h"

namespace weft::serve {

void add_event_routes(Router& router, EventHub& hub) {
  router.add("GET", "/api/events", [&hub](const Request& request) {
    if (hub.is_full()) {
      Response full = problem(503, "too many clients listen to events", "close another tab of the page");
      full.header["Retry-After"] = "10";
      return full;
    }
    const bool worlds = request.text("watch") == "worlds";
    Response response{200, "text/event-stream", "", {{"Cache-Control", "no-store"}}, {}};
    response.stream = [&hub, worlds](const Send& send) { hub.serve(send, worlds); };
    return response;
  });
}

}  // namespace weft::serve
