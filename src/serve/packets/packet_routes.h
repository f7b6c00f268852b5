// GET /api/runs/ID/packets and /api/runs/ID/packets/N (docs/api.md): the list of a capture's frames with a filter, and
// one of them as a tree. Memory is constant for each request, whatever the size of the capture.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

void add_packet_routes(Router& router, const RunPlace& place);

}  // namespace weft::serve
