#include "live/os/environment.h"

#include <sys/prctl.h>

#include <cstdlib>
#include <filesystem>

namespace weft::live {

namespace fs = std::filesystem;

tl::expected<std::string, std::string> library_directory() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& each : {self / "lib/weft", self.parent_path() / "lib/weft"}) {
    if (fs::exists(each / "libweft.so", error)) return each.string();
  }
  return tl::unexpected(std::string("lib/weft/libweft.so is not beside this program; build or install all of it"));
}

bool can_trap_counter() {
  int mode = 0;
  return prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0;
}

Variables program_variables(const std::string& libraries, const std::string& socket, const std::string& sysfs,
                            const std::string& node, verbs::Clock clock) {
  const auto before = [](const char* variable, const std::string& value) {
    const char* old = std::getenv(variable);
    return old == nullptr || *old == 0 ? value : value + ":" + old;
  };
  return {{verbs::kSocketVariable, socket},
          {verbs::kNodeVariable, node},
          {verbs::kSysfsVariable, sysfs},
          {verbs::kClockVariable, clock == verbs::Clock::kWall ? "wall" : "virtual"},
          {"LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", libraries)},
          {"LD_PRELOAD", before("LD_PRELOAD", libraries + "/libweft.so")}};
}

}  // namespace weft::live
