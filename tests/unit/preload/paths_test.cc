#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "unit/preload/run_program.h"

namespace weft::test {
namespace {

TEST(PreloadPaths, RdmaDeviceFilesComeFromFolder) {
  char name[] = "/tmp/weft-sysfs-XXXXXX";
  const std::filesystem::path folder = mkdtemp(name);
  std::filesystem::create_directories(folder / "sys/class/infiniband/mlx5_0");
  std::filesystem::create_directories(folder / "dev/infiniband");
  std::ofstream(folder / "sys/class/infiniband/mlx5_0/node_type") << "1: CA";
  std::ofstream(folder / "dev/infiniband/uverbs1") << "";
  setenv("WEFT_SYSFS", name, 1);
  const Outcome outcome = run_program("", "paths");
  unsetenv("WEFT_SYSFS");
  std::filesystem::remove_all(folder);

  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("/sys/class/infiniband/mlx5_0/node_type is 1: CA\n"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("/proc/sys/kernel/ostype is Linux\n"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("device mlx5_0\n"), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.value("stat"), 0);
  EXPECT_EQ(outcome.value("is_character_device"), 1);
  EXPECT_EQ(outcome.value("minor"), 193);  // 192 is uverbs0
  EXPECT_EQ(outcome.value("open"), 1);
  EXPECT_EQ(outcome.value("absent"), -1);
}

}  // namespace
}  // namespace weft::test
