// The latency of messages in results.sqlite (docs/results.md).
#pragma once

#include "results/message_latency.h"
#include "results/sqlite_file.h"

namespace weft::lab {

// Makes its tables: flow_latency, workload_latency, latency_bucket.
void write_latency(SqliteFile& file, const MessageLatency& latency);

}  // namespace weft::lab
