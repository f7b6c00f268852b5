// Any text is a bundle, a config_db.json or a result of perftest, or an error that says why; what was read can be
// diagnosed and printed. After a line of '%' a second file begins, so that files are compared with each other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz/targets.h"
#include "gear/bundle/files.h"
#include "gear/doctor/pairs.h"

int weft::fuzz::doctor_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace weft::gear;
  const std::string all(reinterpret_cast<const char*>(data), size);
  const std::size_t border = all.find("\n%\n");
  const std::string first = all.substr(0, border), second = border == all.npos ? "" : all.substr(border + 3);
  SiteFiles files;
  add_to_site(first, "a", files);
  if (border != all.npos) add_to_site(second, "b", files);
  for (const FileProblem& problem : files.problems) {
    if (problem.problem.message.empty() || problem.problem.line < 0) std::abort();
  }
  const Diagnosis diagnosis = diagnose(files.site);
  for (const Finding& finding : diagnosis.findings) {
    if (finding.fix.empty() || finding.evidence.empty() || finding.where.empty()) std::abort();
  }
  for (const char c : diagnosis_text(diagnosis)) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\n') std::abort();
  }
  if (diagnosis_json(diagnosis).empty()) std::abort();
  PairMatrix matrix;
  add_pair(first, "a-b.json", matrix);
  add_pair(second, "b-a.json", matrix);
  compare_pairs(matrix, 100);
  if (pairs_text(matrix).empty() || pairs_json(matrix).empty()) std::abort();
  return 0;
}
