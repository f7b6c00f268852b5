// The files of the page. For an unknown path a browser gets the page itself, which reports it with links to existing
// pages; scripts get JSON.
#pragma once

#include "serve/http/router.h"

namespace weft::serve {

void add_page_routes(Router& router);

}  // namespace weft::serve
