// The report of a run: what an engineer reads first. Plain text that is also Markdown.
#pragma once

#include <string>

#include "results/run_result.h"

namespace weft::lab {

struct ReportPaths {
  std::string directory;  // as the user wrote it; "." in the report that lies in it; empty: nothing is written
};

std::string report(const Lab& lab, const RunResult& result, const ReportPaths& paths);
// Its two parts: all that happened, and where the files are.
std::string report_body(const Lab& lab, const RunResult& result);
std::string report_files(const Lab& lab, const RunResult& result, const ReportPaths& paths);

}  // namespace weft::lab
