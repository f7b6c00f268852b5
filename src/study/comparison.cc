#include "study/comparison.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/files.h"
#include "text/yaml_tree.h"

namespace weft::study {

namespace {

// A counter that is not in results.json is 0; a missing figure of a workload has no value.
bool is_counter(FigureGroup group) {
  return group != FigureGroup::kWorkload;
}

std::vector<FigureDifference> differences(const RunFigures& a, const RunFigures& b, std::size_t& compared) {
  std::unordered_map<std::string, double> in_b;
  for (const Figure& figure : b.figures) in_b.emplace(figure.name, figure.value);
  std::unordered_map<std::string, bool> in_a;
  std::vector<FigureDifference> out;
  compared = 0;
  const auto add = [&](const Figure& figure, std::optional<double> left, std::optional<double> right) {
    ++compared;
    if (is_counter(figure.group)) {
      left = left.value_or(0);
      right = right.value_or(0);
    }
    if (left != right) out.push_back({figure.name, figure.group, left, right});
  };
  const auto counts = [](const Figure& figure) { return figure.group != FigureGroup::kExpected; };
  for (const Figure& figure : a.figures) {
    if (!counts(figure) || !in_a.emplace(figure.name, true).second) continue;
    const auto other = in_b.find(figure.name);
    add(figure, figure.value, other == in_b.end() ? std::nullopt : std::optional(other->second));
  }
  for (const Figure& figure : b.figures)
    if (counts(figure) && in_a.emplace(figure.name, true).second) add(figure, std::nullopt, figure.value);
  // Groups in their order; figures that only b has are at the end of their group.
  std::stable_sort(out.begin(), out.end(),
                   [](const FigureDifference& x, const FigureDifference& y) { return x.group < y.group; });
  return out;
}

}  // namespace

std::optional<double> FigureDifference::change() const {
  if (!a || !b || *a == 0) return std::nullopt;
  return (*b - *a) / std::abs(*a);
}

tl::expected<Comparison, StudyProblem> compare_runs(const std::string& a, const std::string& b) {
  auto left = read_figures(a), right = read_figures(b);
  if (!left) return tl::unexpected(left.error());
  if (!right) return tl::unexpected(right.error());
  auto lab_a = read_file(a + "/lab.yaml", lab::kMaxYamlSize_B), lab_b = read_file(b + "/lab.yaml", lab::kMaxYamlSize_B);
  if (!lab_a) return tl::unexpected(StudyProblem{a + "/lab.yaml: " + lab_a.error(), "run the lab again"});
  if (!lab_b) return tl::unexpected(StudyProblem{b + "/lab.yaml: " + lab_b.error(), "run the lab again"});
  auto lab = lab_differences({*lab_a, left->set}, {*lab_b, right->set});
  if (!lab) return tl::unexpected(StudyProblem{lab.error(), "run the lab again"});
  Comparison out;
  out.lab = std::move(*lab);
  out.results = differences(*left, *right, out.compared);
  left->figures.clear();
  right->figures.clear();
  out.a = std::move(*left);
  out.b = std::move(*right);
  return out;
}

}  // namespace weft::study
