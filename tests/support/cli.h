// The command line as a user meets it: each test in a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weft::support {

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // `redirected`: another place for stdout, e.g. ">/dev/full" or ">&-".
  Ran weft(const std::string& arguments, const std::string& redirected = ">out") {
    Ran ran;
    std::string command =
        "cd " + directory_.string() + " && " WEFT_BINARY " " + arguments + " " + redirected + " 2>err";
    std::filesystem::remove(directory_ / "out");
    int raw = std::system(command.c_str());
    ran.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
    ran.out = slurp(directory_ / "out");
    ran.err = slurp(directory_ / "err");
    return ran;
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }

  static std::string lab(const std::string& name) { return std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml"; }

  std::filesystem::path directory_;
};

}  // namespace weft::support
