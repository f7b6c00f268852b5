// Programs are linked to a symbol and its version, and most of them bind all at start: one that is missing and they do
// not load. The list is theirs (tests/interop/verbs_symbols.txt), not ours.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace weft::verbs {
namespace {

struct Library {
  void* handle = nullptr;
  int found = 0;
};

TEST(Symbols, EveryOneThatProgramsAskForIsThere) {
  std::ifstream list(WEFT_SOURCE_DIR "/tests/interop/verbs_symbols.txt");
  ASSERT_TRUE(list);
  std::map<std::string, Library> libraries;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string file, name, version;
    ASSERT_TRUE(words >> file >> name >> version) << line;
    Library& library = libraries[file];
    if (library.handle == nullptr) library.handle = dlopen((WEFT_SHIMS "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library.handle, nullptr) << dlerror();
    EXPECT_NE(dlvsym(library.handle, name.c_str(), version.c_str()), nullptr) << line;
    EXPECT_EQ(dlvsym(library.handle, name.c_str(), "ANOTHER_1.0"), nullptr) << line;
    ++library.found;
  }
  // As counted in the programs; a list cut short must not pass.
  EXPECT_GE(libraries["libibverbs.so.1"].found, 66);
  EXPECT_EQ(libraries["libmlx5.so.1"].found, 26);
  EXPECT_EQ(libraries["libefa.so.1"].found, 5);
}

// NCCL tries the name without a number first.
TEST(Symbols, TheNameWithoutVersionIsTheSameLibrary) {
  void* plain = dlopen(WEFT_SHIMS "/libibverbs.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plain, nullptr) << dlerror();
  EXPECT_EQ(plain, dlopen(WEFT_SHIMS "/libibverbs.so.1", RTLD_NOW | RTLD_LOCAL));
}

}  // namespace
}  // namespace weft::verbs
