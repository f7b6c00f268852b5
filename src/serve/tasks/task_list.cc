#include "serve/tasks/task_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

namespace weft::serve {

namespace {

constexpr int kLook_ms = 20;                   // interval of checks for ended children
constexpr std::size_t kMostOutput_B = 16'384;  // of the output of a task, the last part
constexpr std::size_t kMostLine_B = 65'536;
constexpr std::size_t kKept = 16;  // tasks that have ended

bool is_over(TaskState state) {
  return state != TaskState::kWaits && state != TaskState::kRuns;
}

void append_bounded(std::string& to, std::string_view text) {
  to += text;
  if (to.size() > 2 * kMostOutput_B) to.erase(0, to.size() - kMostOutput_B);
}

// False: not a line of progress.
bool read_progress(const std::string& line, Task& task) {
  if (!line.starts_with('{')) return false;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !(json.contains("now_ps") || json.contains("of"))) return false;
  const auto number = [&](const char* name, auto otherwise) {
    const auto it = json.find(name);
    return it != json.end() && it->is_number() ? it->get<decltype(otherwise)>() : otherwise;
  };
  task.now_ps = number("now_ps", task.now_ps);
  task.done = number("done", task.done);
  task.of = number("of", task.of);
  task.wall_s = number("wall_s", task.wall_s);
  if (const auto it = json.find("workload"); it != json.end() && it->is_string()) task.workload = *it;
  return true;
}

}  // namespace

const char* text_of(TaskState state) {
  switch (state) {
    case TaskState::kWaits:
      return "waits";
    case TaskState::kRuns:
      return "runs";
    case TaskState::kDone:
      return "done";
    case TaskState::kFailed:
      return "failed";
    case TaskState::kCancelled:
      return "cancelled";
  }
  return "";
}

TaskList::TaskList(const TaskLimits& limits, Observer observer) : limits_(limits), observer_(std::move(observer)) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    wake_read_ = ends[0];
    wake_write_ = ends[1];
  }
  thread_ = std::thread([this] { work(); });
}

TaskList::~TaskList() {
  stop();
  for (int fd : {wake_read_, wake_write_}) {
    if (fd >= 0) close(fd);
  }
}

void TaskList::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

void TaskList::wake() {
  [[maybe_unused]] const ssize_t sent = write(wake_write_, "", 1);
}

std::size_t TaskList::count(TaskState state) const {
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                [&](const auto& entry) { return entry.second.task.state == state; }));
}

std::optional<Task> TaskList::add(std::string kind, std::string run, std::vector<std::string> words,
                                  std::string results) {
  Task task;
  {
    const std::lock_guard lock(mutex_);
    if (stops_ || count(TaskState::kWaits) >= limits_.waiting) return std::nullopt;
    task.id = ++last_id_;
    task.kind = std::move(kind);
    task.run = std::move(run);
    task.words = std::move(words);
    task.results = std::move(results);
    entries_[task.id].task = task;
    ++version_;
  }
  wake();
  return task;
}

std::vector<Task> TaskList::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Task> tasks;
  for (const auto& [id, entry] : entries_) tasks.push_back(entry.task);
  return tasks;
}

std::optional<Task> TaskList::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(id);
  return it == entries_.end() ? std::nullopt : std::optional(it->second.task);
}

std::uint64_t TaskList::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

bool TaskList::is_busy(const std::string& run) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry.second.task.run == run && !is_over(entry.second.task.state);
  });
}

bool TaskList::cancel(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(id);
    if (it == entries_.end() || is_over(it->second.task.state)) return false;
    it->second.wanted_signal = it->second.cancelled ? SIGKILL : SIGINT;
    it->second.cancelled = true;
  }
  wake();
  return true;
}

// A sweep uses all slots.
std::size_t TaskList::weight_of(const Task& task) const {
  return task.kind == "sweep" ? limits_.at_once : 1;
}

std::size_t TaskList::load() const {
  std::size_t load = 0;
  for (const auto& [id, entry] : entries_)
    if (entry.task.state == TaskState::kRuns) load += weight_of(entry.task);
  return load;
}

