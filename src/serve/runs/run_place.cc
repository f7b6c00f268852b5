#include "serve/runs/run_place.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace weft::serve {

namespace {

namespace fs = std::filesystem;
constexpr int kDeepest = 3;  // runs/sweep/cell
constexpr std::size_t kMostRuns = 10'000;

bool has_results(const fs::path& directory) {
  // A link may point outside, and its target would be in answers: such a directory is not a run.
  const auto linked = [&](const char* name) {
    std::error_code ignored;
    return fs::is_symlink(directory / name, ignored);
  };
  return is_own_file(directory / "results.json") && !linked("results.sqlite") && !linked("lab.yaml");
}

// A directory counts its own name, its "." and the ".." of every directory in it. Where a file system does not count
// so, there may be some.
bool may_have_directories(const fs::path& directory) {
  struct stat facts = {};
  return stat(directory.c_str(), &facts) != 0 || facts.st_nlink != 2;
}

void gather(const fs::path& directory, const std::string& prefix, int depth, std::vector<NamedRun>& out) {
  std::error_code error;
  for (auto it = fs::directory_iterator(directory, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (out.size() >= kMostRuns) return;
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    // A link may point outside.
    if (!is_plain_name(name) || it->is_symlink(ignored) || !it->is_directory(ignored)) continue;
    if (has_results(it->path())) out.push_back({prefix + name, it->path().string()});
    if (depth < kDeepest && may_have_directories(it->path())) gather(it->path(), prefix + name + "~", depth + 1, out);
  }
}

}  // namespace

bool is_own_file(const std::string& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::regular;
}

bool is_plain_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' && std::all_of(name.begin(), name.end(), plain);
}

bool RunPlace::is_run() const {
  return has_results(directory_);
}

std::optional<std::string> RunPlace::find(std::string_view id) const {
  if (is_run() && id == kOnlyRun) return directory_;
  fs::path path = directory_;
  std::error_code ignored;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const std::size_t end = std::min(id.find('~'), id.size());
    const std::string_view name = id.substr(0, end);
    if (!is_plain_name(name)) return std::nullopt;
    path /= std::string(name);
    if (fs::is_symlink(path, ignored)) return std::nullopt;
    if (end == id.size()) return has_results(path) ? std::optional(path.string()) : std::nullopt;
    id.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<std::string> RunPlace::file(std::string_view id, std::string_view name) const {
  const auto directory = find(id);
  if (!directory || !is_plain_name(name)) return std::nullopt;
  static constexpr std::string_view kEndings[] = {".md", ".json", ".sqlite", ".pcapng", ".yaml"};
  const bool ours = std::any_of(std::begin(kEndings), std::end(kEndings),
                                [&](std::string_view ending) { return name.ends_with(ending); });
  const fs::path path = fs::path(*directory) / std::string(name);
  if (!ours || !is_own_file(path)) return std::nullopt;
  return path.string();
}

std::vector<NamedRun> RunPlace::list() const {
  std::vector<NamedRun> out;
  if (is_run()) out.push_back({std::string(kOnlyRun), directory_});
  gather(directory_, "", 1, out);
  std::sort(out.begin(), out.end(), [](const NamedRun& a, const NamedRun& b) { return a.id < b.id; });
  return out;
}

}  // namespace weft::serve
