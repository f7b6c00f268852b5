#include "live/os/executable.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace weft::live {

namespace fs = std::filesystem;

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string whole = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code error;
    if (access(whole.c_str(), X_OK) == 0 && !fs::is_directory(whole, error)) return whole;
  }
  return "";
}

// An ELF file of this machine's size of word without an interpreter. Position-independent ones have a dynamic section
// all the same.
bool is_static_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head{};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof(head)) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return head.e_type == ET_EXEC || head.e_type == ET_DYN;
}

bool gains_rights(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return false;
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid()) return true;
  if ((info.st_mode & S_ISGID) != 0 && info.st_gid != getegid()) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::optional<std::string> copy_without_rights(const std::string& path, const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const std::string copy = directory + "/" + fs::path(path).filename().string();
  if (fs::exists(copy, error)) return copy;
  // Under another name first: somebody else may be about to run it.
  const std::string made = fmt::format("{}.{}", copy, getpid());
  fs::copy_file(path, made, fs::copy_options::overwrite_existing, error);
  if (!error) fs::permissions(made, fs::perms::owner_all, error);
  if (!error) fs::rename(made, copy, error);
  if (!error) return copy;
  fs::remove(made, error);
  return std::nullopt;
}

}  // namespace weft::live
