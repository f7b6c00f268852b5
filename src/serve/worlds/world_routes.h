// /api/worlds: worlds that are up (docs/api.md).
#pragma once

#include "serve/http/router.h"

namespace weft::serve {

void add_world_routes(Router& router);

}  // namespace weft::serve
