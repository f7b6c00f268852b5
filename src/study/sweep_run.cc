#include "study/sweep_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/files.h"
#include "study/sweep_resume.h"
#include "text/yaml_tree.h"

namespace weft::study {

namespace {

constexpr int kExitWrongLab = 2;
constexpr int kExitInterruptedRun = 130;
constexpr std::size_t kMostLog_B = 1 << 20;
constexpr std::size_t kShownLog_B = 600;

struct Running {
  pid_t pid = -1;
  std::size_t cell = 0;
};

std::string log_of(const SweepPlan& plan, const SweepCell& cell) {
  return plan.directory_of(cell) + ".log";
}

// Between fork and exec: only async-signal-safe calls. Runs are in our process group and end with it; they get an
// interrupt of the terminal twice, which counts as one.
[[noreturn]] void become_cell(char** words, const char* log, pid_t parent) {
  // Runs end when the sweep is killed, or interrupted twice.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  const int null = open("/dev/null", O_RDWR);
  const int errors = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(errors >= 0 ? errors : null, STDERR_FILENO);
  close_range(3, ~0U, 0);
  execv(words[0], words);
  _exit(127);
}

// 0 when it could not be started.
pid_t start(const SweepPlan& plan, const SweepCell& cell, const SweepOptions& options) {
  std::vector<std::string> words{options.program, "run", plan.lab_path, "--out", plan.directory_of(cell)};
  for (const std::string& change : plan.set_of(cell)) words.insert(words.end(), {"--set", change});
  if (options.untrusted) words.emplace_back("--untrusted");
  if (plan.seed) words.insert(words.end(), {"--seed", std::to_string(*plan.seed)});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = log_of(plan, cell);
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) become_cell(arguments.data(), log.c_str(), parent);
  return pid > 0 ? pid : 0;
}

std::string end_of_log(const std::string& path) {
  auto text = read_file(path, kMostLog_B);
  if (!text) return "";
  if (text->size() > kShownLog_B) text->erase(0, text->size() - kShownLog_B);
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

void end(const SweepPlan& plan, SweepCell& cell, int wait_status) {
  const std::string log = log_of(plan, cell);
  cell.status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  const bool has_results = is_complete(plan.directory_of(cell));
  if (cell.status == kExitInterruptedRun) {
    cell.state = CellState::kWaits;
  } else if (cell.status >= kExitWrongLab || !has_results) {
    cell.state = CellState::kFailed;
    cell.problem =
        WIFSIGNALED(wait_status) ? fmt::format("ended by signal {}", WTERMSIG(wait_status)) : end_of_log(log);
  } else if (const auto lab = read_file(plan.directory_of(cell) + "/lab.yaml", lab::kMaxYamlSize_B);
             !lab || *lab != plan.lab_text) {
    cell.state = CellState::kFailed;
    cell.problem = fmt::format("{} was changed during the sweep", plan.lab_path);
  } else {
    cell.state = CellState::kDone;  // unmet expectations are also a result
  }
  std::error_code ignored;
  std::filesystem::remove(log, ignored);
}

}  // namespace

void run_cells(SweepPlan& plan, const SweepOptions& options) {
  std::vector<Running> running;
  std::size_t next = 0;
  bool stopped = false;
  const auto changed = [&] {
    if (options.changed) options.changed();
  };
  while (true) {
    if (options.look) options.look();
    if (!stopped && options.cancel != nullptr && options.cancel->load()) {
      stopped = true;
      for (const Running& one : running) kill(one.pid, SIGINT);
    }
    while (!stopped && running.size() < std::max(1u, options.at_once) && next < plan.cells.size()) {
      SweepCell& cell = plan.cells[next++];
      if (cell.state != CellState::kWaits) continue;
      const pid_t pid = start(plan, cell, options);
      cell.state = pid == 0 ? CellState::kFailed : CellState::kRuns;
      if (pid == 0) cell.problem = "the run could not be started";
      if (pid != 0) running.push_back({pid, next - 1});
      changed();
    }
    if (running.empty()) return;
    bool ended = false;
    for (std::size_t i = 0; i < running.size();) {
      int wait_status = 0;
      if (waitpid(running[i].pid, &wait_status, WNOHANG) != running[i].pid) {
        ++i;
        continue;
      }
      end(plan, plan.cells[running[i].cell], wait_status);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      ended = true;
      changed();
    }
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace weft::study
