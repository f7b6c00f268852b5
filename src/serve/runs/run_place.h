// Where runs are, and their names. A run is a directory with results.json below the directory that is served; its name
// in the API is the path from there with "~" for "/": "incast", "sweep-1~cell-3". Nothing outside can be named.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::serve {

inline constexpr std::string_view kOnlyRun = "run";  // the name of a run that is served alone

struct NamedRun {
  std::string id, directory;
};

class RunPlace {
 public:
  // `directory` is made when the first run is started; it may be one run itself, which is then named "run".
  explicit RunPlace(std::string directory) : directory_(std::move(directory)) {}
  const std::string& directory() const { return directory_; }
  bool is_run() const;

  // The directory of an existing run; nothing for other names.
  std::optional<std::string> find(std::string_view id) const;
  // A run's file by its plain name; nothing if it does not exist, or is not a file that runs write.
  std::optional<std::string> file(std::string_view id, std::string_view name) const;
  // Ordered by name; the runs in a study over seeds or in a sweep are included.
  std::vector<NamedRun> list() const;

 private:
  std::string directory_;
};

// A file and not a link: a link may point outside the served directory.
bool is_own_file(const std::string& path);
// Letters, digits and "._-", not at the beginning a dot, at most 100: safe as the name of a directory.
bool is_plain_name(std::string_view name);

}  // namespace weft::serve
