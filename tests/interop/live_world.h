// A world of its own for a test, the programs in it, and what perftest prints.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/slowdown.h"

namespace weft::interop {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

inline std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A world of its own, in a directory of its own.
class Live {
 public:
  // One of labs/, or any file.
  struct File {
    std::string path;
  };
  explicit Live(const std::string& lab, const std::string& options = "")
      : Live(File{WEFT_SOURCE_DIR "/labs/" + lab}, options) {}
  explicit Live(const File& lab, const std::string& options = "") {
    char name[] = "/tmp/weft-test-XXXXXX";
    directory_ = mkdtemp(name);
    setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
    EXPECT_EQ(shell("up " + lab.path + " --name w " + options), 0) << output();
  }
  ~Live() {
    shell("down w");
    for (int i = 0; i < test::slowed(50) && fs::exists(directory_ + "/weft/w"); ++i) std::this_thread::sleep_for(20ms);
    fs::remove_all(directory_);
  }
  // `weft ARGUMENTS`; what it says is in output(). Who runs several at once names the file.
  int shell(const std::string& arguments, const std::string& file = "out") const {
    return std::system(
        (test::timeout(100) + WEFT_BINARY " " + arguments + " >" + directory_ + "/" + file + " 2>&1 </dev/null")
            .c_str());
  }
  std::string output(const std::string& file = "out") const { return text_of(directory_ + "/" + file); }
  struct Said {
    std::string server, client;
    int server_status = -1, client_status = -1;
  };
  // Two programs, the second of which comes when the first waits for it.
  Said run(const std::string& server_node, const std::string& server_program, const std::string& client_node,
           const std::string& client_program) const {
    std::string server_out = "server-" + server_node, client_out = "client-" + client_node;
    Said said;
    std::thread server(
        [&] { said.server_status = shell("exec " + server_node + " -- " + server_program, server_out); });
    // It is in the world and waits there: virtual time stands still until the client comes.
    std::string before;
    for (int i = 0; i < test::slowed(100); ++i) {
      std::string now = without_times(ps());
      if (pid_on(server_node) != 0 && now == before) break;
      before = now;
      std::this_thread::sleep_for(100ms);
    }
    // In real time the server may still be on its way to its port.
    for (int i = 0; i < test::slowed(20); ++i) {
      said.client_status = shell("exec " + client_node + " -- " + client_program, client_out);
      said.client = output(client_out);
      if (said.client_status == 0 || said.client.find("ouldn't connect") == said.client.npos) break;
      std::this_thread::sleep_for(200ms);
    }
    server.join();
    said.server = output(server_out);
    return said;
  }
  // Both must end well.
  Said run_well(const std::string& server_node, const std::string& server_program, const std::string& client_node,
                const std::string& client_program) const {
    Said said = run(server_node, server_program, client_node, client_program);
    EXPECT_EQ(said.client_status, 0) << client_program << "\n" << said.client;
    EXPECT_EQ(said.server_status, 0) << server_program << "\n" << said.server;
    return said;
  }
  // The same program at both ends, with the server's name at the end of the client's. Returns what the client says.
  std::string pair(const std::string& server_node, const std::string& client_node, const std::string& program) const {
    return run_well(server_node, program, client_node, program + " " + server_node).client;
  }

  static std::string ps() {
    FILE* pipe = popen(WEFT_BINARY " ps", "r");
    std::string said;
    for (char text[256]; std::fgets(text, sizeof(text), pipe) != nullptr;) said += text;
    pclose(pipe);
    return said;
  }
  static std::string without_times(const std::string& said) {
    return std::regex_replace(said, std::regex(" at [0-9.]+ s.*"), "");
  }
  // Of the program that runs on the node, as `weft ps` lists it; 0: none.
  static int pid_on(const std::string& node) {
    std::string said = ps();
    std::smatch match;
    return std::regex_search(said, match, std::regex("w +" + node + " +([0-9]+) ")) ? std::stoi(match[1]) : 0;
  }
  // How far the world's clock is, in seconds.
  static double now_s() {
    std::string said = ps();
    std::smatch match;
    return std::regex_search(said, match, std::regex("w +at ([0-9.]+) s")) ? std::stod(match[1]) : -1;
  }

 private:
  std::string directory_;
};

// The columns of the first row of perftest's table.
inline std::vector<double> row_of(const std::string& text) {
  std::size_t at = text.find("#bytes");
  at = at == text.npos ? at : text.find('\n', at);
  std::vector<double> columns;
  if (at == text.npos) return columns;
  std::istringstream line(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
  for (double value; line >> value;) columns.push_back(value);
  return columns;
}

}  // namespace weft::interop
