// The files of the page, and for a browser that asks for what is not there the page itself, which says so with links to
// what there is. Scripts get JSON.
#pragma once

#include "serve/http/router.h"

namespace weft::serve {

void add_page_routes(Router& router);

}  // namespace weft::serve
