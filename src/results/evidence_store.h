// The evidence of a run in results.sqlite. Read back by src/explain.
#pragma once

#include "results/evidence.h"
#include "store/sqlite_file.h"

namespace weft::lab {

// Makes its tables, and adds to `run`. Flows, drops and pauses have tables of their own (results_store.cc).
void write_evidence(store::SqliteFile& file, const Evidence& evidence);

}  // namespace weft::lab
