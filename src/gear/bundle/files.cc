#include "gear/bundle/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace weft::gear {

namespace {

namespace fs = std::filesystem;

void report(SiteFiles& files, const std::string& file, std::string message, std::string remedy) {
  lab::Problem problem;
  problem.message = std::move(message);
  problem.remedy = std::move(remedy);
  files.problems.push_back({file, std::move(problem)});
}

std::string extension_free(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.rfind("_1") == name.size() - 2 ? name.size() - 2 : name.size());
}

// `show techsupport` keeps what commands printed in files of its own names.
std::string command_of_dump(const std::string& name) {
  if (name == "interface.status") return "show interfaces status";
  if (name == "interface.counters") return "show interfaces counters";
  if (name == "pfc.counters") return "show pfc counters";
  if (name == "pfcwd.stats") return "show pfcwd stats";
  return "";
}

bool looks_like_techsupport(const fs::path& directory) {
  std::error_code error;
  return fs::is_directory(directory / "dump", error) &&
         fs::exists(directory / "etc" / "sonic" / "config_db.json", error);
}

void read_techsupport(const fs::path& directory, SiteFiles& files) {
  const std::string config_file = (directory / "etc" / "sonic" / "config_db.json").string();
  auto text = read_file(config_file, kLargestBundle_B);
  if (!text) return report(files, config_file, "cannot be read: " + text.error(), "unpack the archive again");
  auto state = read_config_db(*text, config_file);
  if (!state) {
    files.problems.push_back({config_file, state.error()});
    return;
  }
  std::vector<fs::path> dumps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory / "dump", error)) dumps.push_back(entry.path());
  std::sort(dumps.begin(), dumps.end());
  for (const fs::path& path : dumps) {
    const std::string command = command_of_dump(extension_free(path));
    if (command.empty()) continue;
    auto dump = read_file(path.string(), kLargestBundle_B);
    if (!dump) continue;
    Bundle bundle{path.string(), state->name, {}};
    BundleSection& section = bundle.sections.emplace_back(BundleSection{command, 0, {}});
    for (std::string_view line : words_of(*dump, "\n")) section.lines.emplace_back(line);
    read_show(bundle, section, *state);
  }
  files.site.switches.push_back(std::move(*state));
}

// In a directory other JSON may lie beside: results of perftest, reports.
bool looks_like_config_db(const fs::path& path, const std::string& text) {
  if (path.extension() != ".json") return false;
  const auto has = [&](const char* table) { return text.find(table) != text.npos; };
  return path.filename().string().find("config_db") != std::string::npos || has("\"DEVICE_METADATA\"") ||
         has("\"PORT_QOS_MAP\"") || has("\"PORT\"");
}

// Sub-directories are read as far as `depth` says; links to directories are not followed.
void read_directory(const fs::path& directory, SiteFiles& files, int depth, bool is_argument) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(directory, error)) entries.push_back(entry.path());
  if (error) return report(files, directory.string(), "cannot be read: " + error.message(), "");
  std::sort(entries.begin(), entries.end());
  const std::size_t before = files.site.hosts.size() + files.site.switches.size() + files.problems.size();
  for (const fs::path& path : entries) {
    if (fs::is_directory(path, error)) {
      if (looks_like_techsupport(path)) {
        read_techsupport(path, files);
      } else if (depth > 0 && !fs::is_symlink(path, error)) {
        read_directory(path, files, depth - 1, false);
      }
      continue;
    }
    if (!fs::is_regular_file(path, error)) continue;
    auto text = read_file(path.string(), kLargestBundle_B);
    const bool mine = text && (is_bundle(*text) || looks_like_config_db(path, *text));
    if (mine) {
      add_to_site(*text, path.string(), files);
    } else {
      files.ignored.push_back(path.string());
    }
  }
  const bool any = files.site.hosts.size() + files.site.switches.size() + files.problems.size() > before;
  if (!any && is_argument)
    report(files, directory.string(), "no bundle, config_db.json or unpacked show techsupport in it",
           "make bundles with: weft inspect --out FILE");
}

}  // namespace

void add_to_site(const std::string& text, const std::string& file, SiteFiles& files) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (text.starts_with("\x1f\x8b"))
    return report(files, file, "a compressed file", "unpack it first: tar xzf, or gunzip");
  if (first == text.npos)
    return report(files, file, "the file is empty", "make it again with: weft inspect --out FILE");
  const auto is_known = [&](const std::string& name) {
    return std::any_of(files.site.hosts.begin(), files.site.hosts.end(),
                       [&](const HostState& h) { return h.name == name; }) ||
           std::any_of(files.site.switches.begin(), files.site.switches.end(),
                       [&](const SwitchState& s) { return s.name == name; });
  };
  const auto twice = [&](const std::string& name) {
    report(files, file, fmt::format("{} is there twice", name), "give each host and switch once");
  };
  if (text[first] == '{' && !is_bundle(text)) {
    auto state = read_config_db(text, file);
    if (!state) {
      files.problems.push_back({file, state.error()});
    } else if (is_known(state->name)) {
      twice(state->name);
    } else {
      files.site.switches.push_back(std::move(*state));
    }
    return;
  }
  auto bundle = parse_bundle(text, file);
  if (!bundle) {
    files.problems.push_back({file, bundle.error()});
    return;
  }
  if (is_known(bundle->host)) return twice(bundle->host);
  if (!switch_os(*bundle)) {
    files.site.hosts.push_back(read_host_bundle(*bundle));
    return;
  }
  auto state = read_switch(*bundle);
  if (!state) {
    files.problems.push_back({file, state.error()});
  } else {
    files.site.switches.push_back(std::move(*state));
  }
}

SiteFiles read_site(const std::vector<std::string>& paths) {
  SiteFiles files;
  std::error_code error;
  for (const std::string& path : paths) {
    if (looks_like_techsupport(path)) {
      read_techsupport(path, files);
    } else if (fs::is_directory(path, error)) {
      constexpr int kLevels = 8;
      read_directory(path, files, kLevels, true);
    } else if (auto text = read_file(path, kLargestBundle_B)) {
      add_to_site(*text, path, files);
    } else {
      report(files, path, "cannot be read: " + text.error(), "give bundles of weft inspect, or a directory of them");
    }
  }
  return files;
}

}  // namespace weft::gear
