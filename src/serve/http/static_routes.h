// The page's own files: /, /app.js, /app.css. A path of a view (/run/incast/time) is also the page.
#pragma once

#include "serve/http/router.h"

namespace weft::serve {

// Added last: it matches every remaining path.
void add_static_routes(Router& router);

}  // namespace weft::serve
