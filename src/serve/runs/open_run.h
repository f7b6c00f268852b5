// The run of a request: its directory and its results.sqlite, open for one request. Handlers get it from on_run(),
// which also answers for runs that cannot be read, and keeps answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/time.h"
#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_place.h"
#include "store/sqlite_file.h"

namespace weft::serve {

class OpenRun {
 public:
  OpenRun(std::string id, std::string directory);

  const std::string& id() const { return id_; }
  const std::string& directory() const { return directory_; }
  store::SqliteFile& file() { return file_; }
  // Empty, or why this is not the store of a run that we can read.
  const std::string& problem() const { return problem_; }
  bool has_table(const char* name);
  // Values of the table run.
  std::string text(const std::string& key) const;
  std::int64_t number(const std::string& key) const;
  Time_ps end_ps() const { return number("end_ps"); }

 private:
  std::string id_, directory_;
  store::SqliteFile file_;
  std::map<std::string, std::string> values_;
  std::string problem_;
};

// True while another process writes to this directory.
bool is_being_written(const std::string& directory);
// Changes when the run's files do.
std::string stamp_of(const std::string& directory);

// The directory of a run that can be read; otherwise the answer: 404 where there is none, 409 while it is being
// written.
tl::expected<std::string, Response> finished_run(const RunPlace& place, const std::string& id);

using RunHandler = std::function<Response(const Request&, OpenRun&)>;
// Answers 404 for a run that is not there, 409 while it is being written, 422 when its store cannot be read, and 500
// when it turns out to be damaged. What it answers with 200 is kept in `cache`. Both outlive the handler.
Handler on_run(const RunPlace& place, AnswerCache& cache, RunHandler handler);

// A window of time in a query: from_ps and to_ps, the whole run where they are not given.
struct TimeWindow {
  Time_ps from_ps = 0, to_ps = 0;
};
// Nothing: not numbers, or an empty window.
std::optional<TimeWindow> window_of(const Request& request, const OpenRun& run);

}  // namespace weft::serve
