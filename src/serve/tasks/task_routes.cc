#include "serve/tasks/task_routes.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "serve/tasks/task_request.h"

namespace weft::serve {

namespace {

namespace fs = std::filesystem;
using TaskObject = nlohmann::ordered_json;

constexpr int kMostSameName = 10'000;

TaskObject task_json(const Task& task) {
  TaskObject json{{"id", task.id}, {"kind", task.kind}, {"state", text_of(task.state)}, {"run", task.run}};
  json["progress"] = {{"now_ps", task.now_ps},
                      {"workload", task.workload},
                      {"wall_s", task.wall_s},
                      {"done", task.done},
                      {"of", task.of}};
  json["output"] = task.output;
  json["status"] = task.status ? TaskObject(*task.status) : TaskObject(nullptr);
  return json;
}

// The output of a program may be invalid UTF-8.
std::string dumped(const TaskObject& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Response json_response(int status, const TaskObject& json) {
  return {status, "application/json", dumped(json), {}, {}};
}

// A new directory of this name, with -2, -3 … appended if it exists.
tl::expected<std::string, std::string> reserve_name(const std::string& directory, const std::string& name) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return tl::unexpected(fmt::format("cannot make {}: {}", directory, error.message()));
  for (int i = 1; i < kMostSameName; ++i) {
    std::string own = i == 1 ? name : fmt::format("{}-{}", name.substr(0, 90), i);
    if (own == kOnlyRun) continue;
    if (mkdir((fs::path(directory) / own).c_str(), 0777) == 0) return own;
    if (errno != EEXIST) return tl::unexpected(fmt::format("cannot write to {}: {}", directory, std::strerror(errno)));
  }
  return tl::unexpected(fmt::format("{} has too many runs named {}", directory, name));
}

// Removes the directory of a task without results (refused, failed, killed): the page could neither list nor remove it.
void remove_without_results(const fs::path& directory) {
  std::error_code ignored;
  if (fs::exists(directory / "results.json", ignored) || fs::exists(directory / "sweep.json", ignored)) return;
  fs::remove_all(directory, ignored);
}

Response start_task(const Request& asked, const RunPlace& place, TaskList& tasks, const TaskRouteOptions& options) {
  auto request = read_task_request(asked.body, options.allow_programs);
  if (!request) return request.error();
  auto name = reserve_name(place.directory(), request->name);
  if (!name) return problem(500, name.error(), "choose another directory with --runs");
  const fs::path directory = fs::path(place.directory()) / *name;
  const std::string lab_file = (directory / "lab.yaml").string();
  if (auto written = write_file(lab_file, request->text); !written) {
    remove_without_results(directory);
    return problem(500, written.error(), "free disk space, or choose another directory with --runs");
  }
  const char* const results = request->kind == "sweep" ? "sweep.json" : "results.json";
  auto words = task_words(*request, options.program, lab_file, directory.string());
  if (request->kind == "sweep") words.insert(words.end(), {"--jobs", std::to_string(tasks.limits().at_once)});
  const auto task = tasks.add(request->kind, *name, std::move(words), (directory / results).string());
  if (task) return json_response(202, {{"task", task_json(*task)}});
  remove_without_results(directory);
  Response busy = problem(429, fmt::format("{} tasks are already waiting", tasks.limits().waiting),
                          "wait until one has ended, or cancel one");
  busy.header["Retry-After"] = "1";
  return busy;
}

// The answer with all tasks, built once for each change of the list, because their output may be long.
class KeptTasks {
 public:
  std::shared_ptr<const std::string> text(const TaskList& tasks) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t version = tasks.version();  // before the list, which may be newer then
    if (text_ == nullptr || version != version_) {
      TaskObject list = TaskObject::array();
      for (const Task& task : tasks.list()) list.push_back(task_json(task));
      text_ = std::make_shared<const std::string>(dumped({{"tasks", list}}));
      version_ = version;
    }
    return text_;
  }

 private:
  std::mutex mutex_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const std::string> text_;
};

std::optional<std::uint64_t> task_number(const Request& request) {
  const std::string& text = request.match[0];
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

Response no_task(const Request& request) {
  return problem(404, fmt::format("there is no task {}", request.match[0]), "GET /api/tasks lists them");
}

}  // namespace

void add_task_routes(Router& router, const RunPlace& place, TaskList& tasks, const TaskRouteOptions& options) {
  auto kept = std::make_shared<KeptTasks>();
  router.add("GET", "/api/tasks", [&tasks, kept](const Request&) { return shared_answer(kept->text(tasks)); });
  router.add("POST", "/api/tasks",
             [&place, &tasks, options](const Request& request) { return start_task(request, place, tasks, options); });
  router.add("GET", "/api/tasks/*", [&tasks](const Request& request) {
    const auto id = task_number(request);
    const auto task = id ? tasks.find(*id) : std::nullopt;
    return task ? json_response(200, task_json(*task)) : no_task(request);
  });
  router.add("DELETE", "/api/tasks/*", [&tasks](const Request& request) {
    const auto id = task_number(request);
    if (!id || !tasks.find(*id)) return no_task(request);
    if (!tasks.cancel(*id)) return problem(409, fmt::format("task {} has ended", *id));
    const auto task = tasks.find(*id);
    return task ? json_response(202, {{"task", task_json(*task)}}) : no_task(request);
  });
}

TaskList::Observer task_observer(EventHub& hub, const RunPlace& place, RunList& runs) {
  TaskList::Observer observer;
  observer.changed = [&hub, &place, &runs](const Task& task) {
    const bool over = task.state != TaskState::kWaits && task.state != TaskState::kRuns;
    if (over) remove_without_results(fs::path(place.directory()) / task.run);
    if (over) runs.changed();
    hub.publish("task", std::to_string(task.id), dumped(task_json(task)));
    if (over) hub.publish("runs", "", fmt::format("{{\"run\": \"{}\"}}", task.run));
  };
  observer.removed = [&hub](std::uint64_t id) { hub.forget("task", std::to_string(id)); };
  return observer;
}

}  // namespace weft::serve
