// The tables of results.sqlite that only the page reads (docs/results.md): the headline, expectations, cables with
// their lengths, thresholds of switch queues, headroom, when faults took effect, losses of lossless classes.
#pragma once

#include "results/explanation.h"
#include "results/run_result.h"
#include "results/sqlite_file.h"

namespace weft::lab {

void write_view(SqliteFile& file, const Lab& lab, const RunResult& result, const Explanation& explanation);

}  // namespace weft::lab
