// The tables of results.sqlite that only the page reads (docs/results.md): the headline, expectations, cables with
// their lengths, thresholds of switch queues, headroom, when faults took effect, losses of lossless classes.
#pragma once

#include "results/explanation.h"
#include "results/lossless_loss.h"
#include "results/run_result.h"
#include "store/rows/fabric_rows.h"
#include "store/rows/run_rows.h"
#include "store/sqlite_file.h"

namespace weft::lab {

store::ExpectationRow expectation_row(const ExpectationOutcome& outcome);
store::LosslessLossRow loss_row(const LosslessLoss& loss);

void write_view(store::SqliteFile& file, const Lab& lab, const RunResult& result, const Explanation& explanation);

}  // namespace weft::lab
