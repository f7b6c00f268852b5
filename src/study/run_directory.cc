#include "study/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace weft::study {

namespace {

namespace fs = std::filesystem;

constexpr const char* kNameARun = "name the directory of a run, as weft run LAB --out DIR leaves it";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The first by name; empty when there is none.
std::string first_run_in(const std::string& directory) {
  std::string first;
  std::error_code error;
  for (auto it = fs::directory_iterator(directory, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string path = it->path().string();
    if (is_file(it->path() / "results.json") && (first.empty() || path < first)) first = path;
  }
  return first;
}

}  // namespace

std::optional<StudyProblem> why_no_run(const std::string& directory) {
  const fs::path path = directory;
  std::error_code error;
  const auto kind = fs::status(path, error).type();
  if (kind == fs::file_type::not_found || directory.empty())
    return StudyProblem{fmt::format("there is no directory {}", directory.empty() ? "\"\"" : directory), kNameARun};
  if (kind == fs::file_type::none) return StudyProblem{fmt::format("{}: {}", directory, error.message()), kNameARun};
  if (kind != fs::file_type::directory) {
    const fs::path above = path.parent_path();
    return StudyProblem{
        fmt::format("{} is a file", directory),
        is_file(above / "results.json") ? fmt::format("name its directory: {}", above.string()) : kNameARun};
  }
  if (is_file(path / "results.json")) return std::nullopt;
  const std::string first = first_run_in(directory);
  const char* const what = is_file(path / "sweep.json") ? "a sweep" : "a directory of runs";
  if (!first.empty())
    return StudyProblem{fmt::format("{} is {}, not a run", directory, what),
                        fmt::format("name one of the runs in it, e.g. {}", first)};
  return StudyProblem{fmt::format("{} is not the directory of a run: it has no results.json", directory), kNameARun};
}

}  // namespace weft::study
