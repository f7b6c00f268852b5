#include "serve/runs/open_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <exception>
#include <filesystem>

#include "serve/http/gzip.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

constexpr std::int64_t kSchema = 1;  // PRAGMA user_version that this reads

std::string cache_key(const Request& request, const std::string& directory) {
  std::string key = stamp_of(directory) + "\n" + request.path;
  for (const auto& [name, value] : request.query) {
    // With lengths, so that a value cannot be mistaken for another parameter.
    if (name != "token") key += fmt::format("\n{}={}:{}", name, value.size(), value);
  }
  return key;
}

Response answer_about(const Request& request, const std::string& id, const std::string& directory,
                      const RunHandler& handler) {
  OpenRun run(id, directory);
  if (!run.problem().empty()) return problem(422, run.problem(), "run the lab again");
  Response response = handler(request, run);
  if (!run.file().error().empty())
    return problem(500, fmt::format("cannot read results.sqlite of {}: {}", id, run.file().error()),
                   "run the lab again");
  return response;
}

// An answer is compressed once, and kept so.
Response kept_answer(std::shared_ptr<const std::string> body) {
  const bool packed = is_gzip(*body);
  Response response = shared_answer(std::move(body));
  if (packed) response.header = {{"Content-Encoding", "gzip"}, {"Vary", "Accept-Encoding"}};
  return response;
}

}  // namespace

OpenRun::OpenRun(std::string id, std::string directory)
    : id_(std::move(id)),
      directory_(std::move(directory)),
      file_(directory_ + "/results.sqlite", store::SqliteFile::Mode::kRead) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(directory_ + "/results.sqlite", ignored)) {
    problem_ = fmt::format("{} has no results.sqlite: a study of several runs, or a run that did not finish", id_);
    return;
  }
  store::SqliteRows version(file_, "PRAGMA user_version");
  const std::int64_t schema = version.next() ? version.integer(0) : 0;
  for (const store::RunRow& row : store::Reader<store::RunRow>(file_)) values_[row.key] = row.value;
  if (!file_.error().empty()) {
    problem_ = fmt::format("results.sqlite of {} cannot be read: {}", id_, file_.error());
  } else if (schema != kSchema) {
    problem_ = fmt::format("results.sqlite of {} has version {}, this weft reads {}", id_, schema, kSchema);
  } else if (!has_table("sender") || !has_table("series") || !has_table("queue_limit")) {
    problem_ = fmt::format("results.sqlite of {} was written by an older weft, or is not of a run", id_);
  } else if (end_ps() < 0) {
    problem_ = fmt::format("results.sqlite of {} is damaged: the run ends before it starts", id_);
  }
}

bool OpenRun::has_table(const char* name) {
  return store::has_table(file_, name);
}

std::string OpenRun::text(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? "" : at->second;
}

std::int64_t OpenRun::number(const std::string& key) const {
  const std::string value = text(key);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  return error == std::errc() && end == value.data() + value.size() ? out : 0;
}

bool is_being_written(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

std::string stamp_of(const std::string& directory) {
  std::string stamp = directory;
  for (const char* name : {"results.sqlite", "results.json", "capture.pcapng"}) {
    struct stat facts = {};
    if (stat((directory + "/" + name).c_str(), &facts) != 0) facts = {};
    stamp += fmt::format("|{}.{}.{}.{}", facts.st_ino, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_size);
  }
  return stamp;
}

tl::expected<std::string, Response> finished_run(const RunPlace& place, const std::string& id) {
  auto directory = place.find(id);
  if (!directory)
    return tl::unexpected(problem(404, fmt::format("there is no run {}", id), "GET /api/runs lists the runs"));
  if (is_being_written(*directory))
    return tl::unexpected(problem(409, fmt::format("{} is being written", id), "try again when the run has ended"));
  return std::move(*directory);
}

Handler on_run(const RunPlace& place, AnswerCache& cache, RunHandler handler) {
  return [&place, &cache, handler = std::move(handler)](const Request& request) {
    const std::string& id = request.match[0];
    const auto directory = finished_run(place, id);
    if (!directory) return directory.error();
    const bool packs = accepts_gzip(request);
    const std::string key = cache_key(request, *directory) + (packs ? "\ngzip" : "");
    if (auto body = cache.find(key)) return kept_answer(std::move(body));
    const AnswerCache::Turn turn(cache);
    // Another client may have computed the same answer meanwhile.
    if (auto body = cache.find(key)) return kept_answer(std::move(body));
    try {
      Response response = answer_about(request, id, *directory, handler);
      if (response.status != 200) return response;
      response.shared = std::make_shared<const std::string>(std::move(response.body));
      response.body.clear();
      if (packs) compress(response);
      cache.keep(key, response.shared);
      return response;
    } catch (const std::exception& error) {
      return problem(500, fmt::format("the results of {} cannot be used: {}", id, error.what()), "run the lab again");
    }
  };
}

std::optional<TimeWindow> window_of(const Request& request, const OpenRun& run) {
  const Time_ps end_ps = std::max<Time_ps>(1, run.end_ps());
  const auto from_ps = request.number("from_ps", 0, 0, INT64_MAX);
  const auto to_ps = request.number("to_ps", end_ps, 0, INT64_MAX);
  if (!from_ps || !to_ps || *from_ps >= *to_ps) return std::nullopt;
  return TimeWindow{*from_ps, *to_ps};
}

}  // namespace weft::serve
