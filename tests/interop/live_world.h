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
  explicit Live(const std::string& lab, const std::string& options = "") {
    char name[] = "/tmp/weft-test-XXXXXX";
    directory_ = mkdtemp(name);
    setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
    EXPECT_EQ(shell("up " WEFT_SOURCE_DIR "/labs/" + lab + " --name w " + options), 0) << output();
  }
  ~Live() {
    shell("down w");
    for (int i = 0; i < 50 && fs::exists(directory_ + "/weft/w"); ++i) std::this_thread::sleep_for(20ms);
    fs::remove_all(directory_);
  }
  // `weft ARGUMENTS`; what it says is in output(). Who runs several at once names the file.
  int shell(const std::string& arguments, const std::string& file = "out") const {
    return std::system(
        ("timeout 100 " WEFT_BINARY " " + arguments + " >" + directory_ + "/" + file + " 2>&1 </dev/null").c_str());
  }
  std::string output(const std::string& file = "out") const { return text_of(directory_ + "/" + file); }
  // The server waits for its client; both must end well. Returns what the client says.
  std::string pair(const std::string& server_node, const std::string& client_node, const std::string& program) const {
    std::string server_out = "server-" + server_node, client_out = "client-" + client_node;
    int server_status = -1;
    std::thread server([&] { server_status = shell("exec " + server_node + " -- " + program, server_out); });
    // It is in the world and waits there: virtual time stands still until the client comes.
    std::string before;
    for (int i = 0; i < 100; ++i) {
      std::string now = without_times(ps());
      if (pid_on(server_node) != 0 && now == before) break;
      before = now;
      std::this_thread::sleep_for(100ms);
    }
    int status = -1;
    std::string said;
    // In real time the server may still be on its way to its port.
    for (int i = 0; i < 20; ++i) {
      status = shell("exec " + client_node + " -- " + program + " " + server_node, client_out);
      said = output(client_out);
      if (status == 0 || said.find("ouldn't connect") == said.npos) break;
      std::this_thread::sleep_for(200ms);
    }
    server.join();
    EXPECT_EQ(status, 0) << program << "\n" << said;
    EXPECT_EQ(server_status, 0) << program << "\n" << output(server_out);
    return said;
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
