// Runs that the page has started: child processes of the same program, several at the same time, others in a queue. One
// thread starts them, reads their output and stops those that exceed their time limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve/tasks/child_process.h"

namespace weft::serve {

struct TaskLimits {
  std::size_t at_once = 1;  // runs; a sweep uses all of them
  std::size_t waiting = 16;
  std::chrono::milliseconds time{600'000};
  std::chrono::milliseconds grace{5'000};  // between SIGINT and SIGKILL, for a run to write its results
  std::uint64_t memory_B = 0;
  std::uint64_t file_B = 0;
};

enum class TaskState : std::uint8_t { kWaits, kRuns, kDone, kFailed, kCancelled };

struct Task {
  std::uint64_t id = 0;
  std::string kind, run;
  std::vector<std::string> words;  // the program and its arguments
  std::string results;             // the file that a completed task has written
  TaskState state = TaskState::kWaits;
  // From lines {"now_ps", "workload", "wall_s"} or {"done", "of"} of its stderr.
  std::int64_t now_ps = 0, done = 0, of = 0;
  double wall_s = 0;
  std::string workload;
  std::string output;  // the end of the other output
  std::optional<int> status;
};

class TaskList {
 public:
  struct Observer {
    std::function<void(const Task&)> changed;    // on the thread of the list, in order, without its lock
    std::function<void(std::uint64_t)> removed;  // of an old task that has ended
  };
  TaskList(const TaskLimits& limits, Observer observer);
  // Cancels all, and waits for them.
  ~TaskList();

  // Nothing: too many are waiting, or the list is stopping.
  std::optional<Task> add(std::string kind, std::string run, std::vector<std::string> words, std::string results);
  // The oldest first.
  std::vector<Task> list() const;
  std::optional<Task> find(std::uint64_t id) const;
  // Changes whenever list() does.
  std::uint64_t version() const;
  // False: unknown number, or it has ended. The first call interrupts the task, the next kills it.
  bool cancel(std::uint64_t id);
  // True if a waiting or running task writes to this run.
  bool is_busy(const std::string& run) const;
  const TaskLimits& limits() const { return limits_; }
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Task task;
    bool is_new = true, cancelled = false, timed_out = false;
    int wanted_signal = 0, sent_signal = 0;
    std::optional<ChildProcess> child = {};
    Clock::time_point deadline = {}, kill_at = Clock::time_point::max();
    std::string line = {};  // of stderr, the incomplete last line
  };

  void work();
  void start_next(std::vector<Task>& changes);
  void look_after(Entry& entry, std::vector<Task>& changes);
  void read_errors(Entry& entry, const std::string& text);
  void end(Entry& entry, int status);
  void drop_old(std::vector<std::uint64_t>& removed);
  void wake();
  std::size_t count(TaskState state) const;
  std::size_t weight_of(const Task& task) const;
  std::size_t load() const;

  TaskLimits limits_;
  Observer observer_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t last_id_ = 0, version_ = 0;
  bool stops_ = false;
  int wake_read_ = -1, wake_write_ = -1;
  std::thread thread_;
};

const char* text_of(TaskState state);

}  // namespace weft::serve
