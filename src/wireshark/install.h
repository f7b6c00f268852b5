// Puts the files for Wireshark in place and takes them away again. What was installed is listed with a digest in
// weft-files.txt of the configuration folder: a file that is not ours, or was changed since, is never overwritten or
// removed unless that is asked for, and then kept under another name.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "wireshark/folders.h"

namespace weft::wireshark {

enum class Outcome : unsigned char {
  kCreated,
  kUpdated,
  kUnchanged,
  kReplaced,  // the user's own was kept under another name
  kKept,      // changed since it was installed
  kForeign,   // was there before and is not ours: not installed
  kRemoved,
};
std::string_view outcome_word(Outcome outcome);

struct Step {
  std::string file;  // where it is
  Outcome outcome = Outcome::kUnchanged;
  std::string backup;  // of kReplaced
};

struct InstallOptions {
  bool dry_run = false;  // says what would happen
  bool force = false;    // replaces, and keeps what was there as FILE.before-weft
};

// The error names the file and the reason; what was written before stays and is listed.
tl::expected<std::vector<Step>, std::string> install(const Folders& folders, const InstallOptions& options);
// Removes what is as it was installed. Folders go with the last file in them.
tl::expected<std::vector<Step>, std::string> uninstall(const Folders& folders, const InstallOptions& options);

}  // namespace weft::wireshark
