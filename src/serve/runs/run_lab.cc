#include "serve/runs/run_lab.h"

#include <cstdlib>

#include "base/files.h"
#include "labfile/reader.h"
#include "serve/runs/run_entry.h"

namespace weft::serve {

tl::expected<lab::Lab, std::string> lab_of_run(const OpenRun& run) {
  constexpr std::size_t kMost_B = std::size_t{16} << 20;
  const std::string path = run.directory() + "/lab.yaml";
  const auto text = read_file(path, kMost_B);
  if (!text) return tl::unexpected("lab.yaml: " + text.error());
  const std::uint64_t seed = std::strtoull(run.text("seed").c_str(), nullptr, 10);
  std::vector<std::string> set = set_of(run);
  // A run may come from another user: files that its lab names are not opened. Only workloads name files.
  auto lab = lab::read_lab(*text, path, set, seed, lab::Trust::kNoFiles);
  if (!lab) {
    set.insert(set.end(), {"workloads=", "expect="});
    if (auto rest = lab::read_lab(*text, path, set, seed, lab::Trust::kNoFiles)) return std::move(*rest);
  }
  if (lab) return std::move(*lab);
  return tl::unexpected(lab::format_problem("lab.yaml", lab.error().front()));
}

}  // namespace weft::serve
