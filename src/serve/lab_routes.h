// /api/labs, /api/lab/check, /api/lab/edit, /api/catalog: lab files for the editor (docs/api.md). Nothing is run here.
#pragma once

#include "model/lab.h"
#include "serve/http/router.h"

namespace weft::serve {

// `allow_programs`: labs from the page may name files of this machine.
void add_lab_routes(Router& router, bool allow_programs = false);
// True: running it starts programs on this machine, or opens a port to the outside.
bool starts_programs(const lab::Lab& lab);

}  // namespace weft::serve
