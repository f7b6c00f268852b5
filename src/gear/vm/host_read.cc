// Which form a description has: a directory is a tree of /sys or a bundle; a file is XML of lstopo, or text.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "gear/vm/host.h"

namespace weft::gear {

namespace {
constexpr std::size_t kMaxDescription_B = 64 << 20;
}

Planned<HostDescription> read_host(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return read_host_tree(path);
  const auto text = read_file(path, kMaxDescription_B);
  if (!text)
    return plan_error(fmt::format("{}: {}", path, text.error()),
                      "name the output of lspci -vmmnn and lscpu, lstopo --of xml, a copy of /sys, or a bundle");
  const std::string_view start = stripped(std::string_view(*text).substr(0, 256));
  if (start.starts_with("<")) return read_host_lstopo(*text, path);
  if (is_bundle(*text)) return describe_bundle(*text, path);
  return read_host_text(*text, path);
}

}  // namespace weft::gear
