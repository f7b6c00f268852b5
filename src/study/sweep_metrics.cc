#include "study/sweep_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/nearest.h"

namespace weft::study {

namespace {

constexpr std::size_t kMostNear = 5, kMostListed = 12;

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// "bw.results.MsgRate" -> "bw"; the name of a workload may have dots, too.
bool has_subject(std::string_view metric, const std::vector<std::string>& subjects) {
  return std::any_of(subjects.begin(), subjects.end(), [&](const std::string& subject) {
    return metric.size() > subject.size() + 1 && metric.starts_with(subject) && metric[subject.size()] == '.';
  });
}

// Similar names, or a list of known names.
std::string there_is(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  std::vector<std::string> near = nearest(word, views, kMostNear);
  // Names with the same last part and another subject are also similar.
  const std::string_view tail = word.substr(word.rfind('.') == word.npos ? 0 : word.rfind('.') + 1);
  for (const std::string& name : known) {
    const bool same_tail =
        name.size() > tail.size() && name.ends_with(tail) && name[name.size() - tail.size() - 1] == '.';
    if (near.size() < kMostNear && !tail.empty() && same_tail && !contains(near, name)) near.push_back(name);
  }
  std::string out;
  for (const std::string& name : near) out += (out.empty() ? "did you mean " : ", ") + name;
  if (!out.empty()) return out + "?";
  const std::size_t shown = std::min(kMostListed, known.size());
  for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "known names: " : ", ") + known[i];
  return known.size() > shown ? out + fmt::format(" and {} more", known.size() - shown) : out;
}

}  // namespace

std::optional<StudyProblem> check_metric_subjects(const std::vector<std::string>& metrics,
                                                  const std::vector<std::string>& subjects) {
  std::vector<std::string> all = subjects;
  all.insert(all.end(), {"fabric", "hosts"});
  for (const std::string& metric : metrics) {
    if (metric == "end_ns" || has_subject(metric, all)) continue;
    if (metric.find_first_not_of(' ') == metric.npos)
      return StudyProblem{"--metric: the name is empty", "write --metric NAME, or omit it"};
    std::string begins;
    const std::size_t shown = std::min(kMostListed, all.size());
    for (std::size_t i = all.size() - shown; i < all.size(); ++i) begins += (begins.empty() ? "" : ", ") + all[i] + ".";
    return StudyProblem{
        fmt::format("--metric {}: no workload and no port of the lab has a figure of this name", metric),
        fmt::format("names begin with {}", begins)};
  }
  return std::nullopt;
}

std::optional<StudyProblem> check_metrics(const std::vector<std::string>& metrics,
                                          const std::vector<std::string>& known) {
  for (const std::string& metric : metrics) {
    if (known.empty() || contains(known, metric)) continue;
    return StudyProblem{fmt::format("--metric {}: no run has such a figure", metric), there_is(metric, known)};
  }
  return std::nullopt;
}

}  // namespace weft::study
