// The page's own files: /, /app.js, /app.css. A path of a view (/run/incast/time) is the page, too.
#pragma once

#include "serve/http/router.h"

namespace weft::serve {

// Last of all: it takes every path that is left.
void add_static_routes(Router& router);

}  // namespace weft::serve
