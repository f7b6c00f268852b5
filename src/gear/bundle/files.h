// The arguments of `weft doctor`: bundles, config_db.json files, unpacked `show techsupport` archives, directories of
// them.
#pragma once

#include <string>
#include <vector>

#include "gear/doctor/doctor.h"

namespace weft::gear {

struct FileProblem {
  std::string file;
  lab::Problem problem;  // line 0: the file as a whole
};

struct SiteFiles {
  Site site;
  std::vector<FileProblem> problems;  // the input cannot be used when there are any
  std::vector<std::string> ignored;   // files of directories that are none of these
};

// Everything is read, so that one run shows all problems.
SiteFiles read_site(const std::vector<std::string>& paths);
// One text, as if it were in a file of this name.
void add_to_site(const std::string& text, const std::string& file, SiteFiles& files);

}  // namespace weft::gear
