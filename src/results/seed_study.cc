#include "results/seed_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/figures.h"
#include "base/plural.h"
#include "base/text_table.h"
#include "model/workload_metrics.h"
#include "results/metric_value.h"
#include "results/report_text.h"
#include "store/json_text.h"

namespace weft::lab {

namespace {

// What the lab expects, then what its workloads measure and nobody expects anything of.
std::vector<SeedFigure> figures_of(const Lab& lab, const RunResult& result) {
  std::vector<SeedFigure> figures;
  for (const Expectation& each : lab.expectations) figures.push_back({each.subject, each.metric, each, {}, 0});
  for (const WorkloadOutcome& outcome : result.workloads) {
    const std::string& name = outcome.config->name;
    std::vector<std::string_view> metrics;
    outcome.visit([&](const auto& options, const auto&) { metrics = metric_names(options); });
    for (std::string_view metric : metrics) {
      const bool known = std::any_of(figures.begin(), figures.end(), [&](const SeedFigure& figure) {
        return figure.subject == name && figure.metric == metric;
      });
      if (!known) figures.push_back({name, std::string(metric), std::nullopt, {}, 0});
    }
  }
  return figures;
}

std::vector<double> present(const SeedFigure& figure) {
  std::vector<double> values;
  for (const std::optional<double>& value : figure.values) {
    if (value) values.push_back(*value);
  }
  return values;
}

}  // namespace

std::size_t SeedFigure::count() const {
  return present(*this).size();
}

double SeedFigure::mean() const {
  double sum = 0;
  for (double value : present(*this)) sum += value;
  return count() == 0 ? 0 : sum / static_cast<double>(count());
}

// Of a sample: n - 1.
double SeedFigure::deviation() const {
  const double middle = mean();
  double sum = 0;
  for (double value : present(*this)) sum += (value - middle) * (value - middle);
  return count() < 2 ? 0 : std::sqrt(sum / static_cast<double>(count() - 1));
}

double SeedFigure::min() const {
  const std::vector<double> all = present(*this);
  return all.empty() ? 0 : *std::min_element(all.begin(), all.end());
}

double SeedFigure::max() const {
  const std::vector<double> all = present(*this);
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

std::optional<double> SeedFigure::spread() const {
  if (min() == max()) return 0.0;
  if (mean() == 0) return std::nullopt;
  return (max() - min()) / std::abs(mean());
}

bool SeedFigure::depends_on_seed() const {
  const bool some_lack_it = count() > 0 && count() < values.size();
  const std::optional<double> part = spread();
  return some_lack_it || !part || *part > SeedStudy::kMostSpread;
}

void SeedStudy::add(std::uint64_t seed, const Lab& lab, const RunResult& result) {
  if (seeds_.empty()) figures_ = figures_of(lab, result);
  seeds_.push_back(seed);
  for (SeedFigure& figure : figures_) {
    Expectation asked = figure.expectation.value_or(Expectation{figure.subject, figure.metric, {}, {}, 0, 0});
    const ExpectationOutcome outcome = judge(asked, result);
    figure.values.push_back(outcome.value);
    if (figure.expectation && outcome.met) ++figure.met;
  }
}

bool SeedStudy::expectations_met() const {
  return std::all_of(figures_.begin(), figures_.end(),
                     [&](const SeedFigure& each) { return !each.expectation || each.met == seeds_.size(); });
}

std::string report(const SeedStudy& study, const std::string& lab_name) {
  const std::vector<std::uint64_t>& seeds = study.seeds();
  std::string out = fmt::format("# {}, {}\n", lab_name, counted(seeds.size(), "seed"));
  if (seeds.size() < study.asked())
    out += fmt::format("\nInterrupted: {} of {} runs came to their end.\n", seeds.size(), study.asked());
  std::vector<const SeedFigure*> moving;
  TextTable table;
  table.add_column("figure", TextTable::Align::kLeft);
  for (const char* title : {"mean", "min", "max", "spread"}) table.add_column(title);
  table.add_column("expected", TextTable::Align::kLeft);
  table.add_column("met");
  for (const SeedFigure& figure : study.figures()) {
    if (figure.count() == 0 && !figure.expectation) continue;
    if (figure.depends_on_seed()) moving.push_back(&figure);
    const std::optional<double> spread = figure.spread();
    const std::string range =
        figure.expectation ? range_text(figure.expectation->min, figure.expectation->max) : std::string();
    table.add_row({figure.subject + "." + figure.metric, number_text(figure.mean()), number_text(figure.min()),
                   number_text(figure.max()), spread ? share_text(*spread) : "all", range,
                   figure.expectation ? fmt::format("{} of {}", figure.met, seeds.size()) : ""});
  }
  if (!moving.empty()) {
    out += fmt::format("\nThis lab's answer depends on the seed: {} of {} move by more than {} of their mean.\n",
                       moving.size(), counted(study.figures().size(), "figure"), share_text(SeedStudy::kMostSpread));
    out += "Read the mean and the spread, not one run.\n";
  }
  if (table.empty()) return out;
  out += heading("Figures") + block(table);
  out += "  spread: the largest less the smallest, by the mean\n";
  return out;
}

std::string results_json(const SeedStudy& study, const std::string& lab_name) {
  store::JsonText json;
  json.open('{');
  json.add("lab", lab_name);
  json.open("seeds", '[');
  for (std::uint64_t seed : study.seeds()) json.item(seed);
  json.close(']');
  json.add("interrupted", study.seeds().size() < study.asked());
  json.add("expectations_met", study.expectations_met());
  json.open("figures", '[');
  for (const SeedFigure& figure : study.figures()) {
    json.open_item('{');
    json.add("subject", figure.subject);
    json.add("metric", figure.metric);
    json.open("values", '[');
    for (const std::optional<double>& value : figure.values) {
      if (value) {
        json.item(*value);
      } else {
        json.item(nullptr);
      }
    }
    json.close(']');
    if (figure.count() > 0) {
      json.add("mean", figure.mean());
      json.add("deviation", figure.deviation());
      json.add("min", figure.min());
      json.add("max", figure.max());
      if (const std::optional<double> spread = figure.spread()) json.add("spread", *spread);
    }
    json.add("depends_on_seed", figure.depends_on_seed());
    if (figure.expectation) json.add("met", figure.met);
    json.close('}');
  }
  json.close(']');
  json.close('}');
  return std::string(json.text()) + "\n";
}

}  // namespace weft::lab
