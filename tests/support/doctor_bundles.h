// Bundles for tests of the doctor. tests/data/doctor has a few healthy ones; a case is a text that names some of them
// and says which lines of them are different:
//
//   expect: mtu-small, mtu-differs          findings, in their order; none: healthy
//   with: gpu01 gpu02 leaf1                 gpu02 is gpu01 under another name, where there is no file of it
//   drop: gpu01 | dmesg                     a section that is left out
//   [gpu02 | mlnx_qos -i ens1f0np0]         changes in a section: lines that go, each looked for behind the one before,
//   -enabled     0   0   0   1   …          compared without blanks around them, and lines that come in their places
//   +  enabled     0   0   0   0   …
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gear/bundle/files.h"
#include "support/cli.h"

namespace weft::support {

class DoctorCase {
 public:
  explicit DoctorCase(const std::filesystem::path& path) : name_(path.stem().string()) {
    std::istringstream in(slurp(path));
    std::string bundle, section;
    std::vector<std::string> gone, come;
    const auto apply = [&] {
      if (!gone.empty() || !come.empty()) change(bundle, section, gone, come);
      gone.clear();
      come.clear();
    };
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("expect: ")) {
        std::istringstream ids(line.substr(8));
        for (std::string id; std::getline(ids, id, ',');) expected_.push_back(id.substr(id.find_first_not_of(' ')));
      } else if (line.starts_with("with: ")) {
        std::istringstream names(line.substr(6));
        for (std::string each; names >> each;) load(each);
      } else if (line.starts_with("drop: ")) {
        const std::size_t bar = line.find(" | ");
        drop(line.substr(6, bar - 6), line.substr(bar + 3));
      } else if (line.starts_with("[")) {
        apply();
        const std::size_t bar = line.find(" | ");
        bundle = line.substr(1, bar - 1);
        section = line.substr(bar + 3, line.size() - bar - 4);
      } else if (line.starts_with("-")) {
        gone.push_back(line.substr(1));
      } else if (line.starts_with("+")) {
        come.push_back(line.substr(1));
      } else {
        ADD_FAILURE() << name_ << ": " << line;
      }
    }
    apply();
  }

  static std::filesystem::path data() { return std::filesystem::path(WEFT_SOURCE_DIR) / "tests/data/doctor"; }
  static std::vector<DoctorCase> all(const char* folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(data() / folder)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<DoctorCase> cases;
    for (const auto& path : paths) cases.emplace_back(path);
    return cases;
  }

  const std::string& name() const { return name_; }
  const std::vector<std::string>& expected() const { return expected_; }
  // By name of the host; the text of the bundle.
  std::map<std::string, std::string> bundles() const {
    std::map<std::string, std::string> texts;
    for (const auto& [host, lines] : bundles_) {
      for (const std::string& line : lines) texts[host] += line + "\n";
    }
    return texts;
  }
  gear::SiteFiles site() const {
    gear::SiteFiles files;
    for (const auto& [host, text] : bundles()) gear::add_to_site(text, host + ".txt", files);
    return files;
  }

 private:
  void load(const std::string& host) {
    std::filesystem::path path = data() / (host + ".txt");
    std::string first = host;
    if (!std::filesystem::exists(path)) {
      first = host.substr(0, host.size() - 1) + "1";
      path = data() / (first + ".txt");
    }
    std::istringstream in(slurp(path));
    auto& lines = bundles_[host];
    for (std::string line; std::getline(in, line);) {
      if (line == "# host: " + first) line = "# host: " + host;
      lines.push_back(line);
    }
    if (lines.empty()) ADD_FAILURE() << name_ << ": no bundle " << host;
  }

  std::vector<std::string>::iterator heading(const std::string& bundle, const std::string& section) {
    auto& lines = bundles_[bundle];
    const auto it = std::find(lines.begin(), lines.end(), "=== " + section);
    if (it == lines.end()) ADD_FAILURE() << name_ << ": no section " << section << " in " << bundle;
    return it;
  }
  void drop(const std::string& bundle, const std::string& section) {
    const auto begin = heading(bundle, section);
    if (begin == bundles_[bundle].end()) return;
    const auto is_heading = [](const std::string& line) { return line.starts_with("=== "); };
    bundles_[bundle].erase(begin, std::find_if(begin + 1, bundles_[bundle].end(), is_heading));
  }
  void change(const std::string& bundle, const std::string& section, const std::vector<std::string>& gone,
              const std::vector<std::string>& come) {
    auto& lines = bundles_[bundle];
    auto at = heading(bundle, section);
    if (at == lines.end()) return;
    ++at;
    std::size_t used = 0;
    for (const std::string& wanted : gone) {
      while (at != lines.end() && !at->starts_with("=== ") && gear::trimmed(*at) != gear::trimmed(wanted)) ++at;
      if (at == lines.end() || at->starts_with("=== ")) {
        ADD_FAILURE() << name_ << ": no line " << wanted << " in " << section;
        return;
      }
      if (used < come.size()) {
        *at++ = come[used++];
      } else {
        at = lines.erase(at);
      }
    }
    for (; used < come.size(); ++used) at = lines.insert(at, come[used]) + 1;
  }

  std::string name_;
  std::vector<std::string> expected_;
  std::map<std::string, std::vector<std::string>> bundles_;
};

}  // namespace weft::support
