#include "analyze/findings/finding.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace weft::analyze {
namespace {

Severity severity_of(const Finding& finding) {
  return finding_kinds()[rank_of(finding.id)].severity;
}

}  // namespace

const char* name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

std::size_t rank_of(std::string_view id) {
  const auto kinds = finding_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [id](const FindingKind& kind) { return kind.id == id; });
  WEFT_CHECK(found != kinds.end(), "a finding of a kind that the table has not");
  return static_cast<std::size_t>(found - kinds.begin());
}

void Findings::add(Finding finding) {
  rank_of(finding.id);
  findings_.push_back(std::move(finding));
}

void Findings::judge(std::string_view check, std::uint64_t looked_at, std::string_view unit, std::string_view missing) {
  judged_.push_back({check, looked_at > 0 ? Verdict::kHealthy : Verdict::kNotEnough, looked_at, unit, missing});
}

void Findings::sort() {
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& one, const Finding& other) {
    return std::tuple(severity_of(one) == Severity::kNote, rank_of(one.id), other.count) <
           std::tuple(severity_of(other) == Severity::kNote, rank_of(other.id), one.count);
  });
}

std::vector<CheckResult> Findings::checks() const {
  std::vector<CheckResult> results;
  for (const CheckName& check : check_names()) {
    CheckResult result{check.name, Verdict::kNotEnough, 0, "", "not looked at"};
    for (const CheckResult& judged : judged_)
      if (judged.check == check.name) result = judged;
    for (const Finding& finding : findings_)
      if (finding.id.substr(0, finding.id.find('.')) == check.name && severity_of(finding) != Severity::kNote)
        result.verdict = Verdict::kFound;
    results.push_back(result);
  }
  return results;
}

bool Findings::healthy() const {
  return std::all_of(findings_.begin(), findings_.end(),
                     [](const Finding& finding) { return severity_of(finding) == Severity::kNote; });
}

}  // namespace weft::analyze
