// One lab, many seeds: how far its answers depend on what is drawn. A figure that moves more than its mean by a tenth
// is no answer from one run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_result.h"

namespace weft::lab {

// A number of each run: one that the lab expects something of, or one that a workload measures.
struct SeedFigure {
  std::string subject, metric;
  std::optional<Expectation> expectation;
  std::vector<std::optional<double>> values;  // by run; nothing: it had no such value
  std::size_t met = 0;                        // of the expectation

  std::size_t count() const;
  double mean() const, deviation() const, min() const, max() const;  // of those that there are
  // Difference of the largest and the smallest, by the mean; of a mean of zero 0, or nothing when they differ.
  std::optional<double> spread() const;
  bool depends_on_seed() const;
};

class SeedStudy {
 public:
  static constexpr double kMostSpread = 0.1;

  explicit SeedStudy(std::size_t asked) : asked_(asked) {}
  std::size_t asked() const { return asked_; }  // more than there are: it was interrupted
  void add(std::uint64_t seed, const Lab& lab, const RunResult& result);
  const std::vector<std::uint64_t>& seeds() const { return seeds_; }
  const std::vector<SeedFigure>& figures() const { return figures_; }
  bool expectations_met() const;

 private:
  std::size_t asked_;
  std::vector<std::uint64_t> seeds_;
  std::vector<SeedFigure> figures_;  // those of expectations first
};

std::string report(const SeedStudy& study, const std::string& lab_name);
std::string results_json(const SeedStudy& study, const std::string& lab_name);

}  // namespace weft::lab