void TaskList::start_next(std::vector<Task>& changes) {
  bool full = false;
  for (auto& [id, entry] : entries_) {
    Task& task = entry.task;
    if (task.state != TaskState::kWaits) continue;
    if (std::exchange(entry.is_new, false)) changes.push_back(task);
    if (entry.cancelled || stops_) {
      task.state = TaskState::kCancelled;
      changes.push_back(task);
      continue;
    }
    if (full) continue;
    full = load() > 0 && load() + weight_of(task) > limits_.at_once;
    if (full) continue;  // later tasks wait as well, or it would never start
    ChildLimits limits{limits_.memory_B, limits_.file_B, 0};
    limits.cpu_s = static_cast<std::uint64_t>((limits_.time + limits_.grace).count() / 1000 + 1);
    if (task.kind == "sweep") limits.cpu_s = 0;  // the limit would apply to each child; wall-clock time limits it
    auto child = ChildProcess::start(task.words, limits);
    if (child) {
      entry.child.emplace(std::move(*child));
      entry.deadline = Clock::now() + limits_.time;
      task.state = TaskState::kRuns;
    } else {
      task.output = child.error() + "\n";
      task.state = TaskState::kFailed;
    }
    changes.push_back(task);
  }
}

void TaskList::read_errors(Entry& entry, const std::string& text) {
  for (const char c : text) {
    entry.line += c;
    if (c != '\n' && entry.line.size() < kMostLine_B) continue;
    if (!read_progress(entry.line, entry.task)) append_bounded(entry.task.output, entry.line);
    entry.line.clear();
  }
}

void TaskList::end(Entry& entry, int status) {
  Task& task = entry.task;
  append_bounded(task.output, std::exchange(entry.line, {}));
  if (entry.timed_out)
    append_bounded(task.output,
                   fmt::format("stopped after {} s: --task-time of weft serve\n", limits_.time.count() / 1000));
  task.status = status;
  // A run whose expectations do not hold has the status 1, and is done.
  const bool complete = status == 0 || (status == 1 && access(task.results.c_str(), R_OK) == 0);
  task.state = entry.cancelled ? TaskState::kCancelled : complete ? TaskState::kDone : TaskState::kFailed;
  entry.child.reset();
}

void TaskList::look_after(Entry& entry, std::vector<Task>& changes) {
  const auto status = entry.child->reap();
  std::string output, errors;
  ChildProcess::take(entry.child->output(), output);
  ChildProcess::take(entry.child->errors(), errors);
  append_bounded(entry.task.output, output);
  const std::int64_t done = entry.task.done;
  read_errors(entry, errors);
  const auto now = Clock::now();
  if (entry.task.kind == "sweep" && entry.task.done > done) entry.deadline = now + limits_.time;  // of the next run
  if (status) {
    end(entry, *status);
  } else {
    if (now >= entry.deadline && !entry.timed_out) {
      entry.timed_out = true;
      entry.wanted_signal = SIGINT;
    }
    if (stops_ && !entry.cancelled) {
      entry.cancelled = true;
      entry.wanted_signal = SIGINT;
    }
    if (now >= entry.kill_at) entry.wanted_signal = SIGKILL;
    if (entry.wanted_signal != entry.sent_signal && entry.sent_signal != SIGKILL) {
      entry.child->signal(entry.wanted_signal);
      entry.sent_signal = entry.wanted_signal;
      entry.kill_at = std::min(entry.kill_at, now + limits_.grace);
    }
  }
  if (status || !output.empty() || !errors.empty()) changes.push_back(entry.task);
}

void TaskList::drop_old(std::vector<std::uint64_t>& removed) {
  std::size_t over = entries_.size() - count(TaskState::kWaits) - count(TaskState::kRuns);
  for (auto it = entries_.begin(); it != entries_.end() && over > kKept;) {
    if (is_over(it->second.task.state)) {
      removed.push_back(it->first);
      it = entries_.erase(it);
      --over;
    } else {
      ++it;
    }
  }
}

void TaskList::work() {
  while (true) {
    std::vector<pollfd> fds{{wake_read_, POLLIN, 0}};
    std::vector<Task> changes;
    std::vector<std::uint64_t> removed;
    bool busy = false, last = false;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [id, entry] : entries_) {
        if (entry.task.state == TaskState::kRuns) look_after(entry, changes);
      }
      start_next(changes);
      drop_old(removed);
      if (!changes.empty() || !removed.empty()) ++version_;
      busy = count(TaskState::kRuns) > 0;
      last = stops_ && !busy;
    }
    for (const Task& task : changes) observer_.changed(task);
    for (const std::uint64_t id : removed) observer_.removed(id);
    if (last) return;
    poll(fds.data(), fds.size(), busy ? kLook_ms : -1);
    char ignored[64];
    while (read(wake_read_, ignored, sizeof(ignored)) > 0) {
    }
  }
}

}  // namespace weft::serve
