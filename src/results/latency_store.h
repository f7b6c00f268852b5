// The latency of messages in both files of results (docs/results.md).
#pragma once

#include "results/message_latency.h"
#include "store/rows/latency_rows.h"
#include "store/sqlite_file.h"

namespace weft::lab {

store::WorkloadLatencyRow latency_row(const WorkloadLatency& latency);
void write_latency(store::SqliteFile& file, const MessageLatency& latency);

}  // namespace weft::lab
