// What `./run` and `make install` build and install is all that `weft exec` needs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Ran {
  int status = -1;
  std::string out;
};

Ran shell(const std::string& command) {
  Ran ran;
  FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> bytes{};
  for (std::size_t got; (got = fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) ran.out.append(bytes.data(), got);
  ran.status = pclose(pipe);
  return ran;
}

const std::string kBuild = fs::path(WEFT_BINARY).parent_path().string();
constexpr std::array kLibraries = {"libweft.so", "libibverbs.so.1", "librdmacm.so.1", "libmlx5.so.1", "libefa.so.1"};

// Both build the target weft and nothing else.
TEST(Install, BuildOfWeftIncludesLibraries) {
  Ran inputs = shell("ninja -C " + kBuild + " -t inputs weft");
  ASSERT_EQ(inputs.status, 0) << inputs.out;
  for (const char* library : kLibraries)
    EXPECT_NE(inputs.out.find(std::string("lib/weft/") + library + "\n"), std::string::npos) << library;
}

TEST(Install, InstalledWeftRunsPrograms) {
  std::string directory = testing::TempDir() + "weft-install-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  Ran install = shell("cmake --install " + kBuild + " --prefix " + directory + "/usr");
  EXPECT_EQ(install.status, 0) << install.out;
  for (const char* library : kLibraries) EXPECT_TRUE(fs::exists(directory + "/usr/lib/weft/" + library)) << library;
  EXPECT_TRUE(fs::exists(directory + "/usr/share/weft/wireshark/plugin/roce.lua"));
  EXPECT_TRUE(fs::exists(directory + "/usr/share/weft/wireshark/profile/colorfilters"));
  Ran ran = shell("cd " + directory +
                  " && mkdir -m 700 run && export XDG_RUNTIME_DIR=$PWD/run && PATH=$PWD/usr/bin:$PATH && "
                  "weft up " WEFT_SOURCE_DIR
                  "/labs/two-node-25g.yaml --name installed && "
                  "weft exec vm00 -- ibv_devices; weft down");
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_NE(ran.out.find("mlx5_0"), std::string::npos) << ran.out;
  fs::remove_all(directory);
}

}  // namespace
