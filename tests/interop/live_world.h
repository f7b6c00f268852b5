// A world of its own for a test, the programs in it, and what perftest prints.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::interop {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string text_of(const std::string& path);

// A world of its own, in a directory of its own.
class Live {
 public:
  // One of labs/, or any file.
  struct File {
    std::string path;
  };
  explicit Live(const std::string& lab, const std::string& options = "")
      : Live(File{WEFT_SOURCE_DIR "/labs/" + lab}, options) {}
  explicit Live(const File& lab, const std::string& options = "");
  ~Live();
  // `weft ARGUMENTS`; what it says is in output(). Who runs several at once names the file.
  int shell(const std::string& arguments, const std::string& file = "out") const;
  std::string output(const std::string& file = "out") const { return text_of(directory_ + "/" + file); }
  struct Said {
    std::string server, client;
    int server_status = -1, client_status = -1;
  };
  // Two programs, the second of which comes when the first waits for it.
  Said run(const std::string& server_node, const std::string& server_program, const std::string& client_node,
           const std::string& client_program) const;
  // Both must end well.
  Said run_well(const std::string& server_node, const std::string& server_program, const std::string& client_node,
                const std::string& client_program) const;
  // The same program at both ends, with the server's name at the end of the client's. Returns what the client says.
  std::string pair(const std::string& server_node, const std::string& client_node, const std::string& program) const;

  static std::string ps();
  static std::string without_times(const std::string& said);
  // Of the program that runs on the node, as `weft ps` lists it; 0: none.
  static int pid_on(const std::string& node);
  // How far the world's clock is, in seconds.
  static double now_s();

 private:
  std::string directory_;
};

// The columns of the first row of perftest's table.
std::vector<double> row_of(const std::string& text);

}  // namespace weft::interop
