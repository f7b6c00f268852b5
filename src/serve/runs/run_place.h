// Where runs are, and their names. A run is a directory with results.json below the directory that is served; its name
// in the API is the path from there with "~" for "/": "incast", "sweep-1~cell-3". Nothing outside can be named.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::serve {

inline constexpr std::string_view kOnlyRun = "run";  // the name of a run that is served alone

class RunPlace {
 public:
  // `directory` is made when the first run is started; it may be one run itself, which is then named "run".
  explicit RunPlace(std::string directory) : directory_(std::move(directory)) {}
  const std::string& directory() const { return directory_; }
  bool is_run() const;

  // The directory of a run that is there; nothing for other names, whatever they hold.
  std::optional<std::string> find(std::string_view id) const;
  // A run's file by its plain name; nothing when there is none, or it is no file that runs leave behind.
  std::optional<std::string> file(std::string_view id, std::string_view name) const;
  // In order of their names; of a study over seeds and of a sweep the runs in it, too.
  std::vector<std::string> list() const;

 private:
  std::string directory_;
};

// A file, and no link: what a link leads to may be outside of what is served.
bool is_own_file(const std::string& path);
// Letters, digits and "._-", not at the beginning a dot, at most 100: safe as the name of a directory.
bool is_plain_name(std::string_view name);

}  // namespace weft::serve
