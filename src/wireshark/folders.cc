#include "wireshark/folders.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace weft::wireshark {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Empty when there is no tshark, or an old one that cannot say it.
std::string tshark_folders() {
  std::string text;
  FILE* pipe = popen("tshark -G folders 2>/dev/null", "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> bytes{};
  for (std::size_t got = 0; (got = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    text.append(bytes.data(), got);
  return pclose(pipe) == 0 ? text : "";
}

std::string configuration_by_rule(const std::string& home) {
  if (std::string own = environment("WIRESHARK_CONFIG_DIR"); !own.empty()) return own;
  const std::string xdg = environment("XDG_CONFIG_HOME");
  const std::string usual = (xdg.empty() ? home + "/.config" : xdg) + "/wireshark";
  const std::string old = home + "/.wireshark";
  std::error_code ignored;
  const bool is_old = !std::filesystem::exists(usual, ignored) && std::filesystem::is_directory(old, ignored);
  return is_old ? old : usual;
}

}  // namespace

Folders parse_folders(std::string_view text) {
  Folders folders;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::size_t from = line.find_first_not_of(" \t", colon + 1);
    if (from == line.npos) continue;
    if (name == "Personal configuration") folders.configuration = line.substr(from);
    if (name == "Personal Lua Plugins") folders.plugins = line.substr(from);
  }
  return folders;
}

tl::expected<Folders, std::string> find_folders(const std::string& directory) {
  if (!directory.empty()) {
    std::error_code error;
    const std::string absolute = std::filesystem::absolute(directory, error).lexically_normal().string();
    if (error) return tl::make_unexpected(error.message());
    return Folders{absolute, (std::filesystem::path(absolute) / "plugins").string(), true};
  }
  Folders folders = parse_folders(tshark_folders());
  if (!folders.configuration.empty() && !folders.plugins.empty()) return folders;
  const std::string home = environment("HOME");
  if (home.empty())
    return tl::make_unexpected(std::string("neither tshark nor $HOME says where Wireshark's files are"));
  if (folders.configuration.empty()) folders.configuration = configuration_by_rule(home);
  if (folders.plugins.empty()) folders.plugins = home + "/.local/lib/wireshark/plugins";
  return folders;
}

}  // namespace weft::wireshark
