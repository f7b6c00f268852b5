#include "study/sweep_resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "text/yaml_tree.h"

namespace weft::study {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostSweep_B = std::size_t{64} << 20;

// Every cell of the file is one of this plan. Throws what nlohmann throws at a file of another form.
bool has_all_cells(const SweepPlan& plan, const Json& json) {
  SweepPlan earlier;
  earlier.set = json.at("set").get<std::vector<std::string>>();
  for (const Json& axis : json.at("vary"))
    earlier.axes.push_back({axis.at("path").get<std::string>(), axis.at("values").get<std::vector<std::string>>()});
  if (json.contains("seed")) earlier.seed = json["seed"].get<std::uint64_t>();
  if (json.at("lab").get<std::string>() != plan.lab_name || earlier.seed != plan.seed || !make_cells(earlier))
    return false;
  return earlier.cells.size() <= plan.cells.size() &&
         std::equal(earlier.cells.begin(), earlier.cells.end(), plan.cells.begin(),
                    [&](const SweepCell& a, const SweepCell& b) {
                      return a.name == b.name && earlier.set_of(a) == plan.set_of(b);
                    });
}

}  // namespace

bool is_complete(const std::string& directory) {
  const auto has = [&](const char* name) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(directory + "/" + name, ignored);
  };
  return has("results.json") && has("results.sqlite") && has("report.md") && has("lab.yaml");
}

std::size_t find_done(SweepPlan& plan) {
  std::size_t done = 0;
  for (SweepCell& cell : plan.cells) {
    const std::string directory = plan.directory_of(cell);
    if (!is_complete(directory)) continue;
    auto run = read_figures(directory);
    if (!run || run->interrupted || run->set != plan.set_of(cell) || (plan.seed && run->seed != *plan.seed)) continue;
    auto lab = read_file(directory + "/lab.yaml", lab::kMaxYamlSize_B);
    if (!lab || *lab != plan.lab_text) continue;
    cell.state = CellState::kDone;
    cell.status = run->met == run->expectations ? 0 : 1;
    ++done;
  }
  return done;
}

std::optional<StudyProblem> other_sweep(const SweepPlan& plan) {
  const std::string path = plan.out + "/sweep.json";
  const auto text = read_file(path, kMostSweep_B);
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) return std::nullopt;  // of a disk that was full
  try {
    if (has_all_cells(plan, json)) return std::nullopt;
  } catch (const Json::exception&) {
    // Not written by a sweep: not overwritten either.
  }
  return StudyProblem{fmt::format("{} has another sweep, of other values", plan.out),
                      "choose another directory with --out DIR, or remove that one"};
}

}  // namespace weft::study
