#include "interop/live_world.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "support/bytes.h"
#include "support/matching.h"
#include "support/slowdown.h"

namespace weft::interop {

std::string text_of(const std::string& path) {
  return support::read_file(path);
}

Live::Live(const File& lab, const std::string& options) {
  char name[] = "/tmp/weft-test-XXXXXX";
  directory_ = mkdtemp(name);
  setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
  EXPECT_EQ(shell("up " + lab.path + " --name w " + options), 0) << output();
}

Live::~Live() {
  shell("down w");
  for (int i = 0; i < test::slowed(50) && fs::exists(directory_ + "/weft/w"); ++i) std::this_thread::sleep_for(20ms);
  fs::remove_all(directory_);
}

int Live::shell(const std::string& arguments, const std::string& file) const {
  return std::system(
      (test::timeout(100) + WEFT_BINARY " " + arguments + " >" + directory_ + "/" + file + " 2>&1 </dev/null").c_str());
}

Live::Said Live::run(const std::string& server_node, const std::string& server_program, const std::string& client_node,
                     const std::string& client_program) const {
  std::string server_out = "server-" + server_node, client_out = "client-" + client_node;
  Said said;
  std::thread server([&] { said.server_status = shell("exec " + server_node + " -- " + server_program, server_out); });
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

Live::Said Live::run_well(const std::string& server_node, const std::string& server_program,
                          const std::string& client_node, const std::string& client_program) const {
  Said said = run(server_node, server_program, client_node, client_program);
  EXPECT_EQ(said.client_status, 0) << client_program << "\n" << said.client;
  EXPECT_EQ(said.server_status, 0) << server_program << "\n" << said.server;
  return said;
}

std::string Live::pair(const std::string& server_node, const std::string& client_node,
                       const std::string& program) const {
  return run_well(server_node, program, client_node, program + " " + server_node).client;
}

std::string Live::ps() {
  FILE* pipe = popen(WEFT_BINARY " ps", "r");
  std::string said;
  for (char text[256]; std::fgets(text, sizeof(text), pipe) != nullptr;) said += text;
  pclose(pipe);
  return said;
}

std::string Live::without_times(const std::string& said) {
  return test::replaced(said, " at [0-9.]+ s.*", "");
}

int Live::pid_on(const std::string& node) {
  std::vector<std::string> found = test::match(ps(), "w +" + node + " +([0-9]+) ");
  return found.empty() ? 0 : std::stoi(found[1]);
}

double Live::now_s() {
  std::vector<std::string> found = test::match(ps(), "w +at ([0-9.]+) s");
  return found.empty() ? -1 : std::stod(found[1]);
}

std::vector<double> row_of(const std::string& text) {
  std::size_t at = text.find("#bytes");
  at = at == text.npos ? at : text.find('\n', at);
  std::vector<double> columns;
  if (at == text.npos) return columns;
  std::istringstream line(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
  for (double value; line >> value;) columns.push_back(value);
  return columns;
}

}  // namespace weft::interop
