// Runs tests/unit/preload/program.cc with libweft.so preloaded and collects what it prints.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <string>
#include <vector>

#include "support/slowdown.h"

namespace weft::test {

struct Outcome {
  int status = -1;  // as the shell says it: 128 + signal when killed
  std::string text;

  // The numbers after NAME, in the order of the lines.
  std::vector<long long> values(const std::string& name) const {
    std::vector<long long> found;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.starts_with(name + " ")) found.push_back(atoll(line.c_str() + name.size() + 1));
      at = end == std::string::npos ? text.size() : end + 1;
    }
    return found;
  }
  long long value(const std::string& name) const {
    const auto found = values(name);
    return found.empty() ? -1 : found.front();
  }
};

class Running {
 public:
  // An empty path: no world.
  Running(const std::string& world, const std::string& node, const std::string& arguments) {
    // timeout(1) outside: its timer would be one of the world's.
    std::string command = "exec " + timeout(20) + "env WEFT_NODE=" + node + " LD_PRELOAD=" WEFT_LIBRARY;
    if (!world.empty()) command += " WEFT_SOCKET=" + world;
    pipe_ = popen((command + " " WEFT_PROGRAM " " + arguments + " 2>&1").c_str(), "r");
  }
  Outcome finish() {
    Outcome outcome;
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe_)) > 0;) outcome.text.append(buffer, n);
    const int status = pclose(pipe_);
    outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return outcome;
  }

 private:
  FILE* pipe_ = nullptr;
};

inline Outcome run_program(const std::string& world, const std::string& arguments) {
  return Running(world, "left", arguments).finish();
}

}  // namespace weft::test
