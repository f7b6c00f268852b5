// A world in the foreground, as a child of the test, and many programs in it: what becomes of each can be told apart.
// WEFT_WORLD in the environment names another weft for the world itself, for instance one with sanitizers.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace weft {

// Runs `command` with its output in `out`.
inline pid_t start_program(const std::vector<std::string>& command, const std::string& out) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = fork();
  if (pid != 0) return pid;
  // Not with stdio: what the test has not printed yet is in its buffers.
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (dup2(null, 0) == 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2) execvp(arguments[0], arguments.data());
  _exit(127);
}

class LoadWorld {
 public:
  static constexpr int kStillRuns = -1;

  // `last` is the last node of the lab.
  LoadWorld(const std::string& lab, const std::string& last, const std::string& clock = "virtual") {
    char name[] = "/tmp/weft-load-XXXXXX";
    directory_ = mkdtemp(name);
    setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
    const char* other = std::getenv("WEFT_WORLD");
    pid_ = start_program({other == nullptr ? WEFT_BINARY : other, "up", "--foreground", "--name", "w", "--clock", clock,
                          std::string(WEFT_SOURCE_DIR "/labs/") + lab},
                         path("world"));
    for (int i = 0; i < 400; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      weft({"exec", last, "--", "ibv_devices"}, "ready");
      if (text("ready").find("mlx5_0") != std::string::npos) return;
    }
    ADD_FAILURE() << "the world does not come up: " << text("world");
  }
  ~LoadWorld() {
    if (pid_ > 0) down();
    std::filesystem::remove_all(directory_);
  }

  pid_t start(const std::string& node, const std::vector<std::string>& command, const std::string& out) const {
    std::vector<std::string> all{WEFT_BINARY, "exec", node, "--"};
    all.insert(all.end(), command.begin(), command.end());
    return start_program(all, path(out));
  }
  // `weft ARGUMENTS`, waited for.
  int weft(std::vector<std::string> arguments, const std::string& out) const {
    arguments.insert(arguments.begin(), WEFT_BINARY);
    return wait(start_program(arguments, path(out)), std::chrono::seconds(60));
  }
  // The exit status, or 128 and the signal. One that still runs is killed.
  static int wait(pid_t pid, std::chrono::milliseconds patience) {
    int status = 0;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return kStillRuns;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  bool is_up() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }
  // How the world ends: 0 when all is well, also with its sanitizers.
  int down() {
    weft({"down", "w"}, "down");
    int status = wait(pid_, std::chrono::seconds(60));
    pid_ = 0;
    return status;
  }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string text(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // Waits until the file says so.
  bool says(const std::string& name, const std::string& what) const {
    for (int i = 0; i < 20'000; ++i) {
      if (text(name).find(what) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  std::size_t descriptors() const {
    std::filesystem::directory_iterator first("/proc/" + std::to_string(pid_) + "/fd"), last;
    return static_cast<std::size_t>(std::distance(first, last));
  }
  // After the last program: the world hears of its end when it looks.
  std::size_t descriptors_left(std::size_t expected) const {
    for (int i = 0; i < 500 && descriptors() > expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return descriptors();
  }
  std::string peak_memory() const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("VmHWM")) return line;
    }
    return "";
  }

 private:
  std::string directory_;
  pid_t pid_ = 0;
};

}  // namespace weft
