#include "serve/runs/ready_lab.h"

#include <algorithm>

#include "serve/http/page_files.h"

namespace weft::serve {

namespace {

constexpr std::size_t kMostValue_B = 120;

// The value of the key `name` at the start of a line.
std::string_view name_of_lab(std::string_view text) {
  constexpr std::string_view kKey = "\nname:";
  const std::size_t at = text.find(kKey);
  if (at == text.npos) return {};
  std::string_view line = text.substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  line = line.substr(0, line.find(" #"));
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

void cut(std::optional<study::LabValue>& value) {
  if (value && value->text.size() > kMostValue_B) value->text = value->text.substr(0, kMostValue_B) + " ...";
}

}  // namespace

std::optional<std::vector<study::LabDifference>> changes_to_ready_lab(std::string_view name, std::string_view text,
                                                                      std::span<const std::string> set) {
  const auto labs = ready_labs();
  const auto ready =
      std::find_if(labs.begin(), labs.end(), [&](const PageFile& file) { return name_of_lab(file.bytes) == name; });
  if (name.empty() || ready == labs.end()) return std::nullopt;
  auto differences = study::lab_differences({ready->bytes, {}}, {text, set});
  if (!differences) return std::nullopt;
  differences->resize(std::min(differences->size(), kMostChanges));
  for (study::LabDifference& each : *differences) {
    cut(each.a);
    cut(each.b);
  }
  return std::move(*differences);
}

}  // namespace weft::serve
