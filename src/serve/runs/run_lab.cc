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
  const std::vector<std::string> set = lines_of(run.text("set"));
  auto lab = lab::read_lab(*text, path, set, std::strtoull(run.text("seed").c_str(), nullptr, 10));
  if (lab) return std::move(*lab);
  return tl::unexpected(lab::format_problem("lab.yaml", lab.error().front()));
}

}  // namespace weft::serve
