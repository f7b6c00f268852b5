// Of a function that the C library of x86-64 has in several versions, the interposed one goes on to the version that a
// program linked today gets (kVersions in src/preload/real.cc): against that library's own symbol table, which Debian's
// cross compiler brings to arm64 too. Without that library, or away from the sources, there is nothing to compare.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What each match of the pattern has in its groups.
std::vector<std::smatch> all_matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), {}};
}

struct Function {
  std::map<std::string, std::string> at;  // addresses, by version
  std::string present;                    // the version for programs that are linked today
};

std::map<std::string, Function> functions_of(const std::string& library) {
  std::map<std::string, Function> functions;
  FILE* table = popen(("readelf --dyn-syms -W " + library).c_str(), "r");
  if (table == nullptr) return functions;
  const std::regex line(R"( *\d+: ([0-9a-f]+) +\d+ I?FUNC .* (\w+)(@@?)(\S+)\s*)");
  char text[512];
  for (std::cmatch found; std::fgets(text, sizeof text, table) != nullptr;) {
    if (!std::regex_match(text, found, line)) continue;
    Function& function = functions[found[2]];
    function.at[found[4]] = found[1];
    if (found[3] == "@@") function.present = found[4];
  }
  pclose(table);
  return functions;
}

TEST(PreloadVersions, ArePresentOnesOfCLibrary) {
  std::string library;
  for (const char* path : {"/usr/x86_64-linux-gnu/lib/libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"}) {
    if (access(path, R_OK) == 0) library = path;
  }
  const std::filesystem::path sources = WEFT_SOURCE_DIR "/src/preload";
  if (library.empty() || !exists(sources)) return;
  const std::map<std::string, Function> functions = functions_of(library);
  ASSERT_GT(functions.size(), 1000u) << library;

  std::set<std::string> called;
  for (const auto& file : std::filesystem::recursive_directory_iterator(sources)) {
    if (!file.is_regular_file()) continue;
    const std::string text = text_of(file.path());
    for (const std::smatch& each : all_matches(text, std::regex(R"(WEFT_REAL\((\w+)\))"))) called.insert(each[1]);
  }
  ASSERT_GT(called.size(), 100u);
  const std::string real = text_of(sources / "real.cc");
  const auto versions = all_matches(real, std::regex(R"re(\{"(\w+)", "(GLIBC_[0-9.]+)"\})re"));
  ASSERT_FALSE(versions.empty());

  int several = 0;
  for (const std::string& name : called) {
    const auto found = functions.find(name);
    if (found == functions.end()) continue;
    const Function& function = found->second;
    std::set<std::string> addresses;
    for (const auto& [version, address] : function.at) addresses.insert(address);
    if (addresses.size() < 2) continue;
    ++several;
    std::string chosen;  // as find_next does
    for (const std::smatch& each : versions) {
      if (chosen.empty() && name.starts_with(each[1].str()) && function.at.contains(each[2])) chosen = each[2];
    }
    ASSERT_FALSE(chosen.empty()) << name << " has several versions; list " << function.present;
    EXPECT_EQ(function.at.at(chosen), function.at.at(function.present)) << name << " is " << function.present;
  }
  EXPECT_GT(several, 10);
}

}  // namespace
