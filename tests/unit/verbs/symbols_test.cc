// Programs are linked to a symbol and its version, and most of them bind all at start: one that is missing and they do
// not load. The list is theirs (tests/interop/verbs_symbols.txt), not ours. The libraries are read, not loaded: they
// need the preloaded one, which has its place only in a program that starts with it.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace weft::verbs {
namespace {

// "name@@version" of everything that a library defines.
std::set<std::string> exports_of(const std::string& path) {
  std::set<std::string> exports;
  std::FILE* pipe = popen(("readelf -W --dyn-syms " + path).c_str(), "r");
  if (pipe == nullptr) return exports;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream words(line);
    std::string number, value, size, type, binding, visibility, section, name;
    words >> number >> value >> size >> type >> binding >> visibility >> section >> name;
    if (section != "UND" && type == "FUNC") exports.insert(name);
  }
  pclose(pipe);
  return exports;
}

TEST(Symbols, CoverProgramsInUse) {
  std::ifstream list(WEFT_SOURCE_DIR "/tests/interop/verbs_symbols.txt");
  ASSERT_TRUE(list);
  std::map<std::string, std::set<std::string>> libraries;
  std::map<std::string, int> found;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string file, name, version;
    ASSERT_TRUE(words >> file >> name >> version) << line;
    if (!libraries.contains(file)) libraries[file] = exports_of(WEFT_SHIMS "/" + file);
    EXPECT_TRUE(libraries[file].contains(name + "@@" + version)) << line;
    ++found[file];
  }
  // As counted in the programs; a list cut short must not pass.
  EXPECT_GE(found["libibverbs.so.1"], 66);
  EXPECT_EQ(found["librdmacm.so.1"], 68);
  EXPECT_EQ(found["libmlx5.so.1"], 26);
  EXPECT_EQ(found["libefa.so.1"], 5);
}

// Modules of Python bind all of them when they load, also those that nobody calls.
TEST(Symbols, StandInsHaveAllOfDebian) {
  for (const auto& [file, least] : {std::pair<std::string, std::size_t>{"libmlx5.so.1", 129}, {"libefa.so.1", 6}}) {
    std::set<std::string> theirs;
    for (const auto& folder : std::filesystem::directory_iterator("/usr/lib")) {
      const std::filesystem::path path = folder.path() / file;
      if (std::filesystem::exists(path)) theirs = exports_of(path);
    }
    ASSERT_GE(theirs.size(), least) << file << " of ibverbs-providers";
    const std::set<std::string> ours = exports_of(WEFT_SHIMS "/" + file);
    for (const std::string& symbol : theirs) EXPECT_TRUE(ours.contains(symbol)) << symbol;
  }
}

// NCCL tries the name without a number first.
TEST(Symbols, UnversionedNameIsSameLibrary) {
  EXPECT_EQ(std::filesystem::read_symlink(WEFT_SHIMS "/libibverbs.so"), "libibverbs.so.1");
}

}  // namespace
}  // namespace weft::verbs
