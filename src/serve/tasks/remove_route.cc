#include "serve/tasks/remove_route.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "serve/http/json_answer.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

namespace {

namespace fs = std::filesystem;

// The lock that `weft run` takes on a directory that it writes to.
class WriterLock {
 public:
  explicit WriterLock(const std::string& directory)
      : fd_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    // A reader that asks whether a run is being written holds the lock for a moment.
    constexpr int kTries = 20;
    for (int i = 0; i < kTries; ++i) {
      held_elsewhere_ = fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      if (!held_elsewhere_) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  ~WriterLock() {
    if (fd_ >= 0) close(fd_);
  }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  bool is_held_elsewhere() const { return held_elsewhere_; }

 private:
  int fd_;
  bool held_elsewhere_ = false;
};

Response busy(const std::string& id) {
  return problem(409, fmt::format("{} is being written", id), "cancel it, or wait until it has ended");
}

// A running sweep writes to its cells one after the other; a study contains runs.
bool is_written_around(const RunPlace& place, const std::string& id) {
  for (std::size_t end = id.find('~'); end != id.npos; end = id.find('~', end + 1)) {
    std::string above = id.substr(0, end);
    for (char& c : above) c = c == '~' ? '/' : c;
    if (is_being_written(place.directory() + "/" + above)) return true;
  }
  for (const NamedRun& run : place.list()) {
    if (run.id.starts_with(id + "~") && is_being_written(run.directory)) return true;
  }
  return false;
}

Response remove_run(const RunPlace& place, const TaskList& tasks, RunList& runs, const std::string& id) {
  const std::string task = id.substr(0, id.find('~'));
  if (tasks.is_busy(task)) return busy(id);
  const auto directory = place.find(id);
  if (!directory) return problem(404, fmt::format("there is no run {}", id));
  if (id == kOnlyRun && place.is_run())
    return problem(409, "the server was started for this run", "start weft serve for the directory above it");
  static std::atomic<unsigned> count{0};
  // Not a name that can be requested. A run that starts after the rename has its own directory.
  const fs::path away = fs::path(*directory).parent_path() / fmt::format(".removed-{}-{}", getpid(), ++count);
  {
    const WriterLock lock(*directory);
    if (lock.is_held_elsewhere() || is_written_around(place, id) || tasks.is_busy(task)) return busy(id);
    std::error_code error;
    fs::rename(*directory, away, error);
    if (error) return problem(500, fmt::format("{} could not be removed: {}", id, error.message()));
  }
  runs.changed();
  std::error_code error;
  fs::remove_all(away, error);
  if (error) return problem(500, fmt::format("{} could not be removed: {}", away.string(), error.message()));
  return json_answer(nlohmann::json{{"removed", id}});
}

}  // namespace

void add_remove_route(Router& router, const RunPlace& place, TaskList& tasks, RunList& runs) {
  router.add("DELETE", "/api/runs/*",
             [&](const Request& request) { return remove_run(place, tasks, runs, request.match[0]); });
}

}  // namespace weft::serve
