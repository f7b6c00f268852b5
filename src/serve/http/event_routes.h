// GET /api/events: changes as server-sent events (docs/api.md).
#pragma once

#include "serve/http/event_hub.h"
#include "serve/http/router.h"

namespace weft::serve {

// `hub` outlives the router.
void add_event_routes(Router& router, EventHub& hub);

}  // namespace weft::serve
