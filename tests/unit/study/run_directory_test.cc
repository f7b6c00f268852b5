#include "study/run_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::study {
namespace {

namespace fs = std::filesystem;

TEST(RunDirectory, SaysWhatItIsAndWhatToName) {
  const fs::path root = fs::temp_directory_path() / ("weft-run-directory-" + std::to_string(getpid()));
  fs::create_directories(root / "runs/b");
  fs::create_directories(root / "runs/a");
  fs::create_directories(root / "empty");
  fs::create_directories(root / "sweep/cell-001");
  for (const char* name :
       {"runs/a/results.json", "runs/b/results.json", "sweep/cell-001/results.json", "sweep/sweep.json", "lonely.json"})
    std::ofstream(root / name) << "{}";
  const auto check = [&](const char* name, const std::string& message, const std::string& remedy) {
    const auto problem = why_no_run((root / name).string());
    ASSERT_TRUE(problem) << name;
    EXPECT_NE(problem->message.find(message), std::string::npos) << problem->message;
    EXPECT_NE(problem->remedy.find(remedy), std::string::npos) << problem->remedy;
  };
  EXPECT_FALSE(why_no_run((root / "runs/a").string()));
  check("none", "there is no directory", "weft run LAB --out DIR");
  check("runs", "a directory of runs, not a run", "runs/a");
  check("sweep", "a sweep, not a run", "sweep/cell-001");
  check("runs/a/results.json", "is a file", "name its directory: " + (root / "runs/a").string());
  check("lonely.json", "is a file", "weft run LAB --out DIR");
  check("lonely.json/x", "there is no directory", "weft run LAB");
  check("empty", "it has no results.json", "weft run LAB");
  EXPECT_TRUE(why_no_run(""));
  fs::remove_all(root);
}

}  // namespace
}  // namespace weft::study
