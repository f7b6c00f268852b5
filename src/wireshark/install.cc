#include "wireshark/install.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "wireshark/bundle.h"

namespace weft::wireshark {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFile_B = 16 << 20;

std::string digest(std::string_view text) {
  return fmt::format("{:016x}", fnv1a({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

struct Target {
  std::string key;  // in the list of installed files
  fs::path file;
  std::string text;
};

fs::path target_of(const Folders& folders, std::string_view key) {
  constexpr std::string_view kPlugin = "plugin/", kProfile = "profile/";
  if (key.starts_with(kPlugin)) return fs::path(folders.plugins) / "weft" / key.substr(kPlugin.size());
  if (key.starts_with(kProfile))
    return fs::path(folders.configuration) / "profiles" / "Weft" / key.substr(kProfile.size());
  return fs::path(folders.configuration) / key;
}

std::vector<Target> targets(const Folders& folders) {
  std::vector<Target> all;
  for (const BundledFile& file : bundled_files())
    all.push_back({std::string(file.path), target_of(folders, file.path), std::string(file.text)});
  return all;
}

// Digests of what was installed, by key. Lines that are none are ignored: such a file counts as the user's.
class InstalledFiles {
 public:
  explicit InstalledFiles(const Folders& folders)
      : path_((fs::path(folders.configuration) / "weft-files.txt").string()) {
    auto text = read_file(path_, kMostFile_B);
    if (!text) return;
    std::istringstream in(*text);
    for (std::string line; std::getline(in, line);) {
      const std::size_t space = line.find(' ');
      if (space == 16 && line.find("..") == line.npos) digests_[line.substr(17)] = line.substr(0, 16);
    }
  }
  bool has(const std::string& key, std::string_view text) const {
    const auto at = digests_.find(key);
    return at != digests_.end() && at->second == digest(text);
  }
  bool lists(const std::string& key) const { return digests_.contains(key); }
  void set(const std::string& key, std::string_view text) { digests_[key] = digest(text); }
  void drop(const std::string& key) { digests_.erase(key); }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const auto& [key, value] : digests_) all.push_back(key);
    return all;
  }
  tl::expected<void, std::string> save() const {
    if (digests_.empty()) {
      std::error_code ignored;
      fs::remove(path_, ignored);
      return {};
    }
    std::string text = "Written by weft wireshark install: a digest of each file that it put here.\n";
    for (const auto& [key, value] : digests_) text += value + " " + key + "\n";
    return write_file(path_, text);
  }

 private:
  std::string path_;
  std::map<std::string, std::string> digests_;
};

// Nothing: no such file. The error: it is there and cannot be read.
tl::expected<std::optional<std::string>, std::string> text_of(const fs::path& file) {
  std::error_code error;
  const bool exists = fs::exists(fs::symlink_status(file, error));
  if (!exists) return std::nullopt;
  auto text = read_file(file.string(), kMostFile_B);
  if (!text) return tl::unexpected(fmt::format("cannot read {}: {}", file.string(), text.error()));
  return std::optional(*std::move(text));
}

// The first of FILE.before-weft, FILE.before-weft.2, … that is free.
fs::path backup_name(const fs::path& file) {
  fs::path name = file.string() + ".before-weft";
  std::error_code ignored;
  for (int i = 2; fs::exists(fs::symlink_status(name, ignored)); ++i)
    name = fmt::format("{}.before-weft.{}", file.string(), i);
  return name;
}

// Why a folder cannot be made or written; empty where it can. A dry run finds it as well.
std::string obstacle(fs::path folder) {
  std::error_code error;
  while (!fs::exists(fs::symlink_status(folder, error)) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) return fmt::format("{} is not a directory", folder.string());
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return fmt::format("{} cannot be written: {}", folder.string(), std::strerror(errno));
  return "";
}

tl::expected<Step, std::string> put(const Target& target, const InstallOptions& options, InstalledFiles& installed) {
  Step step{target.file.string(), Outcome::kCreated, ""};
  auto there = text_of(target.file);
  if (!there) return tl::unexpected(there.error());
  if (*there) {
    const bool same = **there == target.text;
    const bool ours = installed.has(target.key, **there);
    if (same) {
      step.outcome = Outcome::kUnchanged;
    } else if (ours) {
      step.outcome = Outcome::kUpdated;
    } else if (options.force) {
      step.outcome = Outcome::kReplaced;
      step.backup = backup_name(target.file).string();
    } else {
      step.outcome = installed.lists(target.key) ? Outcome::kKept : Outcome::kForeign;
      return step;
    }
  }
  if (const std::string why = obstacle(target.file.parent_path()); !why.empty())
    return tl::unexpected(fmt::format("cannot install {}: {}", target.file.string(), why));
  if (options.dry_run) return step;
  std::error_code error;
  fs::create_directories(target.file.parent_path(), error);
  if (error)
    return tl::unexpected(fmt::format("cannot make {}: {}", target.file.parent_path().string(), error.message()));
  if (!step.backup.empty()) {
    fs::rename(target.file, step.backup, error);
    if (error) return tl::unexpected(fmt::format("cannot rename {}: {}", target.file.string(), error.message()));
  }
  if (step.outcome != Outcome::kUnchanged) {
    if (auto written = write_file(target.file.string(), target.text); !written) return tl::unexpected(written.error());
  }
  installed.set(target.key, target.text);
  return step;
}

// With folders that have become empty, up to those that Wireshark itself makes.
tl::expected<Step, std::string> take_away(const Folders& folders, const std::string& key, const InstallOptions& options,
                                          InstalledFiles& installed) {
  const fs::path file = target_of(folders, key);
  Step step{file.string(), Outcome::kRemoved, ""};
  auto there = text_of(file);
  if (!there) return tl::unexpected(there.error());
  if (!*there) {
    step.outcome = Outcome::kUnchanged;
  } else if (!installed.has(key, **there)) {
    step.outcome = Outcome::kKept;
  }
  if (options.dry_run) return step;
  std::error_code error;
  if (step.outcome == Outcome::kRemoved && !fs::remove(file, error))
    return tl::unexpected(fmt::format("cannot remove {}: {}", file.string(), error.message()));
  if (file.parent_path() != fs::path(folders.configuration)) fs::remove(file.parent_path(), error);
  installed.drop(key);
  return step;
}

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCreated:
      return "created";
    case Outcome::kUpdated:
      return "updated";
    case Outcome::kUnchanged:
      return "unchanged";
    case Outcome::kReplaced:
      return "replaced";
    case Outcome::kKept:
      return "kept";
    case Outcome::kForeign:
      return "not installed";
    case Outcome::kRemoved:
      return "removed";
  }
  return "";
}

tl::expected<std::vector<Step>, std::string> install(const Folders& folders, const InstallOptions& options) {
  std::vector<Step> steps;
  InstalledFiles installed(folders);
  const std::vector<Target> wanted = targets(folders);
  tl::expected<void, std::string> failure;
  for (const Target& target : wanted) {
    auto step = put(target, options, installed);
    if (!step) {
      failure = tl::unexpected(step.error());
      break;
    }
    steps.push_back(*std::move(step));
  }
  // Files that an older version had installed and this one has not.
  for (const std::string& key : installed.keys()) {
    if (!failure) break;
    const bool is_wanted =
        std::any_of(wanted.begin(), wanted.end(), [&](const Target& target) { return target.key == key; });
    if (is_wanted) continue;
    auto step = take_away(folders, key, options, installed);
    if (!step) {
      failure = tl::unexpected(step.error());
    } else if (step->outcome != Outcome::kUnchanged) {
      steps.push_back(*std::move(step));
    }
  }
  if (!options.dry_run) {
    auto saved = installed.save();
    if (failure && !saved) failure = saved;
  }
  if (!failure) return tl::unexpected(failure.error());
  return steps;
}

tl::expected<std::vector<Step>, std::string> uninstall(const Folders& folders, const InstallOptions& options) {
  std::vector<Step> steps;
  InstalledFiles installed(folders);
  for (const std::string& key : installed.keys()) {
    auto step = take_away(folders, key, options, installed);
    if (!step) return tl::unexpected(step.error());
    if (step->outcome != Outcome::kUnchanged) steps.push_back(*std::move(step));
  }
  if (options.dry_run) return steps;
  if (auto saved = installed.save(); !saved) return tl::unexpected(saved.error());
  return steps;
}

}  // namespace weft::wireshark
